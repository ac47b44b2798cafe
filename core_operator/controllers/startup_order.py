"""Lets the pods of a gang start in their order, each when its predecessors are ready.

A controller of its own beside that of gangs: it acts on readiness, of which the release of a
gang must hear nothing. It writes one annotation per pod that has to wait, never twice, and
nothing at all for gangs without an order. Woken by the pod that became ready, and by the one
that got a node after the others were.
"""

from core_operator.context import CoreContext
from core_operator.plan.startup_order import clearance_patch, plan_clearance
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
    """Pods that wait for others."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._pods = Target(PODS, context.view.caches.pods)

    async def reconcile(self, key: ObjectKey) -> None:
        """Let those pods of one gang start whose turn it is."""
        found = self._view.caches.gangs.get(key)
        pcs = self._view.set_of(found) if found is not None else None
        gang = self._view.gang(key.namespace, key.name, pcs) if pcs is not None else None
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
                # Deleted meanwhile, which is no reason to keep the others waiting.
                return

        await slow_start(plan_clearance(cliques, groups), clear, limit=parallel, first=parallel)
