"""What the demo reads from objects: their conditions, and which pods are bound. Pure."""

from collections.abc import Mapping

from local_cluster.api import Object
from local_cluster.waiting import Condition
from shared_api import names


def is_ready(name: str) -> Condition:
    """Check that the PodCliqueSet is ready."""
    return lambda sets: condition(sets, name, names.CONDITION_READY).get("status") == "True"


def is_completed(name: str) -> Condition:
    """Check that the jobs of the PodCliqueSet are done."""
    return lambda sets: condition(sets, name, names.CONDITION_COMPLETED).get("status") == "True"


def waits_because(name: str, reason: str) -> Condition:
    """Check that the PodCliqueSet is not ready for this reason."""

    def matches(sets: list[Object]) -> bool:
        ready = condition(sets, name, names.CONDITION_READY)
        return (ready.get("status"), ready.get("reason")) == ("False", reason)

    return matches


def is_refused(name: str) -> Condition:
    """Check that the PodGang has the scheduler's message about nodes."""

    def matches(gangs: list[Object]) -> bool:
        scheduled = condition(gangs, name, names.CONDITION_SCHEDULED)
        return "nodes are available" in scheduled.get("message", "")

    return matches


class GangProgress:
    """Reports the conditions of gangs that became True, each once and in their order."""

    _MEANINGS: Mapping[str, str] = {
        names.CONDITION_PROGRAMMED: "programmed: its scheduler has the gang",
        names.CONDITION_INITIALIZED: "initialized: all its pods exist, each with a scheduling gate",
        names.CONDITION_SCHEDULED: "scheduled: its pods are ungated and bound",
        names.CONDITION_READY: "ready",
    }

    def __init__(self) -> None:
        self._reported: set[tuple[str, str]] = set()

    def lines(self, gangs: list[Object]) -> list[str]:
        """Return a line for each condition that became True since the last call."""
        lines = []
        for gang in sorted(gangs, key=lambda gang: str(gang["metadata"]["name"])):
            name = gang["metadata"]["name"]
            for kind, meaning in self._MEANINGS.items():
                holds = condition([gang], name, kind).get("status") == "True"
                if holds and (name, kind) not in self._reported:
                    self._reported.add((name, kind))
                    lines.append(f"{name}  {meaning}")
        return lines


def are_ready(*of_gangs: str) -> Condition:
    """Check that all these PodGangs are ready."""
    return lambda gangs: all(
        condition(gangs, name, names.CONDITION_READY).get("status") == "True" for name in of_gangs
    )


def condition(items: list[Object], name: str, kind: str) -> Object:
    """Return a condition of the item with this name, or an empty object."""
    for item in items:
        if item["metadata"]["name"] == name:
            for entry in item.get("status", {}).get("conditions") or []:
                if entry["type"] == kind:
                    return dict(entry)
    return {}


def bound_of_all(pods: list[Object], of_set: str) -> str:
    """Return how many pods of a PodCliqueSet are bound."""
    own = [pod for pod in pods if pod["metadata"]["labels"].get(names.LABEL_PART_OF) == of_set]
    bound = sum(1 for pod in own if pod["spec"].get("nodeName"))
    return f"{bound} of {len(own)} pods bound"


def running(pods: list[Object]) -> set[str]:
    """Return the UIDs of the running pods."""
    return {
        pod["metadata"]["uid"]
        for pod in pods
        if pod.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
    }
