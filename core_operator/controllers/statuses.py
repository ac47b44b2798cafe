"""The statuses of PodCliques, scaling groups and sets, each written by a controller of its own.

They only observe and report: nothing that creates or deletes objects depends on them. Their keys
are added with a delay, so that a burst of events is one write. The interval between two writes of a
set's status grows with the set, since the status does too.
"""

from collections.abc import Mapping
from datetime import datetime

from core_operator.context import CoreContext
from core_operator.controllers.job_events import record_ending
from core_operator.plan.jobs.modes import is_job
from core_operator.plan.jobs.runs import ending_in
from core_operator.plan.manifests.autoscalers import rival_autoscalers
from core_operator.plan.placement.gang_placement import ignored_preferences, wanted_placement
from core_operator.plan.statuses.breach import Tolerance, recheck_at
from core_operator.plan.statuses.podclique import podclique_status
from core_operator.plan.statuses.podcliqueset import SetState, podcliqueset_status
from core_operator.plan.statuses.reasons import Blocker
from core_operator.plan.statuses.scaling_group import is_available, scaling_group_status
from core_operator.plan.statuses.topology import NO_TOPOLOGY, TopologyState, needs_event, outdated
from core_operator.plan.statuses.unreadable import unreadable_status
from core_operator.state import caches as kinds
from core_operator.state.caches import GROUPS, OWNER, SETS
from core_operator.state.gang_summaries import Summaries
from core_operator.state.update_turns import Updates
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.unreadable import Unreadable
from shared_api.models import (
    Condition,
    JsonObject,
    KubeObject,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodCliqueStatus,
)
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.queueing.debounce import Debouncer, MinimumInterval
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.owners import controller_of, identity

EVENT_ALL_LOST = "AllScheduledReplicasLost"

_SECONDS_PER_GANG = 0.016
_LONGEST_INTERVAL = 5.0


class PodCliqueStatusReconciler:
    """Writes the statuses of PodCliques."""

    def __init__(
        self, context: CoreContext, applier: Applier, postponed: Debouncer[ObjectKey]
    ) -> None:
        self._context = context
        self._view = context.view
        self._updates = Updates(context.view)
        self._applier = applier
        self._target = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._delay = context.settings.timing.progress_delay_seconds
        self._postponed = postponed

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the status of one PodClique."""
        found = self._view.caches.cliques.get(key)
        pcs = self._view.set_of(found)
        if found is None or pcs is None or found.metadata.deletion_timestamp is not None:
            self._postponed.done(key)
            return None
        clique = found.object
        # The watch has delayed the key once already.
        if self._is_progress(clique) and (
            (wait := self._postponed.remaining(key, ago=self._delay)) > 0
        ):
            return Result(requeue_after=wait)
        self._postponed.done(key)
        policy = self._updates.policy(pcs, clique, self._context.selections.of(clique))
        name = clique.metadata.labels.get(names.LABEL_PODGANG, "")
        status = podclique_status(
            clique,
            self._view.pods_of(clique),
            self._view.gang(name, pcs),
            self._context.now(),
            self._context.problems.of(clique.metadata.uid),
            policy,
        )
        behalf = Behalf(key, controller_of(found))
        await self._applier.apply_status(self._target, status_of(clique, status), behalf)
        if policy.run.ends:
            record_ending(self._context, clique, ending_in(_conditions(status)))
        elif has_lost_all(clique, status):
            self._context.record_event(clique, EVENT_ALL_LOST, "no pod is scheduled", warning=True)
        if (again := _recheck_at(status, policy.tolerance)) is None:
            return None
        return Result(requeue_after=max(0.0, (again - self._context.now()).total_seconds()))

    def _is_progress(self, clique: PodClique) -> bool:
        """Tell whether the status of a PodClique would only report progress."""
        if self._context.problems.of(clique.metadata.uid) or is_available(clique):
            return False
        status = clique.status
        if status is not None and status.observed_generation != clique.metadata.generation:
            return False
        pods = self._view.pods_of(clique)
        if is_job(clique) and any(pod.has_ended for pod in pods):
            return False
        return sum(pod.is_live and pod.is_ready for pod in pods) < clique.spec.minimum


class ScalingGroupStatusReconciler:
    """Writes the statuses of scaling groups."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._updates = Updates(context.view)
        self._applier = applier
        self._target = Target(kinds.GROUPS, context.view.caches.groups)

    async def reconcile(self, key: ObjectKey) -> None:
        """Write the status of one scaling group."""
        found = self._view.caches.groups.get(key)
        pcs = self._view.set_of(found)
        if found is None or pcs is None or found.metadata.deletion_timestamp is not None:
            return
        members = self._view.caches.cliques.by_index(OWNER, identity(GROUPS, found))
        cliques = [member.object for member in members]
        update = self._updates.group_update(pcs, key.name)
        problem = self._context.problems.of(found.metadata.uid)
        ending = self._view.ending_of_group(found.object, pcs)
        status = scaling_group_status(
            found.object, cliques, self._context.now(), update, problem, ending
        )
        behalf = Behalf(key, controller_of(found))
        await self._applier.apply_status(self._target, status_of(found.object, status), behalf)
        if ending is None and has_lost_all(found.object, status):
            note = "no replica is scheduled"
            self._context.record_event(found.object, EVENT_ALL_LOST, note, warning=True)


