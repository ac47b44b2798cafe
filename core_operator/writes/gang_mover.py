"""Moves a gang with a placement policy from one backend instance to the next.

The order of the writes survives a crash at any point: what the successor must know is stored first,
then its pods are deleted, then the gang. The gang is deleted in the foreground: it is gone
once the objects of its backend are gone, with or without that backend, and only then can its set
create the successor. So at no time do two backends have the gang.

Pods are deleted only as they were observed without a node. If one was bound meanwhile, the next
reconcile sees it and the gang stays.
"""

from collections.abc import Mapping

from core_operator.context import CoreContext
from core_operator.plan.placement.handover import (
    Handover,
    first_clique_of,
    handover_patch,
    has_left,
)
from core_operator.plan.walk.steps import Step
from core_operator.state import caches as kinds
from core_operator.writes.pod_writer import PodWriter
from shared_api import names
from shared_api.kube.client import Patch, Propagation
from shared_api.models import PodClique, PodCliqueSet, PodGang
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.watching.cache import key_of

EVENT_MOVED = "BackendMoved"


class GangMover:
    """Moves gangs for one controller."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._applier = applier
        self._gangs = Target(kinds.GANGS, context.view.caches.gangs)
        self._cliques = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._pod_writer = PodWriter(context, applier)

    def is_leaving(self, gang: PodGang, cliques: Mapping[str, PodClique]) -> bool:
        """Tell whether a move of this gang has begun."""
        return has_left(gang, first_clique(gang, cliques))

    async def leave(
        self,
        found: Applied[PodGang],
        pcs: PodCliqueSet,
        cliques: Mapping[str, PodClique],
        step: Step,
        behalf: Behalf,
    ) -> None:
        """Withdraw a gang from its instance; its set creates it again for the next one."""
        gang = found.object
        if not self.is_leaving(gang, cliques):
            clique = first_clique(gang, cliques)
            if clique is None:
                raise WaitForEvent(
                    f"the first PodClique of {gang.metadata.name} does not exist yet"
                )
            await self._store(clique, Handover(gang.metadata.uid or "", step.status), behalf)
            self._report(gang, pcs, step)
        pods = [pod for clique in cliques.values() for pod in self._context.view.pods_of(clique)]
        # Gated pods too: while one refers to its PodGroup, kube-scheduler's object does not go.
        await self._pod_writer.withdraw([pod for pod in pods if pod.is_live], behalf)
        await self._applier.delete(self._gangs, found, behalf, propagation=Propagation.FOREGROUND)

    async def settle(self, gang: PodGang, cliques: Mapping[str, PodClique], behalf: Behalf) -> None:
        """Remove what the predecessor left, or what was left by a move that has ended early.

        A bound pod ends a move, and so does a set that names its backend by now. Without this the
        PodCliques would create no pods. The status of the gang must have been written before.
        """
        clique = first_clique(gang, cliques)
        if clique is not None and names.ANNOTATION_HANDOVER in clique.metadata.annotations:
            await self._store(clique, None, behalf)

    async def _store(self, clique: PodClique, handover: Handover | None, behalf: Behalf) -> None:
        observed = self._cliques.cache.get(key_of(clique))
        if observed is None:
            raise WaitForEvent(f"PodClique {clique.metadata.name} is gone")
        patch = Patch(handover_patch(clique, handover))
        await self._applier.patch(self._cliques, observed, patch, behalf)

    def _report(self, gang: PodGang, pcs: PodCliqueSet, step: Step) -> None:
        metrics = self._context.metrics
        metrics.moved.inc()
        if step.outcome is not None:
            metrics.placement_outcomes.labels(step.outcome.value).inc()
        backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        outcome = f" ({step.outcome.value})" if step.outcome is not None else ""
        to = f", next is '{step.leaves_for}'" if step.leaves_for is not None else ""
        note = f"PodGang {gang.metadata.name} leaves backend '{backend}'{outcome}{to}: {step.text}"
        self._context.record_event(pcs, EVENT_MOVED, note)


def first_clique(gang: PodGang, cliques: Mapping[str, PodClique]) -> PodClique | None:
    """Return the PodClique that keeps what a gang leaves for its successor."""
    return cliques.get(first_clique_of(gang))
