"""Why a gang is not running: one reason for machines and one message for people.

The stages of a gang are checked in order (backend, pods, release, scheduling, readiness). The
first stage that is not passed is the reason, because later ones depend on it. Reasons are of
bounded number, so that they can label metrics. Messages have numbers, and the scheduler's message
reduced to what is insufficient.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared_api import names
from shared_api.kube.container_causes import listed, unready_causes
from shared_api.kube.pods import Pod
from shared_api.models import Condition, PodGang
from shared_api.truncation import without_middle

_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?)")
# kube-scheduler writes the number of nodes before the causes, and about preemption after them.
_NODES = re.compile(r"^\d+/\d+ nodes are available: ")
_PREEMPTION = re.compile(r"\.? (?:preemption|no new claims to deallocate).*$", re.DOTALL)
_TAINT = re.compile(r"untolerated taint(?:\(s\))? ?\{?([A-Za-z0-9][^:,}\s]*)")
_COUNTED = re.compile(r"\d+/\d+ pods scheduled")
_GATED_REASON = "SchedulingGated"
_NOT_SCHEDULED = "not scheduled: "
# A condition has 1,024 characters. One cause leaves some for the numbers in front of it.
_CAUSE_LIMIT = 900
_POD_CAUSE_LIMIT = 300


class BlockingReason(StrEnum):
    """The stage that a gang has not passed."""

    BACKEND_UNAVAILABLE = names.REASON_BACKEND_UNAVAILABLE
    BACKEND_UNKNOWN = names.REASON_BACKEND_UNKNOWN
    NO_CANDIDATE = names.REASON_NO_CANDIDATE
    POLICY_NOT_FOUND = names.REASON_POLICY_NOT_FOUND
    SCHEDULERS_DISAGREE = names.REASON_SCHEDULERS_DISAGREE
    UNSUPPORTED = names.REASON_UNSUPPORTED
    SCHEDULER_API_MISSING = names.REASON_SCHEDULER_API_MISSING
    CONFLICT = names.REASON_CONFLICT
    REJECTED = names.REASON_REJECTED
    QUEUE_DOES_NOT_EXIST = names.REASON_QUEUE_DOES_NOT_EXIST
    PODS_OF_EARLIER_GANG = names.REASON_PODS_OF_EARLIER_GANG
    TOO_LARGE = "TooLarge"
    UNREADABLE = names.REASON_UNREADABLE
    TOPOLOGY_NOT_FOUND = names.REASON_TOPOLOGY_BINDING_NOT_FOUND
    TOPOLOGY_NOT_NAMED = names.REASON_TOPOLOGY_NAME_MISSING
    LEVELS_UNAVAILABLE = names.REASON_LEVELS_UNAVAILABLE
    LEVELS_REVERSED = names.REASON_LEVELS_REVERSED
    BACKEND_NOT_SELECTED = "BackendNotSelected"
    NOT_ACCEPTED = "NotAccepted"
    CHILD_REFUSED = "ChildRefused"
    CHILD_TERMINATING = "ChildTerminating"
    PODS_REFUSED = "PodsRefused"
    AUTOSCALER_REFUSED = "AutoscalerRefused"
    AUTOSCALER_CONFLICT = "AutoscalerConflict"
    RESOURCE_API_MISSING = "ResourceAPIMissing"
    CLAIM_TEMPLATE_MISSING = "ResourceClaimTemplateMissing"
    CLAIM_TEMPLATE_NOT_GRANTED = "ResourceClaimTemplateNotGranted"
    CLAIM_REFUSED = "ResourceClaimRefused"
    MNNVL_DISABLED = "MNNVLDisabled"
    MNNVL_GROUP_INVALID = "MNNVLGroupInvalid"
    COMPUTE_DOMAINS_MISSING = "ComputeDomainsMissing"
    FIELDS_DROPPED = "PodFieldsDropped"
    PODS_MISSING = "PodsMissing"
    REPLACED_LATER = "ReplacedLater"
    NOT_PROGRAMMED = "NotProgrammed"
    BASE_GANG_NOT_SCHEDULED = "BaseGangNotScheduled"
    BIND_TIMEOUT = "BindTimeout"
    NOT_RELEASED = "NotReleased"
    GATED = "HeldByGates"
    UNSCHEDULABLE = "PodsNotScheduled"
    NOT_READY = "PodsNotReady"
    UPDATING = names.CONDITION_UPDATING
    JOB_FAILED = "JobFailed"
    PROGRESSING = "Progressing"


_TRANSIENT = frozenset(
    {
        BlockingReason.BACKEND_UNAVAILABLE,
        BlockingReason.BACKEND_NOT_SELECTED,
        BlockingReason.PODS_MISSING,
        BlockingReason.REPLACED_LATER,
        BlockingReason.NOT_PROGRAMMED,
        BlockingReason.BASE_GANG_NOT_SCHEDULED,
        BlockingReason.BIND_TIMEOUT,
        BlockingReason.NOT_RELEASED,
        BlockingReason.GATED,
        BlockingReason.UNSCHEDULABLE,
        BlockingReason.NOT_READY,
        BlockingReason.UPDATING,
        BlockingReason.PROGRESSING,
    }
)
"""Stages that may pass by themselves; all others require manual action."""
_STUCK_IN_SCHEDULER = frozenset(
    {BlockingReason.QUEUE_DOES_NOT_EXIST, BlockingReason.PODS_OF_EARLIER_GANG}
)
"""Reasons of the condition Scheduled that no scheduler resolves."""
_NOT_STORED = frozenset({BlockingReason.CONFLICT, BlockingReason.REJECTED})
"""Reasons of the condition Programmed that no retry resolves."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """What an object waits for."""

    reason: BlockingReason
    message: str

    @property
    def stalled(self) -> bool:
        """Return whether manual action is required."""
        return self.reason not in _TRANSIENT

    def about(self, subject: str) -> "Blocker":
        """Return the same with the subject in front of the message."""
        return Blocker(self.reason, f"{subject}: {self.message}")


def gang_blocker(gang: PodGang, pods: Sequence[Pod], wanted: int) -> Blocker | None:
    """Return what a gang with these live pods waits for; `wanted` pods should exist."""
    found = pods_blocker(gang, pods, wanted)
    return None if found is None else found.about(f"gang {gang.metadata.name}")


def pods_blocker(gang: PodGang | None, pods: Sequence[Pod], wanted: int) -> Blocker | None:
    """Return what these live pods of a gang wait for; `wanted` of them should exist."""
    found: Blocker | None = Blocker(BlockingReason.PODS_MISSING, f"{len(pods)}/{wanted} pods exist")
    if len(pods) >= wanted:
        found = _existing_blocker(gang, pods)
    # Bound pods do not need the backend any more.
    if found is None or found.reason is BlockingReason.NOT_READY or gang is None:
        return found
    return _backend_blocker(gang) or found


def _backend_blocker(gang: PodGang) -> Blocker | None:
    selected = _condition(gang, names.CONDITION_BACKEND_SELECTED)
    if selected is not None and selected.status != "True":
        reason = known_reason(selected.reason, BlockingReason.BACKEND_NOT_SELECTED)
        return Blocker(reason, _cut(selected.message) or "no backend")
    accepted = _condition(gang, names.CONDITION_ACCEPTED)
    if accepted is not None and accepted.status == "False":
        reason = known_reason(accepted.reason, BlockingReason.NOT_ACCEPTED)
        return Blocker(reason, _cut(accepted.message) or "not accepted")
    return _stuck(gang)


def _stuck(gang: PodGang) -> Blocker | None:
    """Return why the scheduler never gets the gang, or never schedules it, without manual action."""
    programmed = _condition(gang, names.CONDITION_PROGRAMMED)
    if programmed is not None and programmed.reason in _NOT_STORED and programmed.status == "False":
        backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
        message = f"backend {backend} cannot program the gang: {_cut(programmed.message)}"
        return Blocker(BlockingReason(programmed.reason), message)
    scheduled = _condition(gang, names.CONDITION_SCHEDULED)
    if scheduled is None or scheduled.status != "False":
        return None
    reason = known_reason(scheduled.reason, BlockingReason.UNSCHEDULABLE)
    return Blocker(reason, _cut(scheduled.message)) if reason in _STUCK_IN_SCHEDULER else None


def _existing_blocker(gang: PodGang | None, pods: Sequence[Pod]) -> Blocker | None:
    total = len(pods)
    unbound = [pod for pod in pods if not pod.is_bound and not pod.is_gated]
    gated = [pod for pod in pods if pod.is_gated]
    if gated and not (unbound and all(_is_surplus(pod, gang) for pod in gated)):
        return _gated(gang, pods)
    if unbound:
        bound = f"{total - len(unbound) - len(gated)}/{total} pods scheduled"
        if (why := _explanation(gang)) and any(not _is_surplus(pod, gang) for pod in unbound):
            return Blocker(BlockingReason.UNSCHEDULABLE, f"{bound}: {why}")
        causes = listed(Counter(_scheduling_causes(gang, unbound)))
        return Blocker(BlockingReason.UNSCHEDULABLE, f"{bound}{causes}")
    unready = [pod for pod in pods if not pod.is_ready]
    if unready:
        ready = f"{total - len(unready)}/{total} pods ready"
        return Blocker(BlockingReason.NOT_READY, f"{ready}{listed(unready_causes(unready))}")
    return None


def _is_surplus(pod: Pod, gang: PodGang | None) -> bool:
    """Return whether a gang can be scheduled without this pod."""
    group = pod.metadata.labels.get(names.LABEL_PODCLIQUE)
    minimums = {found.name: found.min_replicas for found in gang.spec.podgroups} if gang else {}
    return group in minimums and pod.index is not None and not pod.is_member(minimums[group])


def _gated(gang: PodGang | None, pods: Sequence[Pod]) -> Blocker:
    gated = f"{sum(pod.is_gated for pod in pods)}/{len(pods)} pods gated"
    released = _condition(gang, names.CONDITION_RELEASED)
    if released is not None and released.status == "False":
        reason = known_reason(released.reason, BlockingReason.NOT_RELEASED)
        return Blocker(reason, f"{gated}; {_cut(released.message) or 'not released'}")
    programmed = _condition(gang, names.CONDITION_PROGRAMMED)
    if programmed is None or programmed.status != "True":
        name = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if gang else None
        backend = f"backend {name}" if name else "a backend"
        why = _cut(programmed.message) if programmed is not None else ""
        message = f"{gated} until {backend} has programmed the gang{': ' if why else ''}{why}"
        return Blocker(BlockingReason.NOT_PROGRAMMED, message)
    gates = sorted({gate.name for pod in pods for gate in pod.spec.scheduling_gates})
    return Blocker(BlockingReason.GATED, f"{gated} by {', '.join(gates)}")


def _explanation(gang: PodGang | None) -> str:
    """Return the backend's explanation, with its numbers, of a gang that is not scheduled."""
    scheduled = _condition(gang, names.CONDITION_SCHEDULED)
    if scheduled is None or scheduled.status != "False":
        return ""
    # The condition begins with the number of pods of the whole gang.
    counted, _, explanation = scheduled.message.partition(": ")
    return _cut(explanation) if _COUNTED.match(counted) else ""


