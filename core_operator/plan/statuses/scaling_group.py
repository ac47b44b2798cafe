"""Status of a PodCliqueScalingGroup: how many of its copies are how far.

A copy counts once all its PodCliques are there and each has its minimum. Everything is read
from the PodCliques' own status, so this is as cheap as the group has cliques.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from core_operator.plan import naming
from core_operator.plan.statuses.conditions import Observation, Verdict, find, rendered
from core_operator.plan.statuses.podclique import label_selector
from core_operator.plan.statuses.reasons import Blocked, Blocking, word, worst
from core_operator.plan.statuses.update_progress import GroupUpdate, group_progress, is_turn_of
from shared_api import names
from shared_api.models import (
    MAX_REPLICAS,
    Condition,
    JsonObject,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    PodCliqueStatus,
)

_NOTHING_KNOWN = PodCliqueStatus()


def scaling_group_status(
    group: PodCliqueScalingGroup,
    cliques: Sequence[PodClique],
    now: datetime,
    update: GroupUpdate | None = None,
) -> JsonObject:
    """What core applies; `cliques` are the PodCliques that the group controls."""
    copies = _copies(group, cliques)
    available = _count(group, copies, is_available)
    before = group.status or PodCliqueScalingGroupStatus()
    observation = Observation(now, before.conditions, group.metadata.generation)
    verdict = _verdict(group, copies, available)
    status: JsonObject = {
        "conditions": rendered(
            (
                *verdict.conditions(observation),
                _breached(group, copies, observation, is_updating=is_turn_of(update)),
            )
        ),
        "replicas": group.spec.replicas,
        "scheduledReplicas": _count(group, copies, is_scheduled),
        "availableReplicas": available,
        "updatedReplicas": _count(group, copies, lambda c: is_available(c) and is_updated(c)),
        "selector": _selector(group),
    }
    if group.metadata.generation is not None:
        status["observedGeneration"] = group.metadata.generation
    return status | group_progress(before, update, now)


def is_available(clique: PodClique | None) -> bool:
    """Tell whether a PodClique has its minimum ready."""
    return (
        clique is not None
        and clique.metadata.deletion_timestamp is None
        and _status(clique).ready_replicas >= clique.spec.minimum
    )


def is_scheduled(clique: PodClique | None) -> bool:
    """Tell whether a PodClique has its minimum bound."""
    return clique is not None and _status(clique).scheduled_replicas >= clique.spec.minimum


def is_updated(clique: PodClique | None) -> bool:
    """Tell whether a PodClique has its minimum of pods of the current template."""
    return clique is not None and _status(clique).updated_replicas >= clique.spec.minimum


def _status(clique: PodClique) -> PodCliqueStatus:
    return clique.status or _NOTHING_KNOWN


def _copies(
    group: PodCliqueScalingGroup, cliques: Sequence[PodClique]
) -> Mapping[str, tuple[PodClique, ...]]:
    """The PodCliques of each copy that should exist, by index; those that go away are not there."""
    replicas = min(group.spec.replicas, MAX_REPLICAS)
    found: dict[str, list[PodClique]] = {str(i): [] for i in range(replicas)}
    for clique in cliques:
        index = clique.metadata.labels.get(names.LABEL_PCSG_REPLICA_INDEX, "")
        if index in found and clique.metadata.deletion_timestamp is None:
            found[index].append(clique)
    return {index: tuple(members) for index, members in found.items()}


def _count(
    group: PodCliqueScalingGroup,
    copies: Mapping[str, tuple[PodClique, ...]],
    passes: Callable[[PodClique], bool],
) -> int:
    size = len(group.spec.clique_names)
    return sum(len(members) >= size and all(map(passes, members)) for members in copies.values())


def _verdict(
    group: PodCliqueScalingGroup, copies: Mapping[str, tuple[PodClique, ...]], available: int
) -> Verdict:
    message = f"{available}/{group.spec.replicas} copies available"
    blocked = _blocked(group, copies)
    if blocked is not None:
        message = f"{message}; {blocked.message}"
    return Verdict(ready=available >= group.spec.min_available, message=message, blocked=blocked)


def _blocked(
    group: PodCliqueScalingGroup, copies: Mapping[str, tuple[PodClique, ...]]
) -> Blocked | None:
    size = len(group.spec.clique_names)
    absent = sum(max(0, size - len(members)) for members in copies.values())
    if absent:
        return Blocked(
            Blocking.PODS_MISSING,
            f"{size * len(copies) - absent}/{size * len(copies)} PodCliques exist",
        )
    found = (clique_blocked(clique) for members in copies.values() for clique in members)
    return worst(blocked for blocked in found if blocked is not None)


def clique_blocked(clique: PodClique) -> Blocked | None:
    """What a PodClique says that it waits for."""
    conditions = _status(clique).conditions
    stalled = find(conditions, names.CONDITION_STALLED)
    said = stalled or find(conditions, names.CONDITION_RECONCILING)
    if said is None or said.status != "True":
        return None
    reason = word(said.reason, Blocking.PROGRESSING)
    return Blocked(reason, said.message).about(clique.metadata.name)


def _breached(
    group: PodCliqueScalingGroup,
    copies: Mapping[str, tuple[PodClique, ...]],
    observation: Observation,
    *,
    is_updating: bool,
) -> Condition:
    whole = _count(group, copies, lambda clique: not _is_breached(clique))
    breached = whole < group.spec.min_available
    if is_updating:
        return observation.condition(
            names.CONDITION_MIN_AVAILABLE_BREACHED,
            holds=None,
            reason=names.REASON_UPDATE_IN_PROGRESS,
            message=f"{whole} copies have their minimum, minimum {group.spec.min_available}",
        )
    return observation.condition(
        names.CONDITION_MIN_AVAILABLE_BREACHED,
        holds=breached,
        reason=names.REASON_INSUFFICIENT_AVAILABLE_PCSG
        if breached
        else names.REASON_SUFFICIENT_AVAILABLE_PCSG,
        message=f"{whole} copies have their minimum, minimum {group.spec.min_available}",
    )


def _is_breached(clique: PodClique) -> bool:
    said = find(_status(clique).conditions, names.CONDITION_MIN_AVAILABLE_BREACHED)
    return said is not None and said.status == "True"


def _selector(group: PodCliqueScalingGroup) -> str:
    part_of = group.metadata.labels.get(names.LABEL_PART_OF, "")
    return label_selector({**naming.set_labels(part_of), names.LABEL_PCSG: group.metadata.name})
