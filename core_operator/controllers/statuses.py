"""The statuses of PodCliques, scaling groups and sets, each written by a controller of its own.

They only look and tell: nothing that makes or deletes anything depends on them. Their queues
are fed with a delay, so that a burst of events is one write. A set is summed up no more often
than its size allows, since its status grows with it.
"""

from collections.abc import Mapping
from datetime import datetime

from core_operator.context import CoreContext
from core_operator.plan.placement import placement_of, remark_on_wishes
from core_operator.plan.pods import is_live
from core_operator.plan.statuses.breach import Tolerance, recheck_at
from core_operator.plan.statuses.podclique import podclique_status
from core_operator.plan.statuses.podcliqueset import SetState, podcliqueset_status
from core_operator.plan.statuses.reasons import Blocked
from core_operator.plan.statuses.scaling_group import is_available, scaling_group_status
from core_operator.plan.statuses.topology import NO_TOPOLOGY, TopologyState, is_news, outdated
from core_operator.plan.statuses.unreadable import unreadable_status
from core_operator.state import caches as kinds
from core_operator.state.caches import GROUPS, OWNER, SETS
from core_operator.state.gang_summaries import Summaries
from core_operator.state.update_turns import Updates
from core_operator.watches.debounce import OnTheWay
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.unreadable import Unreadable
from shared_api.models import JsonObject, KubeObject, PodClique, PodCliqueSet, PodCliqueStatus
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.owners import controller_of, identity

_SECONDS_PER_GANG = 0.016
_LONGEST_PAUSE = 5.0


class PodCliqueStatusReconciler:
    """How PodCliques fare."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._updates = Updates(context.view, context.metrics)
        self._applier = applier
        self._target = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._delay = context.settings.timing.progress_delay_seconds
        self.on_the_way = OnTheWay(context.clock, self._delay)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Tell of one PodClique."""
        found = self._view.caches.cliques.get(key)
        pcs = self._view.set_of(found) if found is not None else None
        if found is None or pcs is None or found.metadata.deletion_timestamp is not None:
            self.on_the_way.arrived(key)
            return None
        clique = found.object
        # Whoever woke us for progress has waited once already.
        if self._is_on_the_way(clique) and (
            (rest := self.on_the_way.rest(key, waited=self._delay)) > 0
        ):
            return Result(requeue_after=rest)
        self.on_the_way.arrived(key)
        course = self._updates.course(pcs, clique, self._context.selections.of(clique))
        name = clique.metadata.labels.get(names.LABEL_PODGANG, "")
        status = podclique_status(
            clique,
            self._view.pods_of(clique),
            self._view.gang(key.namespace, name, pcs),
            self._context.now(),
            self._context.problems.get(clique.metadata.uid or ""),
            course,
        )
        behalf = Behalf(key, controller_of(found))
        await self._applier.apply_status(self._target, status_of(clique, status), behalf)
        if (again := _recheck_at(status, course.tolerance)) is None:
            return None
        return Result(requeue_after=max(0.0, (again - self._context.now()).total_seconds()))

    def _is_on_the_way(self, clique: PodClique) -> bool:
        """Tell whether nothing but how far it has come could be told of a PodClique."""
        if clique.metadata.uid in self._context.problems or is_available(clique):
            return False
        status = clique.status
        if status is not None and status.observed_generation != clique.metadata.generation:
            return False
        live = (pod for pod in self._view.pods_of(clique) if is_live(pod))
        return sum(pod.is_ready for pod in live) < clique.spec.minimum


