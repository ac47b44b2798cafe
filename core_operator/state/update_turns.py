"""Updates, for reconcilers: which replica is updated, and which pods are replaced now.

Every answer is computed from the caches, so it is as fresh as the pods. Only the replica that is
being updated is remembered, in the set's status. This module does not protect minAvailable:
`PodWriter` does, before it deletes.
"""

from core_operator.plan.jobs.modes import has_jobs
from core_operator.plan.layout.expansion import (
    CliqueInstance,
    clique_named,
    cliques_of_group,
)
from core_operator.plan.pods.replicas import (
    CliqueFacts,
    GroupFacts,
    ReplicaFacts,
    clique_facts,
    group_facts,
    replica_facts,
)
from core_operator.plan.statuses.breach import Tolerance
from core_operator.plan.statuses.podclique import SetPolicy
from core_operator.plan.statuses.update_progress import GroupUpdate, TargetRevision
from core_operator.plan.termination import termination_delay
from core_operator.plan.updates.rolling import (
    clique_limit,
    group_limit,
    pods_to_replace,
    replicas_to_replace,
    updating_replica,
    with_live_template,
)
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique, PodCliqueSet


class Updates:
    """The updates of sets."""

    def __init__(self, view: View) -> None:
        self._view = view

    def replicas(self, pcs: PodCliqueSet) -> tuple[ReplicaFacts, ...]:
        """Return all replicas of a set."""
        cliques = self._view.expansion(pcs).cliques
        return replica_facts(cliques, lambda instance: self._facts(pcs, instance))

    def group(self, pcs: PodCliqueSet, name: str) -> GroupFacts | None:
        """Return a scaling group of a set, by its full name."""
        instances = cliques_of_group(self._view.expansion(pcs), name)
        found = group_facts(instances, lambda instance: self._facts(pcs, instance))
        return found[0] if found else None

    def turn(self, pcs: PodCliqueSet) -> int | None:
        """Return the index of the replica that is being updated."""
        return updating_replica(pcs, self._view.revision_hash(pcs))

    def manifest(
        self,
        pcs: PodCliqueSet,
        instance: CliqueInstance,
        live: PodClique | None,
        manifest: JsonObject,
    ) -> JsonObject:
        """Return the manifest of a PodClique, with its live template until it may be updated."""
        # A job keeps the templates that it started with.
        if live is None or not (pcs.spec.updates_automatically or has_jobs(pcs)):
            return manifest
        present = live.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
        if present == instance.template_hash or not self._is_known(pcs, instance, present):
            return manifest
        return manifest if self._may_change(pcs, instance) else with_live_template(manifest, live)

    def step(self, pcs: PodCliqueSet, podclique: PodClique) -> tuple[Pod, ...]:
        """Return the pods of a PodClique that its update replaces now."""
        instance = clique_named(self._view.expansion(pcs), podclique.metadata.name)
        if instance is None or self.turn(pcs) != instance.pcs_index:
            return ()
        facts = self._facts(pcs, instance)
        if instance.group is None:
            return pods_to_replace(facts, clique_limit(instance.template))
        group = self.group(pcs, instance.group.name)
        index = instance.group_index
        limit = group_limit(instance.group.config)
        if group is None or index is None or index not in replicas_to_replace(group, limit):
            return ()
        return facts.outdated if facts.template_hash == facts.wanted_hash else ()

    def policy(
        self, pcs: PodCliqueSet, podclique: PodClique, selected: tuple[str, ...] = ()
    ) -> SetPolicy:
        """Return the policy of a set for a PodClique; its update selected the pods `selected`."""
        instance = clique_named(self._view.expansion(pcs), podclique.metadata.name)
        is_turn = instance is not None and self.turn(pcs) == instance.pcs_index
        if has_jobs(pcs):
            run = self._view.run_of(podclique, pcs)
            return SetPolicy(Tolerance(termination_delay(pcs), is_unlimited=True), run=run)
        return SetPolicy(
            Tolerance(termination_delay(pcs), is_updating=is_turn),
            TargetRevision(
                self._view.revision_hash(pcs),
                None if instance is None else instance.template_hash,
                pcs.spec.updates_automatically,
                selected,
            ),
        )

    def group_update(self, pcs: PodCliqueSet, name: str) -> GroupUpdate | None:
        """Return the update of a scaling group."""
        found = (group for group in self._view.expansion(pcs).groups if group.name == name)
        if (group := next(found, None)) is None:
            return None
        return GroupUpdate(
            # A group that is scaled to zero has no outdated replica.
            self.group(pcs, name) or GroupFacts(name, 0, ()),
            self._view.revision_hash(pcs),
            pcs.spec.updates_automatically,
            is_turn=self.turn(pcs) == group.pcs_index,
            max_unavailable=group_limit(group.config),
        )

    def _may_change(self, pcs: PodCliqueSet, instance: CliqueInstance) -> bool:
        if self.turn(pcs) != instance.pcs_index:
            return False
        if instance.group is None:
            return True
        group = self.group(pcs, instance.group.name)
        limit = group_limit(instance.group.config)
        return group is not None and instance.group_index in replicas_to_replace(group, limit)

    def _is_known(self, pcs: PodCliqueSet, instance: CliqueInstance, present: str | None) -> bool:
        # A hash of no revision is not an older template but a manual edit.
        stored = self._view.revisions_of(pcs).values()
        return present in {revision.hashes.get(instance.template.name) for revision in stored}

    def _facts(self, pcs: PodCliqueSet, instance: CliqueInstance) -> CliqueFacts:
        podclique = self._view.clique(instance.name, pcs)
        pods = self._view.pods_of(podclique) if podclique is not None else ()
        return clique_facts(instance, podclique, pods)
