"""The PodCliques of a PodCliqueScalingGroup: its cliques, once for each replica of the group.

Which PodCliques these are follows from the set and the live size of the group. Scaling in removes
the replicas with the highest indexes.
"""

from collections.abc import Iterator
from functools import partial

from core_operator.context import CoreContext
from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import cliques_of_group
from core_operator.plan.manifests.podcliques import group_podclique
from core_operator.state import caches as kinds
from core_operator.state.update_turns import Updates
from core_operator.writes.child_events import record_replica_deletion
from core_operator.writes.child_writer import (
    ChildWriter,
    NamesTaken,
    RefusalReport,
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
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import PodCliqueScalingGroup, PodCliqueSet
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.watching.owners import identity


class ScalingGroupReconciler:
    """Reconciles the PodCliques of scaling groups."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._updates = Updates(context.view)
        self._view = context.view
        self._children = ChildWriter(context, applier)
        self._release = FinalizerRelease(applier)
        self._groups = Target(kinds.GROUPS, context.view.caches.groups)
        self._cliques = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._sharing = Sharing(context, applier)

    async def reconcile(self, key: ObjectKey) -> None:
        """Write the PodCliques of one group, and delete those that it no longer has."""
        found = self._view.caches.groups.get(key)
        await self._release.of(self._groups, found, key)
        pcs = self._view.set_of(found)
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
            gangs = unwanted_gangs(self._context, pcs) if going else {}
            gone = tuple(PodCliqueRemoval(self._context, clique, gangs) for clique in going)
            report = RefusalReport(found.object, pcs)
            still = partial(is_current, self._view.caches.groups, found)
            await self._children.settle(wanted, gone, report, behalf, still=still)
            labels = (one.observed.metadata.labels for one in going)
            indexes = {found.get(names.LABEL_PCSG_REPLICA_INDEX, "") for found in labels}
            for index in sorted(indexes):
                subject = f"replica {index} of {key.name}"
                record_replica_deletion(self._context, pcs, subject, is_of_set=False)
        except NamesTaken as error:
            self._context.report_problem(found.object, error.problem)
            raise
        self._context.report_problem(found.object, None)

    def _wanted(self, pcs: PodCliqueSet, group: PodCliqueScalingGroup) -> Iterator[Write]:
        owner = naming.controller_reference(group)
        for clique in cliques_of_group(self._view.expansion(pcs), group.metadata.name):
            key = ObjectKey(group.metadata.namespace or "", clique.name)
            live = own_child(self._view.caches.cliques, key, identity(kinds.GROUPS, group))
            replicas = None if live is None else live.object.spec.replicas
            manifest = group_podclique(pcs, clique, owner, replicas)
            present = None if live is None else live.object
            manifest = self._updates.manifest(pcs, clique, present, manifest)
            yield Wanted(self._cliques, if_unchanged(live, manifest))