def _scheduling_causes(gang: PodGang | None, pods: Sequence[Pod]) -> Sequence[str]:
    """Return why each pod is not scheduled: schedulers report it on one pod, on each, or on the gang."""
    causes = [cause for pod in pods if (cause := _scheduling_cause(pod))]
    scheduled = _condition(gang, names.CONDITION_SCHEDULED)
    reported = scheduled.message if scheduled is not None and scheduled.status != "True" else ""
    if reported and all(cause.startswith(_NOT_SCHEDULED) for cause in causes):
        # No pod names what is insufficient; the gang's condition may.
        _, _, message = reported.partition(": ")
        if message or not causes:
            return [scheduling_cause(message or reported)] * len(pods)
    if causes:
        return [*causes, *["waiting for the rest of the gang"] * (len(pods) - len(causes))]
    return ()


def _scheduling_cause(pod: Pod) -> str:
    condition = pod.condition("PodScheduled")
    # SchedulingGated stays until the scheduler has looked at a pod whose gates are gone.
    if condition is None or condition.status == "True" or condition.reason == _GATED_REASON:
        return ""
    if not condition.message:
        return ""
    cause = scheduling_cause(condition.message, _POD_CAUSE_LIMIT)
    # A message with this pod's name is no cause that pods share: this one waits for the others.
    is_personal = cause.startswith(_NOT_SCHEDULED) and pod.metadata.name in condition.message
    return "" if is_personal else cause


