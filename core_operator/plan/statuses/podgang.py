"""The conditions of a PodGang that core owns, and a gang in one line.

Initialized and BackendSelected are always said. Released is said where it tells something: a
scaled gang that waits for its base gang, and backends that have to know whether a release was
complete. Elsewhere the pods' own gates tell it, and a write per gang is saved. No condition
carries a generation: the spec's moves with every pod that comes or goes, which changes nothing
about what they say.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from core_operator.plan.backends import Choice
from core_operator.plan.gang_pods import GroupPods
from core_operator.plan.preparation import incarnation_of
from core_operator.plan.release import Release, Waiting
from core_operator.plan.statuses.conditions import Observation, find, rendered
from core_operator.plan.statuses.reasons import Blocked, Blocking, gang_blocked
from core_operator.plan.statuses.scaling_group import clique_blocked
from shared_api import names
from shared_api.models import (
    Condition,
    GangPhase,
    JsonObject,
    MemberLost,
    PodClique,
    PodGang,
    SchedulerBackendSpec,
)

# What only PodCliques know: why pods cannot be made.
_UNMADE = frozenset(
    {
        Blocking.CONFLICT,
        Blocking.PODS_REFUSED,
        Blocking.FIELDS_DROPPED,
        Blocking.REPLACED_LATER,
    }
)


@dataclass(frozen=True, slots=True)
class GangSummary:
    """A gang as its PodCliqueSet tells of it."""

    name: str
    phase: GangPhase
    blocked: Blocked | None


def podgang_status(
    gang: PodGang,
    choice: Choice,
    record: SchedulerBackendSpec | None,
    release: Release | None,
    now: datetime,
) -> JsonObject:
    """What core applies; without a record there is no release to speak of."""
    previous = gang.status.conditions if gang.status is not None else ()
    observation = Observation(now, previous)
    conditions = [_selected(choice, observation), _initialized(release, observation)]
    if release is not None and record is not None and _tells_release(release, record, previous):
        conditions.append(_released(release, observation))
    return {"conditions": rendered(conditions), **_incarnations(gang, record, release)}


def _incarnations(
    gang: PodGang, record: SchedulerBackendSpec | None, release: Release | None
) -> JsonObject:
    """Which incarnation the members are, and the last one of which a member had a node."""
    now, placed = incarnation_of(gang), gang.status.placed_incarnation if gang.status else None
    if release is not None and record is not None and _recreates(record):
        placed = now if release.is_placed else placed
        now += release.afresh
    told: JsonObject = {"incarnation": now} if now else {}
    if placed is not None:
        told["placedIncarnation"] = placed
    return told


def _recreates(record: SchedulerBackendSpec) -> bool:
    return record.release.member_lost is MemberLost.RECREATE_GANG


def gang_summary(
    gang: PodGang, groups: Sequence[GroupPods], cliques: Iterable[PodClique] = ()
) -> GangSummary:
    """The gang in one line. It costs a look at every pod, so keep it until one changes.

    `cliques` are its PodCliques: what keeps them from making pods is all that matters then.
    """
    live = tuple(pod for group in groups for pod in group.live)
    wanted = sum(group.minimum if group.wanted is None else group.wanted for group in groups)
    phase = _phase(groups)
    blocked = _unmade(gang, cliques) or gang_blocked(gang, live, wanted)
    return GangSummary(gang.metadata.name, phase, blocked)


def _unmade(gang: PodGang, cliques: Iterable[PodClique]) -> Blocked | None:
    said = (clique_blocked(clique) for clique in cliques)
    found = next((one for one in said if one is not None and one.reason in _UNMADE), None)
    return None if found is None else found.about(f"gang {gang.metadata.name}")


def _phase(groups: Sequence[GroupPods]) -> GangPhase:
    if not all(group.is_placed for group in groups):
        return GangPhase.PENDING
    if all(sum(pod.is_ready for pod in group.live) >= group.minimum for group in groups):
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
            message="the pods were created and are in the PodGang",
        )
    # Not how many exist: that would be a write per pod, and the PodCliques say it.
    wanted = f"{release.wanted} pods" if release is not None else "pods"
    return observation.condition(
        names.CONDITION_INITIALIZED,
        holds=False,
        reason=names.REASON_PODS_CREATION_PENDING,
        message=f"not all of {wanted} exist and are in the PodGang",
    )


def _tells_release(
    release: Release, record: SchedulerBackendSpec, previous: Sequence[Condition]
) -> bool:
    return (
        release.reason is Waiting.FOR_BASE
        or _recreates(record)
        or find(previous, names.CONDITION_RELEASED) is not None
    )


def _released(release: Release, observation: Observation) -> Condition:
    if release.released:
        return observation.condition(
            names.CONDITION_RELEASED,
            holds=True,
            reason=names.CONDITION_RELEASED,
            message="no member is held by its gate",
        )
    return observation.condition(
        names.CONDITION_RELEASED,
        holds=False,
        reason=release.reason or Blocking.NOT_RELEASED,
        message=release.waiting or "pods are being released",
    )
