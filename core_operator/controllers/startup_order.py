"""Lets the pods of a gang start in their order, each when its predecessors are ready.

This controller is separate from that of gangs, because it acts on readiness, which is no reason to
reconcile a gang. It writes one annotation on each pod that waits, never twice, and nothing for
gangs without an order.
"""

from core_operator.context import CoreContext
from core_operator.plan.pods.startup_order import clearance_patch, plan_clearance
from core_operator.state.caches import SETS
from shared_api.kube.client import Patch
from shared_api.kube.errors import NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.owners import identity


class StartupOrderReconciler:
    """Reconciles the start-up order of gangs."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._pods = Target(PODS, context.view.caches.pods)

    async def reconcile(self, key: ObjectKey) -> None:
        """Let those pods of one gang start whose predecessors are ready."""
        found = self._view.caches.gangs.get(key)
        pcs = self._view.set_of(found)
        gang = self._view.gang(key.name, pcs) if pcs is not None else None
        if gang is None or pcs is None:
            return
        cliques = self._view.cliques_of(gang, pcs)
        if not any(clique.spec.starts_after for clique in cliques.values()):
            return
        groups = self._view.group_pods(gang, cliques)
        behalf = Behalf(key, identity(SETS, pcs))
        parallel = self._context.settings.concurrency.writes

        async def clear(pod: Pod) -> None:
            try:
                await self._applier.patch(self._pods, pod, Patch(clearance_patch(pod)), behalf)
            except NotFound:
                # It was deleted meanwhile; the other pods must not wait for that.
                return

        await slow_start(plan_clearance(cliques, groups), clear, limit=parallel, first=parallel)
