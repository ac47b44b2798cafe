"""Status of a PodCliqueScalingGroup: counts of its replicas, and its conditions.

A replica counts once all its PodCliques exist and each has its minimum. That is read from the
status of the PodCliques. Whether a replica is updated is read from its pods: it must be right from
the moment the set changes, and the statuses of PodCliques are written a little later.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from core_operator.plan.jobs.indexes import from_text
from core_operator.plan.jobs.runs import Ending
from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import CliqueInstance
from core_operator.plan.statuses.conditions import Availability, Observation, find, rendered
from core_operator.plan.statuses.jobs import ended
from core_operator.plan.statuses.last_errors import last_errors
from core_operator.plan.statuses.podclique import label_selector
from core_operator.plan.statuses.reasons import Blocker, BlockingReason, known_reason, most_urgent
from core_operator.plan.statuses.update_progress import GroupUpdate, group_progress
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

_NO_STATUS = PodCliqueStatus()


def scaling_group_status(
    group: PodCliqueScalingGroup,
    cliques: Sequence[PodClique],
    now: datetime,
    update: GroupUpdate | None = None,
    problem: Blocker | None = None,
    ending: Ending | None = None,
) -> JsonObject:
    """Return what core applies; `cliques` are the PodCliques that the group controls.

    `problem` is a current failure to write them, `ending` how its jobs ended.
    """
    replicas = _replicas(group, cliques)
    is_updating = update is not None and update.is_turn
    available = _count(group, replicas, is_available)
    before = group.status or PodCliqueScalingGroupStatus()
    observation = Observation(now, before.conditions, group.metadata.generation)
    verdict = _verdict(group, replicas, available, problem) if ending is None else ended(ending)
    status: JsonObject = {
        "conditions": rendered(
            (
                *verdict.conditions(observation),
                _breached(group, replicas, observation, is_updating=is_updating),
            )
        ),
        "replicas": group.spec.replicas,
        "scheduledReplicas": _count(group, replicas, is_scheduled),
        "availableReplicas": available,
        "updatedReplicas": _updated(group, replicas, update),
        "selector": _selector(group),
        **last_errors(problem, verdict.blocker, before.last_errors, now),
    }
    if group.metadata.generation is not None:
        status["observedGeneration"] = group.metadata.generation
    return status | group_progress(before, update, now)


def _updated(
    group: PodCliqueScalingGroup,
    replicas: Mapping[str, tuple[PodClique, ...]],
    update: GroupUpdate | None,
) -> int:
    if update is None:
        return _count(group, replicas, lambda c: is_available(c) and is_updated(c))
    outdated = {one.index for one in update.facts.replicas if not one.is_updated}
    current = {index: of for index, of in replicas.items() if int(index) not in outdated}
    return _count(group, current, is_available)


def is_available(clique: PodClique | None) -> bool:
    """Return whether a PodClique has its minimum ready, or done."""
    return (
        clique is not None
        and clique.metadata.deletion_timestamp is None
        and _status(clique).ready_replicas + _done(clique) >= clique.spec.minimum
    )


def is_scheduled(clique: PodClique | None) -> bool:
    """Return whether a PodClique has its minimum bound."""
    return clique is not None and _status(clique).scheduled_replicas >= clique.spec.minimum


def is_updated(clique: PodClique | None) -> bool:
    """Return whether a PodClique has its minimum of pods of the current template."""
    return clique is not None and _status(clique).updated_replicas >= clique.spec.minimum


def has_enough(
    instances: Sequence[CliqueInstance],
    cliques: Mapping[str, PodClique],
    passes: Callable[[PodClique | None], bool],
) -> bool:
    """Return whether all standalone cliques and the minimum of each group of a replica pass."""
    replicas: dict[str, dict[int, bool]] = {}
    minimum: dict[str, int] = {}
    for instance in instances:
        up = passes(cliques.get(instance.name))
        if instance.group is None:
            if not up:
                return False
        else:
            name, index = instance.group.name, instance.group_index or 0
            minimum[name] = instance.group.minimum
            of_group = replicas.setdefault(name, {})
            of_group[index] = of_group.get(index, True) and up
    return all(sum(of_group.values()) >= minimum[name] for name, of_group in replicas.items())


def _done(clique: PodClique) -> int:
    """Return how many pods of a job succeeded."""
    done = _status(clique).completed_indexes
    return len(from_text(done, clique.spec.replicas)) if done else 0


def _status(clique: PodClique) -> PodCliqueStatus:
    return clique.status or _NO_STATUS


def _replicas(
    group: PodCliqueScalingGroup, cliques: Sequence[PodClique]
) -> Mapping[str, tuple[PodClique, ...]]:
    """The PodCliques of each replica that should exist, by index; terminating ones do not count."""
    size = min(group.spec.replicas, MAX_REPLICAS)
    found: dict[str, list[PodClique]] = {str(i): [] for i in range(size)}
    for clique in cliques:
        index = clique.metadata.labels.get(names.LABEL_PCSG_REPLICA_INDEX, "")
        if index in found and clique.metadata.deletion_timestamp is None:
            found[index].append(clique)
    return {index: tuple(members) for index, members in found.items()}


def _count(
    group: PodCliqueScalingGroup,
    replicas: Mapping[str, tuple[PodClique, ...]],
    passes: Callable[[PodClique], bool],
) -> int:
    size = len(group.spec.clique_names)
    return sum(len(members) >= size and all(map(passes, members)) for members in replicas.values())


def _verdict(
    group: PodCliqueScalingGroup,
    replicas: Mapping[str, tuple[PodClique, ...]],
    available: int,
    problem: Blocker | None,
) -> Availability:
    message = f"{available}/{group.spec.replicas} replicas available"
    blocker = problem or _blocker(group, replicas)
    if blocker is not None:
        message = f"{message}; {blocker.message}"
    return Availability(ready=available >= group.spec.minimum, message=message, blocker=blocker)


def _blocker(
    group: PodCliqueScalingGroup, replicas: Mapping[str, tuple[PodClique, ...]]
) -> Blocker | None:
    size = len(group.spec.clique_names)
    absent = sum(max(0, size - len(members)) for members in replicas.values())
    if absent:
        return Blocker(
            BlockingReason.PODS_MISSING,
            f"{size * len(replicas) - absent}/{size * len(replicas)} PodCliques exist",
        )
    found = (clique_blocker(clique) for members in replicas.values() for clique in members)
    return most_urgent(one for one in found if one is not None)


def clique_blocker(clique: PodClique) -> Blocker | None:
    """Return what a PodClique waits for by its status."""
    conditions = _status(clique).conditions
    stalled = find(conditions, names.CONDITION_STALLED)
    found = stalled or find(conditions, names.CONDITION_RECONCILING)
    if found is None or found.status != "True":
        return None
    reason = known_reason(found.reason, BlockingReason.PROGRESSING)
    return Blocker(reason, found.message).about(clique.metadata.name)


def _breached(
    group: PodCliqueScalingGroup,
    replicas: Mapping[str, tuple[PodClique, ...]],
    observation: Observation,
    *,
    is_updating: bool,
) -> Condition:
    whole = _count(group, replicas, lambda clique: not _is_breached(clique))
    breached = whole < group.spec.minimum
    reason = names.REASON_SUFFICIENT_AVAILABLE_PCSG
    if is_updating:
        reason = names.REASON_UPDATE_IN_PROGRESS
    elif breached:
        reason = names.REASON_INSUFFICIENT_AVAILABLE_PCSG
    return observation.condition(
        names.CONDITION_MIN_AVAILABLE_BREACHED,
        holds=None if is_updating else breached,
        reason=reason,
        message=f"{whole} replicas meet their minimum, minimum {group.spec.minimum}",
    )


def _is_breached(clique: PodClique) -> bool:
    found = find(_status(clique).conditions, names.CONDITION_MIN_AVAILABLE_BREACHED)
    return found is not None and found.status == "True"


def _selector(group: PodCliqueScalingGroup) -> str:
    part_of = group.metadata.labels.get(names.LABEL_PART_OF, "")
    return label_selector({**naming.set_labels(part_of), names.LABEL_PCSG: group.metadata.name})
