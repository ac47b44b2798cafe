"""Why a gang is not running, as one word for machines and one sentence for people.

The stages of a gang's life are looked at in order (backend, pods, release, scheduling,
readiness), and the first that is not passed is the reason: what comes later cannot be helped
before. Words are of bounded number, so that they can label metrics. Sentences carry numbers,
and the scheduler's own words cut down to what is short of what.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core_operator.plan.pods import is_bound
from core_operator.plan.preparation import index_of
from core_operator.plan.startup_order import awaited_by
from shared_api import names
from shared_api.kube.pods import ContainerStatus, Pod
from shared_api.models import Condition, PodGang
from shared_api.truncation import truncated

_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?)")
# kube-scheduler puts the number of nodes before the causes, and why preempting does not help after.
_NODES = re.compile(r"^\d+/\d+ nodes are available: ")
_PREEMPTION = re.compile(r"\.? (?:preemption|no new claims to deallocate).*$", re.DOTALL)
_TAINT = re.compile(r"untolerated taint(?:\(s\))? ?\{?([A-Za-z0-9][^:,}\s]*)")
_GATED_REASON = "SchedulingGated"
_NOT_PLACED = "not placed: "
_CAUSE_LIMIT = 120
_CAUSES = 3


class Blocking(StrEnum):
    """The stage that is not passed."""

    BACKEND_UNAVAILABLE = names.REASON_BACKEND_UNAVAILABLE
    BACKEND_UNKNOWN = names.REASON_BACKEND_UNKNOWN
    SCHEDULERS_DISAGREE = names.REASON_SCHEDULERS_DISAGREE
    UNSUPPORTED = names.REASON_UNSUPPORTED
    CONFLICT = names.REASON_CONFLICT
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
    NOT_RELEASED = "NotReleased"
    GATED = "HeldByGates"
    UNSCHEDULABLE = "PodsNotScheduled"
    NOT_READY = "PodsNotReady"
    UPDATING = names.CONDITION_UPDATING
    PROGRESSING = "Progressing"


# What waiting does not cure.
_STALLING = frozenset(
    {
        Blocking.BACKEND_UNKNOWN,
        Blocking.SCHEDULERS_DISAGREE,
        Blocking.UNSUPPORTED,
        Blocking.CONFLICT,
        Blocking.TOO_LARGE,
        Blocking.UNREADABLE,
        Blocking.TOPOLOGY_NOT_FOUND,
        Blocking.TOPOLOGY_NOT_NAMED,
        Blocking.LEVELS_UNAVAILABLE,
        Blocking.LEVELS_REVERSED,
        Blocking.NOT_ACCEPTED,
        Blocking.CHILD_REFUSED,
        Blocking.CHILD_TERMINATING,
        Blocking.PODS_REFUSED,
        Blocking.AUTOSCALER_REFUSED,
        Blocking.RESOURCE_API_MISSING,
        Blocking.CLAIM_TEMPLATE_MISSING,
        Blocking.CLAIM_TEMPLATE_NOT_GRANTED,
        Blocking.CLAIM_REFUSED,
        Blocking.MNNVL_DISABLED,
        Blocking.MNNVL_GROUP_INVALID,
        Blocking.COMPUTE_DOMAINS_MISSING,
        Blocking.FIELDS_DROPPED,
    }
)


@dataclass(frozen=True, slots=True)
class Blocked:
    """What something waits for."""

    reason: Blocking
    message: str

    @property
    def stalled(self) -> bool:
        """Tell whether a person has to act."""
        return self.reason in _STALLING

    def about(self, subject: str) -> "Blocked":
        """The same, with whom it is about in front."""
        return Blocked(self.reason, f"{subject}: {self.message}")


def gang_blocked(gang: PodGang, pods: Sequence[Pod], wanted: int) -> Blocked | None:
    """What a gang with these live pods waits for, out of `wanted` that it should have."""
    found = blocked(gang, pods, wanted)
    return None if found is None else found.about(f"gang {gang.metadata.name}")


def blocked(gang: PodGang | None, pods: Sequence[Pod], wanted: int) -> Blocked | None:
    """What these live pods of a gang wait for, out of `wanted` that there should be."""
    found = _missing(pods, wanted) or _pods_blocked(gang, pods)
    # Pods that have a node do not need the backend any more, whatever is wrong with it.
    if found is None or found.reason is Blocking.NOT_READY or gang is None:
        return found
    return _unserved(gang) or found


def _unserved(gang: PodGang) -> Blocked | None:
    selected = _condition(gang, names.CONDITION_BACKEND_SELECTED)
    if selected is not None and selected.status != "True":
        return Blocked(
            word(selected.reason, Blocking.BACKEND_NOT_SELECTED), _told(selected, "no backend")
        )
    accepted = _condition(gang, names.CONDITION_ACCEPTED)
    if accepted is not None and accepted.status == "False":
        return Blocked(
            word(accepted.reason, Blocking.NOT_ACCEPTED), _told(accepted, "not accepted")
        )
    return None


def _missing(pods: Sequence[Pod], wanted: int) -> Blocked | None:
    if len(pods) >= wanted:
        return None
    return Blocked(Blocking.PODS_MISSING, f"{len(pods)}/{wanted} pods exist")


def _pods_blocked(gang: PodGang | None, pods: Sequence[Pod]) -> Blocked | None:
    total = len(pods)
    unbound = [pod for pod in pods if not is_bound(pod) and not pod.is_gated]
    held = [pod for pod in pods if pod.is_gated]
    if held and not (unbound and all(_is_surplus(pod, gang) for pod in held)):
        return _gated(gang, pods)
    if unbound:
        causes = _listed(_scheduling_causes(gang, unbound))
        bound = total - len(unbound) - len(held)
        return Blocked(Blocking.UNSCHEDULABLE, f"{bound}/{total} pods scheduled{causes}")
    unready = [pod for pod in pods if not pod.is_ready]
    if unready:
        causes = _listed(_container_cause(pod) for pod in unready)
        return Blocked(Blocking.NOT_READY, f"{total - len(unready)}/{total} pods ready{causes}")
    return None


def _is_surplus(pod: Pod, gang: PodGang | None) -> bool:
    """Tell whether a gang can be placed without this pod, which may be held until it is."""
    group = pod.metadata.labels.get(names.LABEL_PODCLIQUE)
    minimums = {found.name: found.min_replicas for found in gang.spec.podgroups} if gang else {}
    index = index_of(pod)
    return group in minimums and index is not None and index >= minimums[group]


def _gated(gang: PodGang | None, pods: Sequence[Pod]) -> Blocked:
    count = sum(pod.is_gated for pod in pods)
    held = f"{count}/{len(pods)} pods held"
    released = _condition(gang, names.CONDITION_RELEASED)
    if released is not None and released.status == "False":
        why = _told(released, "not released")
        return Blocked(word(released.reason, Blocking.NOT_RELEASED), f"{held}; {why}")
    programmed = _condition(gang, names.CONDITION_PROGRAMMED)
    if programmed is None or programmed.status != "True":
        backend = _backend(gang)
        why = programmed.message if programmed is not None else ""
        said = f": {_cut(why)}" if why else ""
        return Blocked(
            Blocking.NOT_PROGRAMMED, f"{held} until {backend} has programmed the gang{said}"
        )
    gates = sorted({gate.name for pod in pods for gate in pod.spec.scheduling_gates})
    return Blocked(Blocking.GATED, f"{held} by {', '.join(gates)}")


def _backend(gang: PodGang | None) -> str:
    name = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if gang is not None else None
    return f"backend {name}" if name else "a backend"


def _scheduling_causes(gang: PodGang | None, pods: Sequence[Pod]) -> Sequence[str]:
    """What each pod waits for. A scheduler tells it of one pod, of each, or of the gang."""
    told = [cause for pod in pods if (cause := _scheduling_cause(pod))]
    scheduled = _condition(gang, names.CONDITION_SCHEDULED)
    said = scheduled.message if scheduled is not None and scheduled.status != "True" else ""
    if said and not any(cause.startswith("wait for ") for cause in told):
        # What pods say names nothing that is short; the backend may have found who does.
        _, _, words = said.partition(": ")
        if words or not told:
            return [scheduling_cause(words or said)] * len(pods)
    if told:
        return [*told, *["wait for the rest of the gang"] * (len(pods) - len(told))]
    return ()


def _scheduling_cause(pod: Pod) -> str:
    condition = pod.condition("PodScheduled")
    # The word about gates stays until the scheduler has looked at a pod whose gates are gone.
    if condition is None or condition.status == "True" or condition.reason == _GATED_REASON:
        return ""
    if not condition.message:
        return ""
    cause = scheduling_cause(condition.message)
    # Words about one pod by name are no cause that pods share: this one waits for the others.
    is_personal = cause.startswith(_NOT_PLACED) and pod.metadata.name in condition.message
    return "" if is_personal else cause


def scheduling_cause(message: str) -> str:
    """What a scheduler's message says is short, or the message in few words."""
    short = sorted(set(_INSUFFICIENT.findall(message)))
    if short:
        return f"wait for {' and '.join(short)}"
    taints = sorted({taint for taint in _TAINT.findall(message) if taint})
    if taints:
        return f"wait for nodes without taint {' or '.join(taints)}"
    words = _PREEMPTION.sub("", _NODES.sub("", message))
    return f"{_NOT_PLACED}{_cut(words).rstrip('.')}"


