"""Status of a PodCliqueSet: what `kubectl get pcs` must show by itself.

A replica is available once every standalone PodClique, and enough replicas of each of its scaling
groups, have their minimum ready. It is updated once its scaling groups report that as well, so a
reader who waits for the set finds them updated, as in Grove. The message names the most urgent gang
with its numbers, and how many others wait. Gangs are listed up to a limit, those that are not
running first, because the list is part of every write.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from pydantic import JsonValue

from core_operator.plan.jobs.modes import has_jobs
from core_operator.plan.jobs.runs import ending_in
from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import CliqueInstance, Expansion
from core_operator.plan.statuses.conditions import Availability, Observation, find, rendered
from core_operator.plan.statuses.jobs import ended
from core_operator.plan.statuses.last_errors import last_errors
from core_operator.plan.statuses.podclique import label_selector
from core_operator.plan.statuses.podgang import GangSummary
from core_operator.plan.statuses.reasons import Blocker, BlockingReason, most_urgent
from core_operator.plan.statuses.scaling_group import has_enough, is_available, is_updated
from core_operator.plan.statuses.topology import NO_TOPOLOGY, TopologyState, topology_condition
from shared_api import names
from shared_api.models import (
    GangPhase,
    JsonObject,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodCliqueSetStatus,
)

LISTED_GANGS = 100
EXPLAINED_GANGS = 10
_WELL = frozenset({GangPhase.RUNNING, GangPhase.SUCCEEDED})


@dataclass(frozen=True, slots=True)
class SetState:
    """The observed parts of a set."""

    expansion: Expansion
    cliques: Mapping[str, PodClique]
    """The PodCliques that exist, by name."""
    gangs: Sequence[GangSummary]
    """In the order of the expansion."""
    revision_hash: str | None = None
    problem: Blocker | None = None
    """A problem of the set itself."""
    topology: TopologyState = NO_TOPOLOGY
    rivals: str = ""
    """Which other autoscalers scale pods of the set, and what to do."""
    groups: Mapping[str, PodCliqueScalingGroup] = field(default_factory=dict)
    """The scaling groups that exist, by name."""


def podcliqueset_status(pcs: PodCliqueSet, state: SetState, now: datetime) -> JsonObject:
    """Return what core applies."""
    before = pcs.status or PodCliqueSetStatus()
    observation = Observation(now, before.conditions, pcs.metadata.generation)
    available, updated = _replicas(pcs, state)
    ending = ending_in(before.conditions)
    verdict = _verdict(pcs, available, state) if ending is None else ended(ending)
    conditions = [*verdict.conditions(observation)]
    if (topology := topology_condition(state.topology, observation)) is not None:
        conditions.append(topology)
    status: JsonObject = {
        "conditions": rendered(conditions),
        "replicas": pcs.spec.replicas,
        "availableReplicas": available,
        "updatedReplicas": updated,
        "hpaPodSelector": label_selector(naming.set_labels(pcs.metadata.name)),
        "podGangStatuses": _listed(before, state.gangs, now),
        **last_errors(state.problem, verdict.blocker, before.last_errors, now),
    }
    if pcs.metadata.generation is not None:
        status["observedGeneration"] = pcs.metadata.generation
    if state.revision_hash is not None:
        status["currentGenerationHash"] = state.revision_hash
    return status


def _replicas(pcs: PodCliqueSet, state: SetState) -> tuple[int, int]:
    """Return how many replicas are available, and how many of those are up to date."""
    available = updated = 0
    # The expansion lists cliques replica by replica.
    for _, found in groupby(state.expansion.cliques, attrgetter("pcs_index")):
        instances = tuple(found)
        if has_enough(instances, state.cliques, is_available):
            available += 1
            is_current = all(_is_current(instance, state.cliques) for instance in instances)
            # A job is never updated, and the pods of a group that are done are not counted.
            updated += is_current and (has_jobs(pcs) or _is_reported(instances, state))
    return available, updated


def _is_reported(instances: Sequence[CliqueInstance], state: SetState) -> bool:
    """Return whether the scaling groups count each of their available replicas as updated."""
    is_up: dict[tuple[str, int], bool] = {}
    for one in instances:
        if one.group is not None:
            key = (one.group.name, one.group_index or 0)
            is_up[key] = is_up.get(key, True) and is_available(state.cliques.get(one.name))
    counts = Counter(name for (name, _), up in is_up.items() if up)
    return all(_updated(state.groups.get(name)) >= count for name, count in counts.items())


def _updated(group: PodCliqueScalingGroup | None) -> int:
    return group.status.updated_replicas if group is not None and group.status is not None else 0


def _is_current(instance: CliqueInstance, cliques: Mapping[str, PodClique]) -> bool:
    clique = cliques.get(instance.name)
    if clique is None or clique.status is None:
        return False
    wanted = instance.template_hash
    # Until all pods are replaced, the status has the hash of the former template. So numbers that
    # were counted before the PodClique got its template do not count.
    return (
        clique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH) == wanted
        and clique.status.current_pod_template_hash in (None, wanted)
        and is_updated(clique)
    )


def _verdict(pcs: PodCliqueSet, available: int, state: SetState) -> Availability:
    waiting = [gang.blocker for gang in state.gangs if gang.blocker is not None]
    found = state.problem or most_urgent(waiting) or _rivals(state) or _updating(pcs)
    message = f"{available}/{pcs.spec.replicas} replicas available"
    if state.problem is None and len(waiting) > 1:
        message = f"{message}, {len(waiting)} gangs not running"
    if found is not None:
        # Last: it ends with what to do.
        message = f"{message}; {found.message}"
    ready = state.problem is None and available >= pcs.spec.replicas
    return Availability(ready=ready, message=message, blocker=found)


def _rivals(state: SetState) -> Blocker | None:
    """Return a conflict of autoscalers: the pods run, and nothing changes their number."""
    return Blocker(BlockingReason.AUTOSCALER_CONFLICT, state.rivals) if state.rivals else None


def _updating(pcs: PodCliqueSet) -> Blocker | None:
    """Return the running update of a set that is otherwise complete."""
    updating = find(pcs.status.conditions, names.CONDITION_UPDATING) if pcs.status else None
    return None if updating is None else Blocker(BlockingReason.UPDATING, updating.message)


def _listed(
    before: PodCliqueSetStatus, gangs: Sequence[GangSummary], now: datetime
) -> list[JsonValue]:
    ordered = sorted(gangs, key=lambda gang: gang.phase in _WELL)[:LISTED_GANGS]
    explained = [gang.name for gang in ordered if gang.blocker is not None][:EXPLAINED_GANGS]
    previous = {gang.name: gang.conditions for gang in before.pod_gang_statuses}
    listed: list[JsonValue] = []
    for gang in ordered:
        entry: JsonObject = {"name": gang.name, "phase": gang.phase.value}
        if gang.blocker is not None and gang.name in explained:
            observation = Observation(now, previous.get(gang.name, ()))
            verdict = Availability(
                gang.phase is GangPhase.RUNNING, gang.blocker.message, blocker=gang.blocker
            )
            entry["conditions"] = rendered(verdict.conditions(observation)[:1])
        listed.append(entry)
    return listed
