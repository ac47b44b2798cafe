"""What the demo reads from objects: their conditions, and which pods have nodes. Pure."""

from collections.abc import Mapping

from local_cluster.api import Object
from local_cluster.waiting import Condition
from shared_api import names


def is_ready(name: str) -> Condition:
    """Tell whether the PodCliqueSet of this name says that it is ready."""
    return lambda sets: condition(sets, name, names.CONDITION_READY).get("status") == "True"


def waits_because(name: str, reason: str) -> Condition:
    """Tell whether the PodCliqueSet of this name gives this reason for not being ready."""

    def says_so(sets: list[Object]) -> bool:
        ready = condition(sets, name, names.CONDITION_READY)
        return (ready.get("status"), ready.get("reason")) == ("False", reason)

    return says_so


def is_refused(name: str) -> Condition:
    """Tell whether the PodGang of this name has the scheduler's count of nodes."""

    def says_so(gangs: list[Object]) -> bool:
        scheduled = condition(gangs, name, names.CONDITION_SCHEDULED)
        return "nodes are available" in scheduled.get("message", "")

    return says_so


class Formation:
    """Tells of gangs what became true of them, each thing once and in the order in which it did."""

    _MEANINGS: Mapping[str, str] = {
        names.CONDITION_PROGRAMMED: "programmed: its scheduler has been told of the gang",
        names.CONDITION_INITIALIZED: "formed: all its pods exist, each held by a gate",
        names.CONDITION_SCHEDULED: "scheduled: its gates are lifted and its pods bound",
        names.CONDITION_READY: "ready",
    }

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def news(self, gangs: list[Object]) -> list[str]:
        """What has become true since the last look."""
        lines = []
        for gang in sorted(gangs, key=lambda gang: str(gang["metadata"]["name"])):
            name = gang["metadata"]["name"]
            for kind, meaning in self._MEANINGS.items():
                holds = condition([gang], name, kind).get("status") == "True"
                if holds and (name, kind) not in self._told:
                    self._told.add((name, kind))
                    lines.append(f"{name}  {meaning}")
        return lines


def are_ready(*of_gangs: str) -> Condition:
    """Tell whether all PodGangs of these names say that they are ready."""
    return lambda gangs: all(
        condition(gangs, name, names.CONDITION_READY).get("status") == "True" for name in of_gangs
    )


def condition(items: list[Object], name: str, kind: str) -> Object:
    """Return a condition of the item of this name; empty if there is none."""
    for item in items:
        if item["metadata"]["name"] == name:
            for entry in item.get("status", {}).get("conditions") or []:
                if entry["type"] == kind:
                    return dict(entry)
    return {}


def bound_of_all(pods: list[Object], of_set: str) -> str:
    """Say how many pods of a PodCliqueSet have a node."""
    own = [pod for pod in pods if pod["metadata"]["labels"].get(names.LABEL_PART_OF) == of_set]
    bound = sum(1 for pod in own if pod["spec"].get("nodeName"))
    return f"{bound} of {len(own)} pods bound"


def running(pods: list[Object]) -> set[str]:
    """Return the UIDs of the pods that run."""
    return {
        pod["metadata"]["uid"]
        for pod in pods
        if pod.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
    }
