"""The queue of a gang, and whether KAI can use it.

KAI reports nothing helpful about a queue with children, and little about a queue that does not
exist, so both are looked up here. A missing queue does not reject a gang: its PodGroup is
written, and KAI schedules it once the queue exists.
"""

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.queues import listed
from backend_controllers.contract.requested_values import RequestedValues
from backend_controllers.kai.api import KEY_QUEUE, QUEUES, KaiQueue
from backend_controllers.kai.installation import KaiInstallation

_LABEL = f"the label {KEY_QUEUE} on the PodCliqueSet or its cliques"


def queue_of(installation: KaiInstallation, requested: RequestedValues) -> str | None:
    """Return the queue of a gang: its own, else the default."""
    return requested.value(KEY_QUEUE) or installation.options.default_queue


def no_queue(facts: Facts) -> str:
    """Return the message for a gang without a queue."""
    return (
        f"no queue is set. Set {_LABEL}, or the option defaultQueue of this backend"
        f"{_existing(facts)}"
    )


def queue_problem(name: str, facts: Facts) -> tuple[str, str] | None:
    """Return why KAI cannot use a queue, as reason and message; None if it can."""
    queue = facts.get(QUEUES, "", name)
    if not isinstance(queue, KaiQueue):
        return "QueueDoesNotExist", (
            f"queue '{name}' does not exist. Create it, or set another with {_LABEL}"
            f"{_existing(facts)}"
        )
    children = sorted(
        other.metadata.name for other in _queues(facts) if other.spec.parent_queue == name
    )
    if children:
        return "QueueNotLeaf", (
            f"queue '{name}' has child queues and accepts no gangs itself. Set one of"
            f" {listed(children)} with {_LABEL}"
        )
    return _missing_ancestor(queue, facts)


def _queues(facts: Facts) -> list[KaiQueue]:
    return [queue for queue in facts.all(QUEUES) if isinstance(queue, KaiQueue)]


def _existing(facts: Facts) -> str:
    """Return the queues that accept gangs, as the end of a message."""
    queues = _queues(facts)
    parents = {queue.spec.parent_queue for queue in queues}
    leaves = sorted({queue.metadata.name for queue in queues} - parents)
    return f" (existing queues: {listed(leaves)})" if leaves else ""


def _missing_ancestor(queue: KaiQueue, facts: Facts) -> tuple[str, str] | None:
    # KAI ignores a queue whose parent is missing, and all queues below it.
    seen = {queue.metadata.name}
    current = queue
    while current.spec.parent_queue and current.spec.parent_queue not in seen:
        parent = facts.get(QUEUES, "", current.spec.parent_queue)
        if not isinstance(parent, KaiQueue):
            return "QueueDoesNotExist", (
                f"KAI ignores queue '{queue.metadata.name}': the parent"
                f" '{current.spec.parent_queue}' of queue '{current.metadata.name}' does not exist."
                " Create the parent queue"
            )
        seen.add(parent.metadata.name)
        current = parent
    return None