def _container_cause(pod: Pod) -> str:
    awaited = awaited_by(pod)
    # While a pod is held, what its containers say is only that they have not been started.
    told = () if awaited else pod.status.container_statuses
    for status in (*pod.status.init_container_statuses, *told):
        cause = _container_state(status)
        if cause and not status.ready:
            return f"in {cause}"
    return f"wait for {awaited} to be ready" if awaited else "starting"


def _container_state(status: ContainerStatus) -> str:
    state = status.state
    if state.waiting is not None:
        return state.waiting.reason
    if state.terminated is not None and state.terminated.exit_code != 0:
        return state.terminated.reason or f"exit {state.terminated.exit_code}"
    return ""


def _listed(causes: Iterable[str]) -> str:
    """The most frequent causes with their numbers, such as "; 2 wait for cpu, 1 in Error"."""
    counted = Counter(causes)
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{count} {_conjugated(cause, count)}" for cause, count in ordered[:_CAUSES]]
    rest = sum(count for _, count in ordered[_CAUSES:])
    if rest:
        parts.append(f"{rest} for other reasons")
    return f"; {', '.join(parts)}" if parts else ""


def _conjugated(cause: str, count: int) -> str:
    return cause.replace("wait ", "waits ", 1) if count == 1 else cause


def _condition(gang: PodGang | None, kind: str) -> Condition | None:
    if gang is None or gang.status is None:
        return None
    return next((found for found in gang.status.conditions if found.type == kind), None)


def word(reason: str, otherwise: Blocking) -> Blocking:
    """The word if it is one of ours: backends may say others, and metrics must stay bounded."""
    try:
        return Blocking(reason)
    except ValueError:
        return otherwise


def _told(condition: Condition, otherwise: str) -> str:
    return _cut(condition.message) or otherwise


def _cut(text: str) -> str:
    return truncated(" ".join(text.split()), _CAUSE_LIMIT)


def worst(found: Iterable[Blocked]) -> Blocked | None:
    """The one to tell: the first that needs a person, else the first."""
    ordered = sorted(found, key=lambda one: not one.stalled)
    return ordered[0] if ordered else None
