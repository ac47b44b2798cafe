"""Why a pod was lost, as a word of bounded number and a sentence.

Kubernetes writes the condition DisruptionTarget on pods that it takes away (KEP-3329), with a
reason for each way of taking; a kubelet that evicts by itself also says so in the status.
"""

from dataclasses import dataclass
from enum import StrEnum

from core_operator.plan.pods import is_live
from shared_api.kube.pods import Pod


class Cause(StrEnum):
    """What took a pod."""

    PREEMPTED = "Preempted"
    EVICTED = "Evicted"
    NODE = "NodeLost"
    FAILED = "Failed"
    DELETED = "Deleted"
    NOT_READY = "NotReady"


_REASONS = {
    "PreemptionByScheduler": Cause.PREEMPTED,
    "EvictionByEvictionAPI": Cause.EVICTED,
    "TerminationByKubelet": Cause.EVICTED,
    "DeletionByTaintManager": Cause.NODE,
    "DeletionByPodGC": Cause.NODE,
    "Evicted": Cause.EVICTED,
    "NodeLost": Cause.NODE,
    "NodeShutdown": Cause.NODE,
    "Terminated": Cause.NODE,
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a pod was lost."""

    cause: Cause
    message: str


def is_serving(pod: Pod) -> bool:
    """Tell whether a pod does its work."""
    return is_live(pod) and pod.is_ready


def why_lost(pod: Pod) -> Loss:
    """What took a pod that served."""
    said = pod.condition("DisruptionTarget")
    if said is not None and said.status == "True":
        told = f"{said.reason}: {said.message}" if said.message else said.reason
        return Loss(_REASONS.get(said.reason, Cause.DELETED), told)
    reason = pod.status.reason
    if reason in _REASONS:
        return Loss(_REASONS[reason], reason)
    if pod.metadata.is_terminating:
        return Loss(Cause.DELETED, "somebody deleted it")
    if not is_live(pod):
        return Loss(Cause.FAILED, reason or pod.status.phase)
    if pod.is_ready:
        return Loss(Cause.DELETED, "it is gone")
    return Loss(Cause.NOT_READY, "it is not ready any more")