class ScalingGroupStatusReconciler:
    """How scaling groups fare."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._updates = Updates(context.view, context.metrics)
        self._applier = applier
        self._target = Target(kinds.GROUPS, context.view.caches.groups)

    async def reconcile(self, key: ObjectKey) -> None:
        """Tell of one scaling group."""
        found = self._view.caches.groups.get(key)
        pcs = self._view.set_of(found) if found is not None else None
        if found is None or pcs is None or found.metadata.deletion_timestamp is not None:
            return
        members = self._view.caches.cliques.by_index(OWNER, identity(GROUPS, found))
        cliques = [member.object for member in members]
        update = self._updates.group_update(pcs, key.name)
        status = scaling_group_status(found.object, cliques, self._context.now(), update)
        behalf = Behalf(key, controller_of(found))
        await self._applier.apply_status(self._target, status_of(found.object, status), behalf)


class PodCliqueSetStatusReconciler:
    """How sets fare."""

    def __init__(self, context: CoreContext, applier: Applier, summaries: Summaries) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._summaries = summaries
        self._target = Target(kinds.SETS, context.view.caches.sets)
        self._looked_at: dict[str, float] = {}

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Tell of one set."""
        if (unreadable := self._view.caches.sets.unreadable.get(key)) is not None:
            await self._report_unreadable(key, unreadable)
            return None
        found = self._view.caches.sets.get(key)
        pcs = self._view.live_set(found.metadata.uid) if found is not None else None
        if pcs is None:
            self._forget_the_gone()
            return None
        if (rest := self._rest(pcs)) > 0:
            return Result(requeue_after=rest)
        state = SetState(
            self._view.expansion(pcs),
            self._view.all_cliques(pcs),
            self._summaries.of(pcs),
            problem=self._problem(pcs),
            topology=self._topology(pcs),
        )
        status = podcliqueset_status(pcs, state, self._context.now())
        # Forced: these fields are core's by contract, also after somebody else wrote them.
        behalf = Behalf(key, force=True)
        await self._applier.apply_status(self._target, status_of(pcs, status), behalf)
        self._tell(pcs, state.topology)
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
        if not topology.is_asked_for:
            return NO_TOPOLOGY
        found = (
            (self._view.gang(pcs.metadata.namespace, gang.name, pcs), gang)
            for gang in self._view.expansion(pcs).gangs
        )
        gangs = (
            (gang, placement_of(pcs, wanted, topology))
            for gang, wanted in found
            if gang is not None
        )
        backend = self._view.backends().get(
            self._view.choice(pcs, None, released=False).backend or ""
        )
        remark = remark_on_wishes(pcs, backend) if backend is not None else ""
        return TopologyState(topology, outdated(gangs), remark)

    def _tell(self, pcs: PodCliqueSet, state: TopologyState) -> None:
        if is_news(state, pcs.status.conditions if pcs.status is not None else ()):
            topology = state.topology
            warning = topology.unavailable is not False
            self._context.tell(pcs, topology.reason, topology.message, warning=warning)

    def _rest(self, pcs: PodCliqueSet) -> float:
        """Seconds until this set may be summed up again."""
        uid, now = pcs.metadata.uid or "", self._context.clock.monotonic()
        pause = min(_SECONDS_PER_GANG * len(self._view.expansion(pcs).gangs), _LONGEST_PAUSE)
        rest = self._looked_at.get(uid, now - pause) + pause - now
        if rest <= 0:
            self._looked_at[uid] = now
        return rest

    def _problem(self, pcs: PodCliqueSet) -> Blocked | None:
        if not self._context.problems:
            return None
        gangs = self._view.caches.gangs.by_index(OWNER, identity(SETS, pcs))
        groups = self._view.groups_of(pcs)
        parts = (*(group.metadata.uid for group in groups), *(gang.metadata.uid for gang in gangs))
        problems = (self._context.problems.get(uid or "") for uid in (pcs.metadata.uid, *parts))
        return next((problem for problem in problems if problem is not None), None)

    def _forget_the_gone(self) -> None:
        for uid in [uid for uid in self._looked_at if self._view.live_set(uid) is None]:
            del self._looked_at[uid]


def _recheck_at(status: JsonObject, tolerance: Tolerance) -> datetime | None:
    conditions = status["conditions"]
    assert isinstance(conditions, list)
    kind = names.CONDITION_GANG_TERMINATION_PENDING
    if not any(isinstance(found, dict) and found["type"] == kind for found in conditions):
        # Hardly any PodClique counts down, and reading all that was written costs more.
        return None
    return recheck_at(PodCliqueStatus.model_validate(status).conditions, tolerance)


def status_of(about: KubeObject, status: JsonObject) -> Mapping[str, object]:
    """The manifest that applies a status."""
    metadata = {"name": about.metadata.name}
    if about.metadata.namespace:
        metadata["namespace"] = about.metadata.namespace
    return {
        "apiVersion": about.API_VERSION,
        "kind": about.KIND,
        "metadata": metadata,
        "status": status,
    }