def scheduling_cause(message: str, limit: int = _CAUSE_LIMIT) -> str:
    """Return what is insufficient by a scheduler's message, or the message shortened."""
    insufficient = sorted(set(_INSUFFICIENT.findall(message)))
    if insufficient:
        return f"with insufficient {' and '.join(insufficient)}"
    taints = sorted({taint for taint in _TAINT.findall(message) if taint})
    if taints:
        return f"with untolerated taint {' or '.join(taints)}"
    short = _PREEMPTION.sub("", _NODES.sub("", message))
    return f"{_NOT_SCHEDULED}{_cut(short, limit).rstrip('.')}"


def _condition(gang: PodGang | None, kind: str) -> Condition | None:
    if gang is None or gang.status is None:
        return None
    return next((found for found in gang.status.conditions if found.type == kind), None)


def known_reason(reason: str, otherwise: BlockingReason) -> BlockingReason:
    """Return the reason if core knows it: those of backends are unbounded, metric labels are not."""
    try:
        return BlockingReason(reason)
    except ValueError:
        return otherwise


def _cut(text: str, limit: int = _CAUSE_LIMIT) -> str:
    return without_middle(" ".join(text.split()), limit)


def most_urgent(found: Iterable[Blocker]) -> Blocker | None:
    """Return the first that requires manual action, else the first."""
    return min(found, key=lambda one: not one.stalled, default=None)
