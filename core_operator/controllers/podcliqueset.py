"""From a PodCliqueSet to its children: one reconcile makes all of them as they should be.

It owns PodCliques that stand alone, scaling groups, Services, the revision, and which PodGangs
exist. What is in a PodGang after its creation belongs to the gang's own reconciler, and sizes
of PodCliques and scaling groups to whoever scales them. No child waits for another: all are
written side by side, replica by replica.
"""

from collections.abc import Iterator
from functools import partial

from core_operator.context import CoreContext
from core_operator.plan import history, naming, revisions
from core_operator.plan.expansion import (
    Expansion,
    GangInstance,
    clashing_names,
    standalone_cliques,
)
from core_operator.plan.gangs import gang_manifest
from core_operator.plan.placement import placement_of
from core_operator.plan.podcliques import standalone_podclique
from core_operator.plan.scaling_groups import scaling_group
from core_operator.plan.services import headless_service
from core_operator.plan.statuses.reasons import Blocked, Blocking
from core_operator.state import caches as kinds
from core_operator.state.update_turns import Updates
from core_operator.writes.autoscalers import Autoscaling
from core_operator.writes.child_writer import (
    Concern,
    Family,
    NamesTaken,
    Removal,
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
from shared_api.kube.resources import CONTROLLER_REVISIONS, SERVICES
from shared_api.models import PodCliqueSet
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Terminal
from shared_api.runtime.watching.owners import identity


class PodCliqueSetReconciler:
    """Children of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._updates = Updates(context.view, context.metrics)
        self._view = context.view
        self._applier = applier
        caches = context.view.caches
        self._cliques = Target(kinds.CLIQUES, caches.cliques)
        self._groups = Target(kinds.GROUPS, caches.groups)
        self._gangs = Target(kinds.GANGS, caches.gangs)
        self._services = Target(SERVICES, caches.services)
        self._revisions = Target(CONTROLLER_REVISIONS, caches.revisions)
        self._autoscaling = Autoscaling(context, applier)
        self._sharing = Sharing(context, applier)

    async def reconcile(self, key: ObjectKey) -> None:
        """Make the children of one set as they should be."""
        found = self._view.caches.sets.get(key)
        pcs = self._view.live_set(found.metadata.uid) if found is not None else None
        if pcs is None:
            return
        expansion = self._view.expansion(pcs)
        if expansion.too_large:
            self._context.note_problem(pcs, Blocked(Blocking.TOO_LARGE, expansion.too_large))
            raise Terminal(expansion.too_large)
        if clashes := clashing_names(expansion):
            note = f"two cliques would have one name: {', '.join(clashes)}"
            self._context.note_problem(pcs, Blocked(Blocking.CONFLICT, note))
            raise Terminal(note)
        self._sharing.ensure_possible(pcs)
        family = Family(self._wanted(pcs, expansion), tuple(self._unwanted(pcs, expansion)))
        behalf = Behalf(key, identity(kinds.SETS, pcs))
        try:
            await self._sharing.settle_set(pcs, behalf)
            parallel = self._context.settings.concurrency.writes
            still = partial(is_as_seen, self._view.caches.sets, pcs)
            with telling(self._context, Concern(pcs, pcs)):
                await settle(family, self._applier, behalf, parallel=parallel, still=still)
            await self._autoscaling.settle(pcs, expansion, behalf)
        except NamesTaken as error:
            note = f"objects of others have names that are needed: {', '.join(error.taken)}"
            self._context.note_problem(pcs, Blocked(Blocking.CONFLICT, note))
            raise
        self._context.note_problem(pcs, None)

    def _wanted(self, pcs: PodCliqueSet, expansion: Expansion) -> Iterator[Write]:
        topology = self._view.topology(pcs)
        for gang in expansion.gangs:
            # A gang and what fills it side by side: then the first gangs are complete, and
            # their pods on the way to a node, while the last ones are still being made.
            if self._view.gang(pcs.metadata.namespace, gang.name, pcs) is None:
                labels = self._view.first_choice(pcs, gang).labels
                placement = placement_of(pcs, gang, topology)
                manifest = gang_manifest(pcs, gang, {}, labels, placement=placement)
                yield Wanted(self._gangs, manifest)
            yield from self._standalone(pcs, gang)
            if gang.base is None:
                yield Wanted(self._services, headless_service(pcs, gang.pcs_index))
        for group in expansion.groups:
            key = ObjectKey(pcs.metadata.namespace or "", group.name)
            live = own_child(self._view.caches.groups, key, identity(kinds.SETS, pcs))
            yield Wanted(self._groups, seen(live, scaling_group(pcs, group)))
        # Nothing waits for it.
        yield from self._revision(pcs)

    def _standalone(self, pcs: PodCliqueSet, gang: GangInstance) -> Iterator[Write]:
        owner = naming.controller_reference(pcs)
        for clique in gang.cliques:
            if clique.group is None:
                key = ObjectKey(pcs.metadata.namespace or "", clique.name)
                live = own_child(self._view.caches.cliques, key, identity(kinds.SETS, pcs))
                known = self._autoscaling.size(key, clique.template, pcs)
                replicas = known if live is None else live.object.spec.replicas
                manifest = standalone_podclique(pcs, clique, owner, replicas)
                present = None if live is None else live.object
                manifest = self._updates.manifest(pcs, clique, present, manifest)
                yield Wanted(self._cliques, seen(live, manifest))

    def _revision(self, pcs: PodCliqueSet) -> Iterator[Write]:
        stored = self._view.revisions_of(pcs)
        digest = self._view.revision_hash(pcs)
        # Its data never changes, so one that is there is right.
        if naming.revision_name(pcs.metadata.name, digest) in stored:
            return
        numbers = {name: revision.number for name, revision in stored.items()}
        hashes = history.template_hashes(pcs, stored.values())
        yield Wanted(
            self._revisions,
            revisions.revision_manifest(
                pcs,
                revisions.revision_number(pcs, numbers, digest),
                history.hashes_annotation(digest, hashes),
            ),
        )

    def _unwanted(self, pcs: PodCliqueSet, expansion: Expansion) -> Iterator[Removal]:
        owner, name = identity(kinds.SETS, pcs), pcs.metadata.name
        services = (naming.service_name(name, index) for index in range(pcs.spec.replicas))
        gangs = (gang.name for gang in expansion.gangs)
        groups = (group.name for group in expansion.groups)
        cliques = (clique.name for clique in standalone_cliques(expansion))
        # Gangs last: while a PodClique exists, its pods belong to a gang that does.
        for clique in unwanted(self._cliques, owner, cliques):
            yield WithPods(self._context, clique)
        yield from unwanted(self._groups, owner, groups)
        yield from unwanted(self._services, owner, services)
        yield from unwanted(self._gangs, owner, gangs)
        stored = self._view.revisions_of(pcs)
        current = naming.revision_name(name, self._view.revision_hash(pcs))
        kept = set(stored) - set(history.superfluous(stored, current))
        yield from unwanted(self._revisions, owner, kept)
