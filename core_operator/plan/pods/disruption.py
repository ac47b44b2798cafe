"""Why a pod was lost: a cause of bounded number for metrics, and a message for people.

Kubernetes sets the condition DisruptionTarget on pods that it evicts (KEP-3329), with one reason
per way of eviction. A kubelet that evicts on its own sets the reason of the pod's status.
"""

from dataclasses import dataclass
from enum import StrEnum

from shared_api.kube.pods import Pod


class DisruptionCause(StrEnum):
    """Why a pod was lost."""

    PREEMPTED = "Preempted"
    EVICTED = "Evicted"
    NODE = "NodeLost"
    FAILED = "Failed"
    DELETED = "Deleted"
    NOT_READY = "NotReady"


_REASONS = {
    "PreemptionByScheduler": DisruptionCause.PREEMPTED,
    "EvictionByEvictionAPI": DisruptionCause.EVICTED,
    "TerminationByKubelet": DisruptionCause.EVICTED,
    "DeletionByTaintManager": DisruptionCause.NODE,
    "DeletionByPodGC": DisruptionCause.NODE,
    "Evicted": DisruptionCause.EVICTED,
    "NodeLost": DisruptionCause.NODE,
    "NodeShutdown": DisruptionCause.NODE,
    "Terminated": DisruptionCause.NODE,
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a pod was lost."""

    cause: DisruptionCause
    message: str


def is_serving(pod: Pod) -> bool:
    """Return whether a pod is live and ready."""
    return pod.is_live and pod.is_ready


def why_lost(pod: Pod) -> Loss:
    """Return why a pod that was ready is lost."""
    target = pod.condition("DisruptionTarget")
    if target is not None and target.status == "True":
        message = f"{target.reason}: {target.message}" if target.message else target.reason
        return Loss(_REASONS.get(target.reason, DisruptionCause.DELETED), message)
    reason = pod.status.reason
    if reason in _REASONS:
        return Loss(_REASONS[reason], reason)
    if pod.metadata.is_terminating:
        return Loss(DisruptionCause.DELETED, "it was deleted")
    if pod.has_ended:
        return Loss(DisruptionCause.FAILED, reason or pod.status.phase)
    if pod.is_ready:
        return Loss(DisruptionCause.DELETED, "it no longer exists")
    return Loss(DisruptionCause.NOT_READY, "it is not ready any more")
