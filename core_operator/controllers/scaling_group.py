"""The PodCliques of a PodCliqueScalingGroup: one copy of the group's cliques per replica.

Which PodCliques those are follows from the set and the live size of the group; here they are
made and removed. Scaling in takes the highest copies first, as their numbers say.
"""

from collections.abc import Iterator
from functools import partial

from core_operator.context import CoreContext
from core_operator.plan import naming
from core_operator.plan.expansion import cliques_of_group
from core_operator.plan.podcliques import group_podclique
from core_operator.plan.statuses.reasons import Blocked, Blocking
from core_operator.state import caches as kinds
from core_operator.state.update_turns import Updates
from core_operator.writes.child_writer import (
    Concern,
    Family,
    NamesTaken,
    Wanted,
    WithPods,
    Write,
    is_as_seen,
    own_child,
    seen,
    settle,
    telling,
    unwanted,
)
from core_operator.writes.resource_sharing import Sharing
from shared_api.kube.metadata import ObjectKey
from shared_api.models import PodCliqueScalingGroup, PodCliqueSet
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.watching.owners import identity


class ScalingGroupReconciler:
    """Children of scaling groups."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._updates = Updates(context.view, context.metrics)
        self._view = context.view
        self._applier = applier
        self._cliques = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._sharing = Sharing(context, applier)

    async def reconcile(self, key: ObjectKey) -> None:
        """Make the PodCliques of one group as they should be."""
        found = self._view.caches.groups.get(key)
        pcs = self._view.set_of(found) if found is not None else None
        if found is None or pcs is None or found.metadata.deletion_timestamp is not None:
            return
        expansion = self._view.expansion(pcs)
        instances = cliques_of_group(expansion, key.name)
        if expansion.too_large and not instances:
            raise WaitForEvent(expansion.too_large)
        self._sharing.ensure_possible(pcs)
        owner = identity(kinds.GROUPS, found)
        going = unwanted(self._cliques, owner, (clique.name for clique in instances))
        behalf = Behalf(key, owner)
        try:
            await self._sharing.settle_group(pcs, found.object, behalf)
            wanted = self._wanted(pcs, found.object)
            family = Family(wanted, tuple(WithPods(self._context, clique) for clique in going))
            parallel = self._context.settings.concurrency.writes
            still = partial(is_as_seen, self._view.caches.groups, found)
            with telling(self._context, Concern(found.object, pcs)):
                await settle(family, self._applier, behalf, parallel=parallel, still=still)
        except NamesTaken as error:
            note = f"objects of others have names that are needed: {', '.join(error.taken)}"
            self._context.note_problem(found.object, Blocked(Blocking.CONFLICT, note))
            raise
        self._context.note_problem(found.object, None)

    def _wanted(self, pcs: PodCliqueSet, group: PodCliqueScalingGroup) -> Iterator[Write]:
        owner = naming.controller_reference(group)
        for clique in cliques_of_group(self._view.expansion(pcs), group.metadata.name):
            key = ObjectKey(group.metadata.namespace or "", clique.name)
            live = own_child(self._view.caches.cliques, key, identity(kinds.GROUPS, group))
            replicas = None if live is None else live.object.spec.replicas
            manifest = group_podclique(pcs, clique, owner, replicas)
            present = None if live is None else live.object
            manifest = self._updates.manifest(pcs, clique, present, manifest)
            yield Wanted(self._cliques, seen(live, manifest))
