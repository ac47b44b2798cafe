"""Core's conditions of a PodGang, and the summary of a gang for its set.

Initialized and BackendSelected are always set. Released is set only where it is needed: for a
scaled gang that waits for its base gang, and for backends that recreate gangs or have a bind
timeout. Elsewhere the pods'
gates show it, which saves one write per gang. No condition has a generation, because the spec
changes with every pod.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from core_operator.plan.bind_timeout import BindPlan
from core_operator.plan.jobs.runs import Ending, JobOutcome, outcome_of
from core_operator.plan.placement.backends import Choice
from core_operator.plan.pods.gang_pods import GroupPods
from core_operator.plan.pods.preparation import incarnation_of
from core_operator.plan.release import Release, WaitingFor
from core_operator.plan.statuses.conditions import Observation, find, rendered
from core_operator.plan.statuses.jobs import ending_conditions
from core_operator.plan.statuses.reasons import Blocker, BlockingReason, gang_blocker
from core_operator.plan.statuses.scaling_group import clique_blocker
from shared_api import names
from shared_api.models import (
    Condition,
    GangPhase,
    JsonObject,
    MemberLost,
    PlacementStatus,
    PodClique,
    PodGang,
    SchedulerBackendSpec,
)

# Only PodCliques know why pods cannot be created.
_NOT_CREATED = frozenset(
    {
        BlockingReason.CONFLICT,
        BlockingReason.PODS_REFUSED,
        BlockingReason.FIELDS_DROPPED,
        BlockingReason.REPLACED_LATER,
    }
)


_KEPT_AT_END = frozenset(
    {names.CONDITION_BACKEND_SELECTED, names.CONDITION_INITIALIZED, names.CONDITION_RELEASED}
)
_PHASES = {JobOutcome.COMPLETED: GangPhase.SUCCEEDED, JobOutcome.FAILED: GangPhase.FAILED}


@dataclass(frozen=True, slots=True)
class GangSummary:
    """A gang as its PodCliqueSet reports it."""

    name: str
    phase: GangPhase
    blocker: Blocker | None


def podgang_status(  # noqa: PLR0913 - all that the status is made of
    gang: PodGang,
    choice: Choice,
    record: SchedulerBackendSpec | None,
    release: Release | None,
    now: datetime,
    binding: BindPlan | None = None,
    *,
    placement: PlacementStatus | None = None,
) -> JsonObject:
    """Return what core applies; without a record there is no release and no bind timeout."""
    previous = gang.status.conditions if gang.status is not None else ()
    observation = Observation(now, previous)
    conditions = [_selected(choice, observation), _initialized(release, observation)]
    if release is not None and record is not None and _reports_release(release, record, previous):
        countdown = binding.countdown if binding is not None else ""
        conditions.append(_released(release, countdown, observation))
    attempt = gang.status.bind_attempt if gang.status is not None else None
    if binding is not None:
        attempt = binding.attempt
    fields: JsonObject = {} if attempt is None else {"bindAttempt": attempt.manifest()}
    if placement is not None:
        fields["placement"] = placement.manifest()
    if (blocker := _core_blocker(conditions, previous)) is not None:
        fields["coreBlocker"] = blocker
    return {"conditions": rendered(conditions), **_incarnations(gang, record, release), **fields}


def _core_blocker(
    conditions: Sequence[Condition], previous: Sequence[Condition]
) -> JsonObject | None:
    """Return the first of core's conditions that is not True, for `kubectl get`.

    It follows from the conditions, so it costs no write of its own. A gang that its backend refuses
    waits for that backend's condition, whatever pods it has.
    """
    blocking = next((found for found in conditions if found.status != "True"), None)
    if blocking is None or (
        blocking.type != names.CONDITION_BACKEND_SELECTED
        and any(_is_refusal(found) for found in previous)
    ):
        return None
    return {"reason": blocking.reason, "message": blocking.message}


def _is_refusal(condition: Condition) -> bool:
    return condition.status == "False" and (
        condition.type == names.CONDITION_ACCEPTED
        or (
            condition.type == names.CONDITION_PROGRAMMED
            and condition.reason in (names.REASON_CONFLICT, names.REASON_REJECTED)
        )
    )


def ended_gang_status(gang: PodGang, ending: Ending, now: datetime) -> JsonObject:
    """Return what core applies to a gang whose jobs have ended and that has no running pod.

    The backend then releases the scheduler's objects. The other conditions of core stay, and so do
    its attempts.
    """
    previous = gang.status.conditions if gang.status is not None else ()
    kept = (one for one in previous if one.type in _KEPT_AT_END)
    conditions = (*kept, *ending_conditions(ending, Observation(now, previous)))
    fields: JsonObject = {}
    if gang.status is not None and gang.status.placement is not None:
        fields["placement"] = gang.status.placement.manifest()
    return {"conditions": rendered(conditions), **_incarnations(gang, None, None), **fields}


def _incarnations(
    gang: PodGang, record: SchedulerBackendSpec | None, release: Release | None
) -> JsonObject:
    """Return the incarnation of the members, and the last one with a bound member."""
    now, bound = incarnation_of(gang), gang.status.placed_incarnation if gang.status else None
    if release is not None and record is not None and _recreates(record):
        bound = now if release.has_bound_member else bound
        now += release.starts_new_incarnation
    fields: JsonObject = {"incarnation": now} if now else {}
    if bound is not None:
        fields["placedIncarnation"] = bound
    return fields


def _recreates(record: SchedulerBackendSpec) -> bool:
    return record.release.member_lost is MemberLost.RECREATE_GANG


def gang_summary(
    gang: PodGang, groups: Sequence[GroupPods], cliques: Iterable[PodClique] = ()
) -> GangSummary:
    """Return the summary of a gang. It reads every pod, so keep it until one changes.

    `cliques` are its PodCliques: their failure to create pods goes before everything else.
    """
    outcome = outcome_of(gang.status.conditions if gang.status is not None else ())
    if outcome is not None:
        return GangSummary(gang.metadata.name, _PHASES[outcome], None)
    live = tuple(pod for group in groups for pod in group.live if not pod.has_ended)
    wanted = sum(group.minimum if group.wanted is None else group.wanted for group in groups)
    wanted -= sum(pod.has_ended for group in groups for pod in group.live)
    phase = _phase(groups)
    blocker = _not_created(gang, cliques) or gang_blocker(gang, live, wanted)
    return GangSummary(gang.metadata.name, phase, blocker)


def _not_created(gang: PodGang, cliques: Iterable[PodClique]) -> Blocker | None:
    blockers = (clique_blocker(clique) for clique in cliques)
    found = next((one for one in blockers if one is not None and one.reason in _NOT_CREATED), None)
    return None if found is None else found.about(f"gang {gang.metadata.name}")


def _phase(groups: Sequence[GroupPods]) -> GangPhase:
    if not all(group.is_scheduled for group in groups):
        return GangPhase.PENDING
    if all(group.ready >= group.minimum for group in groups):
        return GangPhase.RUNNING
    return GangPhase.STARTING


def _selected(choice: Choice, observation: Observation) -> Condition:
    return observation.condition(
        names.CONDITION_BACKEND_SELECTED,
        holds=choice.ok,
        reason=choice.reason,
        message=choice.message,
    )


def _initialized(release: Release | None, observation: Observation) -> Condition:
    if release is not None and release.initialized:
        return observation.condition(
            names.CONDITION_INITIALIZED,
            holds=True,
            reason=names.REASON_PODS_CREATED,
            message="the pods were created and are referenced by the PodGang",
        )
    # Not how many exist: that would be a write per pod, and the PodCliques count them.
    wanted = f"{release.wanted} pods" if release is not None else "pods"
    return observation.condition(
        names.CONDITION_INITIALIZED,
        holds=False,
        reason=names.REASON_PODS_CREATION_PENDING,
        message=f"not all of {wanted} exist and are referenced by the PodGang",
    )


def _reports_release(
    release: Release, record: SchedulerBackendSpec, previous: Sequence[Condition]
) -> bool:
    return (
        release.reason is WaitingFor.BASE_GANG
        or _recreates(record)
        or record.release.bind_timeout_seconds is not None
        or find(previous, names.CONDITION_RELEASED) is not None
    )


def _released(release: Release, countdown: str, observation: Observation) -> Condition:
    if release.released:
        return observation.condition(
            names.CONDITION_RELEASED,
            holds=True,
            reason=names.CONDITION_RELEASED,
            message=f"no member is gated; {countdown}" if countdown else "no member is gated",
        )
    return observation.condition(
        names.CONDITION_RELEASED,
        holds=False,
        reason=release.reason or BlockingReason.NOT_RELEASED,
        message=release.message or "pods are being released",
    )
