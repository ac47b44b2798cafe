"""The queue of a gang: which one, and whether KAI can use it.

KAI says nothing helpful about a queue that has children and little about one that does not
exist, so both are looked up here. A queue that is missing does not make a gang
untranslatable: its PodGroup is written, and KAI starts it once somebody creates the queue.
"""

from collections.abc import Iterator

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.queues import listed, named_queue
from backend_controllers.kai.api import KEY_QUEUE, QUEUES, ObservedQueue
from shared_api.kube.podgangs import PodGang

NO_QUEUE = (
    f"the gang names no queue: set the label {KEY_QUEUE} on the PodCliqueSet, or the option"
    " defaultQueue of this backend"
)


def queue_of(gang: PodGang, default: str | None) -> str | None:
    """The queue that the gang names, or the one of those that name none."""
    return named_queue(gang, KEY_QUEUE) or default


def flaw_of(name: str, facts: Facts) -> tuple[str, str] | None:
    """Why KAI cannot use the queue, as reason and message."""
    queue = facts.get(QUEUES, "", name)
    if not isinstance(queue, ObservedQueue):
        leaves = _leaves(facts)
        existing = f"; queues that take gangs: {listed(leaves)}" if leaves else ""
        return "QueueDoesNotExist", (
            f"queue '{name}' does not exist: create it, or name another with the label"
            f" {KEY_QUEUE} on the PodCliqueSet{existing}"
        )
    children = [other.metadata.name for other in _queues(facts) if other.spec.parent_queue == name]
    if children:
        return "QueueNotLeaf", (
            f"queue '{name}' has queues below it and takes no gangs itself: name one of"
            f" {listed(sorted(children))} with the label {KEY_QUEUE} on the PodCliqueSet"
        )
    return _lost_ancestor(queue, facts)


def _queues(facts: Facts) -> Iterator[ObservedQueue]:
    return (queue for queue in facts.all(QUEUES) if isinstance(queue, ObservedQueue))


def _leaves(facts: Facts) -> list[str]:
    queues = list(_queues(facts))
    parents = {queue.spec.parent_queue for queue in queues}
    return sorted({queue.metadata.name for queue in queues} - parents)


def _lost_ancestor(queue: ObservedQueue, facts: Facts) -> tuple[str, str] | None:
    # KAI drops a queue whose parent is missing, with all that hang below it.
    seen = {queue.metadata.name}
    current = queue
    while current.spec.parent_queue and current.spec.parent_queue not in seen:
        parent = facts.get(QUEUES, "", current.spec.parent_queue)
        if not isinstance(parent, ObservedQueue):
            return "QueueDoesNotExist", (
                f"queue '{queue.metadata.name}' is ignored by KAI, since the parent"
                f" '{current.spec.parent_queue}' of queue '{current.metadata.name}' does not"
                " exist: create the parent"
            )
        seen.add(parent.metadata.name)
        current = parent
    return None
