"""The queue of a gang: which one, and whether Volcano uses it.

Volcano says nothing about a gang whose queue does not exist, and nothing that helps about
one whose queue is closed, so both are looked up here. Neither makes a gang untranslatable:
its PodGroup is written, and Volcano starts it once the queue is there and open.
"""

import re

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.queues import listed, named_queue
from backend_controllers.volcano.api import (
    KEY_QUEUE,
    KEY_QUEUE_OF_GROVE,
    QUEUES,
    ObservedQueue,
)
from shared_api.kube.podgangs import PodGang

_OPEN = "Open"
_LONGEST = 253
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ANOTHER = f"name another with the annotation {KEY_QUEUE} on the PodCliqueSet"


def queue_of(gang: PodGang, default: str) -> str:
    """The queue that the gang names, or the one of those that name none."""
    return (
        named_queue(gang, KEY_QUEUE) or gang.metadata.annotations.get(KEY_QUEUE_OF_GROVE) or default
    )


def misnomer_of(queue: str) -> str:
    """Why no queue can have this name; empty if one can."""
    if len(queue) <= _LONGEST and _NAME.fullmatch(queue):
        return ""
    shown = queue if len(queue) <= _LONGEST else f"{queue[:40]}… ({len(queue)} characters)"
    return (
        f"'{shown}' cannot be the name of a queue, which has at most {_LONGEST} lower-case"
        f" letters, digits, '-' and '.': {_ANOTHER}"
    )


def flaw_of(name: str, facts: Facts) -> tuple[str, str] | None:
    """Why Volcano does not use the queue, as reason and message."""
    queue = facts.get(QUEUES, "", name)
    if not isinstance(queue, ObservedQueue):
        usable = _open_queues(facts)
        existing = f"; open queues: {listed(usable)}" if usable else ""
        return "QueueDoesNotExist", (
            f"queue '{name}' does not exist: create it, or {_ANOTHER}{existing}"
        )
    state = queue.status.state
    if state == _OPEN:
        return None
    if not state:
        return "QueueNotOpen", (
            f"queue '{name}' has no state yet, which Volcano's queue controller writes: see that"
            " vc-controller-manager runs"
        )
    return "QueueNotOpen", f"queue '{name}' is {state}: open it, or {_ANOTHER}"


def _open_queues(facts: Facts) -> list[str]:
    # Volcano's own `root` only holds the others together.
    return sorted(
        queue.metadata.name
        for queue in facts.all(QUEUES)
        if isinstance(queue, ObservedQueue)
        and queue.status.state == _OPEN
        and queue.metadata.name != "root"
    )
