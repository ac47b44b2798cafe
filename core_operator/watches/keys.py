"""Keys: which objects must be reconciled after a change of another object.

The functions read one object. The methods of `RelatedKeys` also look up other objects in the view.
Nothing here decides whether a change matters; predicates do.
"""

from collections.abc import Iterable

from core_operator.plan.manifests.claims import ClaimTemplate, shares_claims
from core_operator.plan.manifests.compute_domains import names_group
from core_operator.plan.statuses.conditions import find
from core_operator.state.caches import (
    BASE,
    CLAIM_TEMPLATE,
    CLIQUES,
    GROUPS,
    OWNER,
    SETS,
    TOPOLOGY,
    Binding,
)
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import (
    CliqueStartupType,
    KubeObject,
    PlacementPolicy,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodGang,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.leading.lease import Lease
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.event_handlers import its_controller, its_label, itself
from shared_api.runtime.watching.owners import identity
from shared_api.runtime.watching.predicates import Watched

gang_of = its_label(names.LABEL_PODGANG)
group_of = its_label(names.LABEL_PCSG)
set_of = its_label(names.LABEL_PART_OF)

_owner_clique = its_controller(CLIQUES)
_named_clique = its_label(names.LABEL_PODCLIQUE)


def clique_of_pod(pod: Pod) -> Iterable[ObjectKey]:
    """The PodClique that controls a pod, or the one that a pod without a controller names."""
    return _owner_clique(pod) if pod.metadata.controller is not None else _named_clique(pod)


def cliques_of_gang(gang: Applied[PodGang]) -> Iterable[ObjectKey]:
    """The PodCliques of a gang's groups."""
    for group in gang.object.spec.podgroups:
        yield ObjectKey(gang.metadata.namespace or "", group.name)


def clique_with_problem(about: KubeObject) -> Iterable[ObjectKey]:
    """The object itself, if it is a PodClique."""
    return (key_of(about),) if isinstance(about, PodClique) else ()


def group_with_problem(about: KubeObject) -> Iterable[ObjectKey]:
    """The object itself, if it is a scaling group."""
    return (key_of(about),) if isinstance(about, PodCliqueScalingGroup) else ()


def set_with_problem(about: KubeObject) -> Iterable[ObjectKey]:
    """The set that reports the problem of a set, a scaling group or a gang."""
    if isinstance(about, PodCliqueSet):
        return (key_of(about),)
    return set_of(about) if isinstance(about, PodCliqueScalingGroup | PodGang) else ()


class RelatedKeys:
    """Keys that are found in the caches."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._caches = view.caches

    def groups_of_set(self, pcs: Watched) -> Iterable[ObjectKey]:
        """The scaling groups that a set controls."""
        return map(key_of, self._caches.groups.by_index(OWNER, identity(SETS, pcs)))

    def gangs_of_set(self, pcs: Watched) -> Iterable[ObjectKey]:
        """The gangs that a set controls."""
        return map(key_of, self._caches.gangs.by_index(OWNER, identity(SETS, pcs)))

    def cliques_of_set(self, pcs: Watched) -> Iterable[ObjectKey]:
        """The PodCliques of a set and of its scaling groups."""
        return map(key_of, self._all_cliques(pcs))

    def updated_cliques(self, pcs: Applied[PodCliqueSet]) -> Iterable[ObjectKey]:
        """The PodCliques of the replica that is, or was, being updated."""
        status = pcs.object.status
        progress = status.update_progress if status is not None else None
        turns = {str(one.replica_index) for one in progress.currently_updating} if progress else ()
        for clique in self._all_cliques(pcs) if turns else ():
            if clique.metadata.labels.get(names.LABEL_PCS_REPLICA_INDEX) in turns:
                yield key_of(clique)

    def cliques_in_group(self, group: Watched) -> Iterable[ObjectKey]:
        """The PodCliques that a scaling group controls."""
        return map(key_of, self._caches.cliques.by_index(OWNER, identity(GROUPS, group)))

    def gangs_of_group(self, group: Watched) -> Iterable[ObjectKey]:
        """The gangs of the PodCliques that a scaling group controls."""
        for clique in self._caches.cliques.by_index(OWNER, identity(GROUPS, group)):
            yield from gang_of(clique)

    def cliques_of_group(self, pod: Watched) -> Iterable[ObjectKey]:
        """The PodCliques of a pod's scaling group: one replica may wait for the others."""
        for key in group_of(pod):
            if (group := self._caches.groups.get(key)) is not None:
                owner = identity(GROUPS, group)
                yield from map(key_of, self._caches.cliques.by_index(OWNER, owner))

    def clique_with_gang(self, clique: Watched) -> Iterable[ObjectKey]:
        """The PodClique, if its gang is in the cache; no pods are created without it."""
        return itself(clique) if any(key in self._caches.gangs for key in gang_of(clique)) else ()

    def cached_cliques_of_gang(self, gang: Applied[PodGang]) -> Iterable[ObjectKey]:
        """The PodCliques of a gang that are in the cache."""
        return (key for key in cliques_of_gang(gang) if key in self._caches.cliques)

    def clique_with_surplus(self, pod: Pod) -> Iterable[ObjectKey]:
        """The PodClique of a pod, if it has more pods than replicas."""
        clique = self._view.clique_of(pod)
        if clique is None or len(self._view.pods_of(clique.object)) <= clique.object.spec.replicas:
            return ()
        return (key_of(clique),)

    def all_cliques(self, _: object) -> Iterable[ObjectKey]:
        """All PodCliques: each may use the backend."""
        return map(key_of, self._caches.cliques)

    def all_gangs(self, _: object) -> Iterable[ObjectKey]:
        """All gangs: each may use the backend."""
        return map(key_of, self._caches.gangs)

    def waiting_gangs(self, base: ObjectKey) -> Iterable[ObjectKey]:
        """The scaled gangs that report that they wait for this base gang."""
        for gang in self._caches.gangs.by_index(BASE, str(base)):
            status = gang.object.status
            found = find(status.conditions if status else (), names.CONDITION_RELEASED)
            if found is not None and found.status == "False":
                yield key_of(gang)

    def ordered_gang(self, gang: Watched) -> Iterable[ObjectKey]:
        """The gang, unless its set is known to have no start-up order."""
        pcs = self._view.set_of(gang)
        return () if pcs is not None and _is_unordered(pcs) else itself(gang)

    def ordered_gang_of_pod(self, pod: Pod) -> Iterable[ObjectKey]:
        """The gang of a pod, if its set has a start-up order."""
        clique = self._view.clique_of(pod)
        pcs = self._view.set_of(clique)
        return () if pcs is None or _is_unordered(pcs) else gang_of(pod)

    def sets_of_binding(self, binding: Binding) -> Iterable[ObjectKey]:
        """The sets whose topology constraints are of this binding."""
        return map(key_of, self._caches.sets.by_index(TOPOLOGY, binding.metadata.name))

    def gangs_of_binding(self, binding: Binding) -> Iterable[ObjectKey]:
        """The gangs of these sets."""
        for pcs in self._caches.sets.by_index(TOPOLOGY, binding.metadata.name):
            yield from self.gangs_of_set(pcs)

    def gangs_of_policy(self, policy: PlacementPolicy) -> Iterable[ObjectKey]:
        """The gangs of sets that have this placement policy."""
        return self._gangs_with(policy.metadata.namespace, policy.metadata.name)

    def gangs_with_policy(self, _: object) -> Iterable[ObjectKey]:
        """The gangs of sets that have any placement policy."""
        return self._gangs_with(None, None)

    def _gangs_with(self, namespace: str | None, name: str | None) -> Iterable[ObjectKey]:
        for pcs in self._caches.sets:
            policy = self._view.placements.policy_of(pcs.object)
            if policy is None:
                continue
            named = {f"{pcs.metadata.namespace}/{policy.name}", policy.name}
            if name is None or f"{namespace}/{name}" in named:
                yield from self.gangs_of_set(pcs)

    def backends_of_lease(self, lease: Lease) -> Iterable[ObjectKey]:
        """The backends that name a Lease."""
        for record in self._caches.backends:
            named = record.object.spec.lease
            if named is not None and ObjectKey(named.namespace, named.name) == lease.metadata.key:
                yield key_of(record)

    def sets_of_template(self, template: ClaimTemplate) -> Iterable[Applied[PodCliqueSet]]:
        """The sets that share claims of a template."""
        return self._caches.sets.by_index(CLAIM_TEMPLATE, str(key_of(template)))

    def sets_with_optional_kinds(self, kind: object) -> Iterable[Applied[PodCliqueSet]]:
        """The sets that need a kind which a cluster may lack."""
        del kind
        return [
            pcs for pcs in self._caches.sets if shares_claims(pcs.object) or names_group(pcs.object)
        ]

    def _all_cliques(self, pcs: Watched) -> Iterable[Applied[PodClique]]:
        groups = self._caches.groups.by_index(OWNER, identity(SETS, pcs))
        for owner in (identity(SETS, pcs), *(identity(GROUPS, group) for group in groups)):
            yield from self._caches.cliques.by_index(OWNER, owner)


def _is_unordered(pcs: PodCliqueSet) -> bool:
    return pcs.spec.template.clique_startup_type is CliqueStartupType.ANY_ORDER
