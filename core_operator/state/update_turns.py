"""Updates as reconcilers ask about them: what is whose turn, and what may be replaced now.

It answers from the caches each time it is asked, so a decision is as fresh as the pods that it
is about. The one thing that is remembered, the replica whose turn it is, stands in the set's
status. An answer that would break the minimum is counted and not given.
"""

from collections.abc import Sequence

from core_operator.metrics import CoreMetrics
from core_operator.plan.expansion import (
    CliqueInstance,
    clique_named,
    cliques_of_group,
)
from core_operator.plan.guards import breaks_group, breaks_minimum
from core_operator.plan.pods import is_live
from core_operator.plan.replicas import (
    CliqueFacts,
    GroupFacts,
    ReplicaFacts,
    clique_facts,
    group_facts,
    replica_facts,
)
from core_operator.plan.statuses.breach import Tolerance
from core_operator.plan.statuses.podclique import Course
from core_operator.plan.statuses.update_progress import GroupUpdate, Revision
from core_operator.plan.termination import termination_delay
from core_operator.plan.updates import (
    copies_to_replace,
    held_back,
    is_automatic,
    pods_to_replace,
    updating_replica,
)
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique, PodCliqueSet


class Updates:
    """What updates have to say about PodCliques."""

    def __init__(self, view: View, metrics: CoreMetrics) -> None:
        self._view = view
        self._metrics = metrics

    def replicas(self, pcs: PodCliqueSet) -> tuple[ReplicaFacts, ...]:
        """All replicas of a set."""
        cliques = self._view.expansion(pcs).cliques
        return replica_facts(cliques, lambda instance: self._look(pcs, instance))

    def group(self, pcs: PodCliqueSet, name: str) -> GroupFacts | None:
        """A scaling group of a set, by its full name."""
        instances = cliques_of_group(self._view.expansion(pcs), name)
        found = group_facts(instances, lambda instance: self._look(pcs, instance))
        return found[0] if found else None

    def turn(self, pcs: PodCliqueSet) -> int | None:
        """The replica that is being updated."""
        return updating_replica(pcs, self._view.revision_hash(pcs))

    def manifest(
        self,
        pcs: PodCliqueSet,
        instance: CliqueInstance,
        live: PodClique | None,
        manifest: JsonObject,
    ) -> JsonObject:
        """The manifest of a PodClique, with its present template if that is to stay for now."""
        if live is None or not is_automatic(pcs):
            return manifest
        present = live.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
        if present == instance.template_hash or not self._is_known(pcs, instance, present):
            return manifest
        return manifest if self._may_change(pcs, instance) else held_back(manifest, live)

    def step(self, pcs: PodCliqueSet, podclique: PodClique) -> tuple[Pod, ...]:
        """Pods of a PodClique that its update replaces now."""
        instance = clique_named(self._view.expansion(pcs), podclique.metadata.name)
        if instance is None or self.turn(pcs) != instance.pcs_index:
            return ()
        facts = self._look(pcs, instance)
        if instance.group is None:
            return pods_to_replace(facts)
        group = self.group(pcs, instance.group.name)
        index = instance.group_index
        if group is None or index is None or index not in copies_to_replace(group):
            return ()
        if breaks_group(group, index):
            self._metrics.broken_promise()
            return ()
        return facts.outdated if facts.said == facts.wanted else ()

    def permitted(
        self, pcs: PodCliqueSet, podclique: PodClique, delete: Sequence[Pod]
    ) -> Sequence[Pod]:
        """The deletions, or none of them if they would break the minimum."""
        instance = clique_named(self._view.expansion(pcs), podclique.metadata.name)
        is_turn = instance is not None and self.turn(pcs) == instance.pcs_index
        if not delete or (is_turn and instance is not None and instance.group is not None):
            # A copy of a group is replaced whole, and was judged as such.
            return delete
        live = [pod for pod in self._view.pods_of(podclique) if is_live(pod)]
        spec = podclique.spec
        if breaks_minimum(live, delete, spec.minimum, spec.replicas, is_turn=is_turn):
            self._metrics.broken_promise()
            return ()
        return delete

    def course(
        self, pcs: PodCliqueSet, podclique: PodClique, selected: tuple[str, ...] = ()
    ) -> Course:
        """What a set has in mind for one of its PodCliques; `selected` are pods that it took."""
        instance = clique_named(self._view.expansion(pcs), podclique.metadata.name)
        is_turn = instance is not None and self.turn(pcs) == instance.pcs_index
        return Course(
            Tolerance(termination_delay(pcs), is_updating=is_turn),
            Revision(
                self._view.revision_hash(pcs),
                None if instance is None else instance.template_hash,
                is_automatic(pcs),
                selected,
            ),
        )

    def group_update(self, pcs: PodCliqueSet, name: str) -> GroupUpdate | None:
        """The update of a scaling group."""
        facts = self.group(pcs, name)
        instances = cliques_of_group(self._view.expansion(pcs), name)
        if facts is None or not instances:
            return None
        return GroupUpdate(
            facts,
            self._view.revision_hash(pcs),
            is_automatic(pcs),
            is_turn=self.turn(pcs) == instances[0].pcs_index,
        )

    def _may_change(self, pcs: PodCliqueSet, instance: CliqueInstance) -> bool:
        if self.turn(pcs) != instance.pcs_index:
            return False
        if instance.group is None:
            return True
        group = self.group(pcs, instance.group.name)
        return group is not None and instance.group_index in copies_to_replace(group)

    def _is_known(self, pcs: PodCliqueSet, instance: CliqueInstance, present: str | None) -> bool:
        # A hash that no revision has is not an older template but somebody's edit.
        stored = self._view.revisions_of(pcs).values()
        return present in {revision.hashes.get(instance.template.name) for revision in stored}

    def _look(self, pcs: PodCliqueSet, instance: CliqueInstance) -> CliqueFacts:
        podclique = self._view.clique(pcs.metadata.namespace, instance.name, pcs)
        pods = self._view.pods_of(podclique) if podclique is not None else ()
        return clique_facts(instance, podclique, pods)
