"""What reconcilers know: the caches, and what follows from them.

It answers from memory, asks nobody and changes nothing. An object belongs to a set if the set
controls it (`owners`), directly or through a scaling group; an object whose set or group is
gone or going belongs to nobody, so that nothing is written into a cascade of deletions. What a set consists
of is worked out once for each version of the set and of its scaling groups, and looked up
after that: a set of thousands of gangs is asked about by each of them.
"""

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from itertools import chain

from core_operator.plan.acceptance import record_refusal
from core_operator.plan.autoscalers import remembered_groups
from core_operator.plan.backends import Backend, Choice
from core_operator.plan.expansion import Expansion, GangInstance, expand
from core_operator.plan.gang_pods import (
    BaseState,
    GroupPods,
    base_state,
    gang_groups,
    released_on,
)
from core_operator.plan.history import StoredRevision, set_hash, template_hashes
from core_operator.plan.placement import Placement, placement_of
from core_operator.plan.topology import Topology, resolve, topology_name
from core_operator.state.backend_choices import Choices
from core_operator.state.caches import CLIQUES, GROUPS, OWNER, SETS, Caches, Revision, Stray
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import (
    Condition,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodGang,
    SchedulerBackend,
    SchedulerBackendSpec,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.cache import Cache, key_of
from shared_api.runtime.watching.owners import controller_of, identity, owner_in
from shared_api.runtime.watching.predicates import Watched


class View:
    """The caches, and what follows from them."""

    def __init__(
        self, caches: Caches, default_backend: str, accepted: Collection[str] = ()
    ) -> None:
        self.caches = caches
        self._accepted = accepted
        self._choices = Choices(default_backend)
        self._expansions: dict[str, tuple[int | None, Expansion]] = {}
        self._revisions: dict[str, tuple[int | None, str]] = {}
        self._topologies: dict[str, tuple[int | None, Topology]] = {}
        self._backends: dict[str, Backend] | None = None
        caches.sets.subscribe(self._on_set)
        caches.groups.subscribe(self._on_group)
        caches.backends.subscribe(self._on_backend)
        caches.bindings.subscribe(self._on_binding)
        caches.revisions.subscribe(self._on_revision)

    def live_set(self, uid: str | None) -> PodCliqueSet | None:
        """The set with this UID, unless it is going away."""
        found = self.caches.sets.get_by_uid(uid) if uid else None
        return None if found is None or _is_going(found) else found.object

    def set_of(self, value: Watched) -> PodCliqueSet | None:
        """The set that an object belongs to, unless it or the group in between is going away."""
        group = owner_in(self.caches.groups, GROUPS, value)
        if group is not None and _is_going(group):
            return None
        found = owner_in(self.caches.sets, SETS, value if group is None else group)
        return None if found is None or _is_going(found) else found.object

    def expansion(self, pcs: PodCliqueSet) -> Expansion:
        """All that a set consists of, with the live sizes of its scaling groups."""
        uid, generation = pcs.metadata.uid or "", pcs.metadata.generation
        known = self._expansions.get(uid)
        if known is not None and known[0] == generation:
            return known[1]
        autoscalers = self.caches.autoscalers.by_index(OWNER, identity(SETS, pcs))
        remembered = remembered_groups(pcs, (found.object for found in autoscalers))
        live = {group.metadata.name: group.spec.replicas for group in self.groups_of(pcs)}
        hashes = template_hashes(pcs, self.revisions_of(pcs).values())
        expansion = expand(pcs, {**remembered, **live}, hashes)
        self._expansions[uid] = (generation, expansion)
        return expansion

    def revision_hash(self, pcs: PodCliqueSet) -> str:
        """The hash of a set's templates."""
        uid, generation = pcs.metadata.uid or "", pcs.metadata.generation
        known = self._revisions.get(uid)
        if known is None or known[0] != generation:
            digest = set_hash(pcs, self.revisions_of(pcs).values())
            known = self._revisions[uid] = (generation, digest)
        return known[1]

    def revisions_of(self, pcs: PodCliqueSet) -> dict[str, StoredRevision]:
        """The stored revisions of a set by name."""
        found = self.caches.revisions.by_index(OWNER, identity(SETS, pcs))
        return {revision.metadata.name: revision.stored for revision in found}

    def groups_of(self, pcs: PodCliqueSet) -> list[PodCliqueScalingGroup]:
        """The scaling groups of a set that exist and stay."""
        found = self.caches.groups.by_index(OWNER, identity(SETS, pcs))
        return [group.object for group in found if not _is_going(group)]

    def backends(self) -> Mapping[str, Backend]:
        """The registered backends by name."""
        if self._backends is None:
            found = (record.object for record in self.caches.backends)
            self._backends = {
                record.metadata.name: _backend(record, self._accepted) for record in found
            }
        return self._backends

    def record(self, backend: str | None) -> SchedulerBackendSpec | None:
        """What a backend registered with, if core accepts that."""
        found = self.backends().get(backend or "")
        return None if found is None or found.refusal else found.record

    def choice(self, pcs: PodCliqueSet, current: str | None, *, released: bool) -> Choice:
        """The backend for a gang of the set."""
        return self._choices.of(
            pcs, self.backends(), self.topology(pcs), current, released=released
        )

    def first_choice(self, pcs: PodCliqueSet, gang: GangInstance) -> Choice:
        """The backend for a gang that does not exist; its pods may, and may be released."""
        found = (self.clique(pcs.metadata.namespace, one.name, pcs) for one in gang.cliques)
        pods = (pod for clique in found if clique is not None for pod in self.pods_of(clique))
        current = released_on(pods)
        return self.choice(pcs, current, released=current is not None)

    def topology(self, pcs: PodCliqueSet) -> Topology:
        """What became of the set's topology constraints."""
        uid, generation = pcs.metadata.uid or "", pcs.metadata.generation
        known = self._topologies.get(uid)
        if known is not None and known[0] == generation:
            return known[1]
        name = topology_name(pcs)
        binding = self.caches.bindings.get(ObjectKey("", name)) if name else None
        # One that is going takes the schedulers' own topologies with it.
        levels = None
        if binding is not None and not _is_going(binding):
            levels = {level.domain: level.key for level in binding.spec.levels}
        topology = resolve(pcs, levels)
        self._topologies[uid] = (generation, topology)
        return topology

    def placement(self, pcs: PodCliqueSet, gang: GangInstance) -> Placement:
        """Where the pods of a gang are to be, by today's binding."""
        return placement_of(pcs, gang, self.topology(pcs))

    def clique(self, namespace: str | None, name: str, pcs: PodCliqueSet) -> PodClique | None:
        """The PodClique of this name, if it belongs to the set and stays."""
        key = ObjectKey(namespace or "", name)
        found = self.caches.cliques.get(key)
        if found is None or _is_going(found) or self.caches.cliques.is_leaving(key):
            return None
        owner = self.set_of(found)
        return found.object if owner is not None and _same(owner, pcs) else None

    def all_cliques(self, pcs: PodCliqueSet) -> dict[str, PodClique]:
        """The PodCliques of a set and its scaling groups that exist and stay, by name."""
        cache = self.caches.cliques
        groups = (identity(GROUPS, group) for group in self.groups_of(pcs))
        owners = (identity(SETS, pcs), *groups)
        found = chain.from_iterable(cache.by_index(OWNER, owner) for owner in owners)
        return {
            clique.metadata.name: clique.object
            for clique in found
            if not _is_going(clique) and not cache.is_leaving(key_of(clique))
        }

    def gang(self, namespace: str | None, name: str, pcs: PodCliqueSet) -> PodGang | None:
        """The gang of this name, if it belongs to the set and stays."""
        key = ObjectKey(namespace or "", name)
        found = self.caches.gangs.get(key)
        if found is None or _is_going(found) or self.caches.gangs.is_leaving(key):
            return None
        if controller_of(found) != identity(SETS, pcs):
            return None
        return found.object

    def pods_of(self, clique: PodClique) -> list[Pod]:
        """The pods that a PodClique controls and that were made for it."""
        return self.caches.pods.by_index(OWNER, identity(CLIQUES, clique))

    def strays_of(self, clique: PodClique) -> list[Pod]:
        """The pods that seem to belong to a PodClique and count for nothing."""
        metadata = clique.metadata
        return self.caches.pods.by_index(OWNER, Stray(metadata.namespace or "", metadata.name))

    def clique_of(self, pod: Pod) -> Applied[PodClique] | None:
        """The PodClique that controls a pod."""
        return owner_in(self.caches.cliques, CLIQUES, pod)

    def pod_names(self, namespace: str) -> Container[str]:
        """The names of the pods that are seen in a namespace, whosever they are."""
        return _PodNames(self.caches.pods, namespace)

    def cliques_of(self, gang: PodGang, pcs: PodCliqueSet) -> dict[str, PodClique]:
        """The PodCliques of a gang's groups that exist, by name."""
        names_ = (group.name for group in gang.spec.podgroups)
        found = {name: self.clique(gang.metadata.namespace, name, pcs) for name in names_}
        return {name: clique for name, clique in found.items() if clique is not None}

    def group_pods(self, gang: PodGang, cliques: Mapping[str, PodClique]) -> tuple[GroupPods, ...]:
        """The groups of a gang with their live pods."""
        pods = [pod for clique in cliques.values() for pod in self.pods_of(clique)]
        backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        return gang_groups(gang, pods, cliques, self.record(backend))

    def base_of(self, gang: PodGang, pcs: PodCliqueSet) -> BaseState | None:
        """How far the gang is that this one waits for; None if it waits for none."""
        name = gang.metadata.labels.get(names.LABEL_BASE_PODGANG)
        if name is None:
            return None
        base = self.gang(gang.metadata.namespace, name, pcs)
        if base is None:
            return base_state(name, ())
        return base_state(name, self.group_pods(base, self.cliques_of(base, pcs)))

    def _on_set(self, old: Applied[PodCliqueSet] | None, new: Applied[PodCliqueSet] | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._expansions.pop(old.metadata.uid or "", None)
            self._revisions.pop(old.metadata.uid or "", None)
            self._topologies.pop(old.metadata.uid or "", None)
            self._choices.forget(old.metadata.uid or "")

    def _on_group(
        self,
        old: Applied[PodCliqueScalingGroup] | None,
        new: Applied[PodCliqueScalingGroup] | None,
    ) -> None:
        if old and new and _size(old) == _size(new):
            return
        self._forget_expansion(old)
        self._forget_expansion(new)

    def _forget_expansion(self, child: Watched | None) -> str:
        owner = controller_of(child) if child is not None else None
        uid = owner.uid if owner is not None else ""
        self._expansions.pop(uid, None)
        return uid

    def _on_binding(self, old: object, new: object) -> None:
        del old, new
        self._topologies.clear()

    def _on_revision(self, old: Revision | None, new: Revision | None) -> None:
        for value in (old, new):
            owner = self._forget_expansion(value)
            self._revisions.pop(owner, None)

    def _on_backend(self, old: object, new: object) -> None:
        del old, new
        self._backends = None


@dataclass(frozen=True, slots=True)
class _PodNames:
    """Looked up, never listed: a namespace may have thousands."""

    pods: Cache[Pod]
    namespace: str

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and ObjectKey(self.namespace, name) in self.pods


def condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of this type, if there is one."""
    return next((found for found in conditions if found.type == kind), None)


def _backend(record: SchedulerBackend, accepted: Collection[str]) -> Backend:
    metadata = record.metadata
    refusal = record_refusal(metadata.name, record.spec, accepted)
    conditions = record.status.conditions if record.status is not None else ()
    # Before core has looked at its Lease, a backend that registers is taken to be there.
    available = condition(conditions, names.CONDITION_AVAILABLE)
    is_available = available is None or available.status == "True"
    why_not = "" if is_available or available is None else available.message
    registered = metadata.creation_timestamp
    return Backend(metadata.name, record.spec, is_available, why_not, refusal, registered)


def _size(group: Applied[PodCliqueScalingGroup]) -> object:
    """What the size of a set depends on."""
    return group.object.spec.replicas, _is_going(group), group.metadata.owner_references


def _is_going(value: Watched) -> bool:
    return value.metadata.deletion_timestamp is not None


def _same(one: PodCliqueSet, other: PodCliqueSet) -> bool:
    return one.metadata.uid == other.metadata.uid