class PodCliqueSetStatusReconciler:
    """Writes the statuses of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._summaries = Summaries(context.view, context.metrics)
        self._target = Target(kinds.SETS, context.view.caches.sets)
        self._interval: MinimumInterval[ObjectKey] = MinimumInterval(context.clock)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the status of one set."""
        if (unreadable := self._view.caches.sets.unreadable.get(key)) is not None:
            await self._report_unreadable(key, unreadable)
            return None
        pcs = self._view.live_set(key)
        if pcs is None:
            self._interval.forget(key)
            return None
        gangs = len(self._view.expansion(pcs).gangs)
        interval = min(_SECONDS_PER_GANG * gangs, _LONGEST_INTERVAL)
        if (wait := self._interval.remaining(key, interval)) > 0:
            return Result(requeue_after=wait)
        self._interval.start(key)
        state = SetState(
            self._view.expansion(pcs),
            self._view.all_cliques(pcs),
            self._summaries.of(pcs),
            problem=self._problem(pcs),
            topology=self._topology(pcs),
            rivals=self._rivals(pcs),
            groups={group.metadata.name: group for group in self._view.groups_of(pcs)},
        )
        status = podcliqueset_status(pcs, state, self._context.now())
        # Forced: these fields belong to core, also after another client wrote them.
        behalf = Behalf(key, force=True)
        await self._applier.apply_status(self._target, status_of(pcs, status), behalf)
        self._record_topology_event(pcs, state.topology)
        return None

    async def _report_unreadable(self, key: ObjectKey, value: Unreadable) -> None:
        status = unreadable_status(value, self._context.now())
        if status is not None and value.metadata.deletion_timestamp is None:
            manifest = {
                "apiVersion": PodCliqueSet.API_VERSION,
                "kind": PodCliqueSet.KIND,
                "metadata": {"name": key.name, "namespace": key.namespace},
                "status": status,
            }
            await self._applier.apply_status(self._target, manifest, Behalf(key))

    def _topology(self, pcs: PodCliqueSet) -> TopologyState:
        topology = self._view.topology(pcs)
        if not topology.is_constrained:
            return NO_TOPOLOGY
        found = (
            (self._view.gang(gang.name, pcs), gang) for gang in self._view.expansion(pcs).gangs
        )
        gangs = (
            (gang, wanted_placement(pcs, self._view.wanted_gang(pcs, wanted), topology))
            for gang, wanted in found
            if gang is not None
        )
        backend = self._view.backends().get(
            self._view.choice(pcs, None, released=False).backend or ""
        )
        remark = ignored_preferences(pcs, backend) if backend is not None else ""
        return TopologyState(topology, outdated(gangs), remark)

    def _rivals(self, pcs: PodCliqueSet) -> str:
        found = self._view.caches.autoscalers.by_index(OWNER, identity(SETS, pcs))
        return rival_autoscalers(one.object for one in found)

    def _record_topology_event(self, pcs: PodCliqueSet, state: TopologyState) -> None:
        if needs_event(state, pcs.status.conditions if pcs.status is not None else ()):
            topology = state.topology
            warning = topology.unavailable is not False
            self._context.record_event(pcs, topology.reason, topology.message, warning=warning)

    def _problem(self, pcs: PodCliqueSet) -> Blocker | None:
        if not self._context.problems:
            return None
        gangs = self._view.caches.gangs.by_index(OWNER, identity(SETS, pcs))
        groups = self._view.groups_of(pcs)
        parts = (*(group.metadata.uid for group in groups), *(gang.metadata.uid for gang in gangs))
        problems = (self._context.problems.of(uid) for uid in (pcs.metadata.uid, *parts))
        return next((problem for problem in problems if problem is not None), None)


def has_lost_all(about: PodClique | PodCliqueScalingGroup, status: JsonObject) -> bool:
    """Tell whether nothing is scheduled any more; an object that is scaled to 0 has lost nothing."""
    had = about.status is not None and about.status.scheduled_replicas > 0
    return had and not status["scheduledReplicas"] and about.spec.replicas > 0


def _conditions(status: JsonObject) -> tuple[Condition, ...]:
    return PodCliqueStatus.model_validate(status).conditions


def _recheck_at(status: JsonObject, tolerance: Tolerance) -> datetime | None:
    conditions = status["conditions"]
    assert isinstance(conditions, list)
    kind = names.CONDITION_GANG_TERMINATION_PENDING
    if not any(isinstance(found, dict) and found["type"] == kind for found in conditions):
        # Few PodCliques have a countdown, and validating the whole status costs more.
        return None
    return recheck_at(_conditions(status), tolerance)


def status_of(about: KubeObject, status: JsonObject) -> Mapping[str, object]:
    """Return the manifest that applies a status."""
    metadata = {"name": about.metadata.name}
    if about.metadata.namespace:
        metadata["namespace"] = about.metadata.namespace
    return {
        "apiVersion": about.API_VERSION,
        "kind": about.KIND,
        "metadata": metadata,
        "status": status,
    }
