"""What the demo reads from objects: their conditions, and which pods have nodes. Pure."""

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
