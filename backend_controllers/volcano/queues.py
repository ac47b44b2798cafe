"""The queue of a gang, and whether Volcano can use it.

Volcano reports nothing about a gang whose queue does not exist, and nothing helpful about one whose
queue is closed, so both are looked up here. Neither rejects a gang: its PodGroup is written, and
Volcano schedules it once the queue exists and is open.
"""

import re

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.queues import listed
from backend_controllers.contract.requested_values import RequestedValues
from backend_controllers.volcano.api import KEY_QUEUE, KEY_QUEUE_OF_GROVE, QUEUES, VolcanoQueue
from backend_controllers.volcano.installation import VolcanoInstallation

QUEUE_KEYS = (KEY_QUEUE, KEY_QUEUE_OF_GROVE)

_OPEN = "Open"
_LONGEST = 253
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ANOTHER = f"set another with the annotation {KEY_QUEUE} on the PodCliqueSet or its cliques"


def queue_of(installation: VolcanoInstallation, requested: RequestedValues) -> str:
    """Return the queue of a gang: its own, else the default."""
    return requested.value(*QUEUE_KEYS) or installation.options.default_queue


def invalid_name(queue: str) -> str:
    """Return why no queue can have this name; empty if one can."""
    if len(queue) <= _LONGEST and _NAME.fullmatch(queue):
        return ""
    shown = queue if len(queue) <= _LONGEST else f"{queue[:40]}… ({len(queue)} characters)"
    return (
        f"'{shown}' is not a valid name of a queue: at most {_LONGEST} lower-case letters, digits,"
        f" '-' and '.' are allowed. Correct it, or {_ANOTHER}"
    )


def queue_problem(name: str, facts: Facts) -> tuple[str, str] | None:
    """Return why Volcano does not use a queue, as reason and message; None if it does."""
    queue = facts.get(QUEUES, "", name)
    if not isinstance(queue, VolcanoQueue):
        usable = _open_queues(facts)
        existing = f" (open queues: {listed(usable)})" if usable else ""
        return "QueueDoesNotExist", (
            f"queue '{name}' does not exist. Create it, or {_ANOTHER}{existing}"
        )
    state = queue.status.state
    if state == _OPEN:
        return None
    if not state:
        return "QueueNotOpen", (
            f"queue '{name}' has no state yet: Volcano's queue controller sets it. Check that"
            " vc-controller-manager runs"
        )
    return "QueueNotOpen", f"queue '{name}' is {state}. Open it, or {_ANOTHER}"


def _open_queues(facts: Facts) -> list[str]:
    # Volcano's queue `root` is only the parent of the others.
    return sorted(
        queue.metadata.name
        for queue in facts.all(QUEUES)
        if isinstance(queue, VolcanoQueue)
        and queue.status.state == _OPEN
        and queue.metadata.name != "root"
    )
