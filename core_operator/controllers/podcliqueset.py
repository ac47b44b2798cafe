"""From a PodCliqueSet to its children: one reconcile writes all of them.

It writes PodCliques that are in no scaling group, scaling groups, Services, the revision, and
creates and deletes PodGangs. It never changes an existing PodGang, which has its own controller,
nor the sizes of PodCliques and scaling groups, which users and autoscalers set. No child waits for
another: all are written in parallel, replica by replica.
"""

from collections.abc import Iterator
from functools import partial

from core_operator.context import CoreContext
from core_operator.plan.layout import history, naming, revisions
from core_operator.plan.layout.expansion import (
    Expansion,
    GangInstance,
    clashing_names,
    standalone_cliques,
)
from core_operator.plan.manifests.compute_domains import COMPUTE_DOMAINS
from core_operator.plan.manifests.podcliques import standalone_podclique
from core_operator.plan.manifests.podgangs import gang_manifest
from core_operator.plan.manifests.scaling_groups import scaling_group
from core_operator.plan.manifests.services import headless_service
from core_operator.plan.placement.gang_placement import wanted_placement
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from core_operator.state import caches as kinds
from core_operator.state.caches import OWNER
from core_operator.state.gang_places import GangPlaces
from core_operator.state.update_turns import Updates
from core_operator.writes.autoscalers import Autoscaling
from core_operator.writes.child_writer import (
    ChildWriter,
    NamesTaken,
    RefusalReport,
    Removal,
    Wanted,
    Write,
    if_unchanged,
    is_current,
    own_child,
    unwanted,
)
from core_operator.writes.finalizer_release import FinalizerRelease
from core_operator.writes.pod_writer import PodCliqueRemoval, unwanted_gangs
from core_operator.writes.resource_sharing import Sharing
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import CONTROLLER_REVISIONS, SERVICES
from shared_api.models import PodCliqueSet
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Terminal
from shared_api.runtime.watching.owners import identity


class PodCliqueSetReconciler:
    """Reconciles the children of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._updates = Updates(context.view)
        self._view = context.view
        self._places = GangPlaces(context.view)
        self._children = ChildWriter(context, applier)
        caches = context.view.caches
        self._release = FinalizerRelease(applier)
        self._sets = Target(kinds.SETS, caches.sets)
        self._domains = Target(COMPUTE_DOMAINS, caches.domains)
        self._cliques = Target(kinds.CLIQUES, caches.cliques)
        self._groups = Target(kinds.GROUPS, caches.groups)
        self._gangs = Target(kinds.GANGS, caches.gangs)
        self._services = Target(SERVICES, caches.services)
        self._revisions = Target(CONTROLLER_REVISIONS, caches.revisions)
        self._autoscaling = Autoscaling(context, applier)
        self._sharing = Sharing(context, applier)

    async def reconcile(self, key: ObjectKey) -> None:
        """Write the children of one set, and delete those that it no longer has."""
        await self._release.of(self._sets, self._view.caches.sets.get(key), key)
        pcs = self._view.live_set(key)
        if pcs is None:
            return
        for domain in self._view.caches.domains.by_index(OWNER, identity(kinds.SETS, pcs)):
            await self._release.of(self._domains, domain, key)
        expansion = self._view.expansion(pcs)
        if expansion.too_large:
            self._context.report_problem(
                pcs, Blocker(BlockingReason.TOO_LARGE, expansion.too_large)
            )
            raise Terminal(expansion.too_large)
        if clashes := clashing_names(expansion):
            note = f"Cliques would have the same name: {', '.join(clashes)}. Rename one of them"
            self._context.report_problem(pcs, Blocker(BlockingReason.CONFLICT, note))
            raise Terminal(note)
        self._sharing.ensure_possible(pcs)
        gone = tuple(self._unwanted(pcs, expansion))
        behalf = Behalf(key, identity(kinds.SETS, pcs))
        try:
            await self._sharing.settle_set(pcs, behalf)
            wanted, report = self._wanted(pcs, expansion), RefusalReport(pcs, pcs)
            still = partial(is_current, self._view.caches.sets, pcs)
            await self._children.settle(wanted, gone, report, behalf, still=still)
            await self._autoscaling.settle(pcs, expansion, behalf)
        except NamesTaken as error:
            self._context.report_problem(pcs, error.problem)
            raise
        self._context.report_problem(pcs, None)

    def _wanted(self, pcs: PodCliqueSet, expansion: Expansion) -> Iterator[Write]:
        topology = self._view.topology(pcs)
        for gang in expansion.gangs:
            # A gang and its PodCliques are written together: the first gangs are complete and being
            # scheduled while the last ones are still being created.
            wanted = self._view.wanted_gang(pcs, gang)
            if wanted.cliques and self._view.gang(gang.name, pcs) is None:
                choice = self._places.first_choice(pcs, wanted, self._context.now())
                placement = wanted_placement(pcs, wanted, topology)
                yield Wanted(self._gangs, gang_manifest(pcs, wanted, choice, placement))
            yield from self._standalone(pcs, gang)
            if gang.base is None:
                yield Wanted(self._services, headless_service(pcs, gang.pcs_index))
        for group in expansion.groups:
            key = ObjectKey(pcs.metadata.namespace or "", group.name)
            live = own_child(self._view.caches.groups, key, identity(kinds.SETS, pcs))
            yield Wanted(self._groups, if_unchanged(live, scaling_group(pcs, group)))
        # The revision comes last, since nothing waits for it.
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
                yield Wanted(self._cliques, if_unchanged(live, manifest))

    def _revision(self, pcs: PodCliqueSet) -> Iterator[Write]:
        stored = self._view.revisions_of(pcs)
        digest = self._view.revision_hash(pcs)
        # Its data never changes, so a revision that exists is right.
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
                digest,
            ),
        )

    def _unwanted(self, pcs: PodCliqueSet, expansion: Expansion) -> Iterator[Removal]:
        owner, name = identity(kinds.SETS, pcs), pcs.metadata.name
        services = (naming.service_name(name, index) for index in range(pcs.spec.replicas))
        groups = (group.name for group in expansion.groups)
        cliques = (clique.name for clique in standalone_cliques(expansion))
        gangs = unwanted_gangs(self._context, pcs)
        for clique in unwanted(self._cliques, owner, cliques):
            yield PodCliqueRemoval(self._context, clique, gangs)
        yield from unwanted(self._groups, owner, groups)
        yield from gangs.values()
        yield from unwanted(self._services, owner, services)
        stored = self._view.revisions_of(pcs)
        current = naming.revision_name(name, self._view.revision_hash(pcs))
        kept = set(stored) - set(history.expired_revisions(stored, current))
        yield from unwanted(self._revisions, owner, kept)
