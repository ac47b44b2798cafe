"""What reconcilers read: the caches, and what follows from them.

It answers from memory, sends no request and changes nothing. An object belongs to a set if the set
controls it, directly or through a scaling group. An object whose set or group is gone or being
deleted has no set, so that nothing is written during a cascading deletion. The expansion of a set
is computed once for each version of the set and its scaling groups.
"""

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain

from core_operator.plan.adoption import adopted_revision
from core_operator.plan.jobs.modes import has_jobs, is_job
from core_operator.plan.jobs.runs import SERVICE, Ending, Run, ending_in, ending_of, run_of
from core_operator.plan.layout.expansion import (
    CliqueInstance,
    Expansion,
    GangInstance,
    clique_named,
    expand,
    gang_named,
    without_cliques,
)
from core_operator.plan.layout.history import StoredRevision, set_hash, template_hashes
from core_operator.plan.manifests.autoscalers import remembered_groups
from core_operator.plan.placement.acceptance import record_refusal
from core_operator.plan.placement.backends import Choice, RegisteredBackend
from core_operator.plan.placement.gang_placement import GangPlacement, wanted_placement
from core_operator.plan.placement.topology import Topology, resolve, topology_name
from core_operator.plan.pods.gang_pods import (
    BaseState,
    GroupPods,
    base_state,
    gang_groups,
)
from core_operator.plan.statuses.conditions import find
from core_operator.state.backend_choices import Choices
from core_operator.state.caches import (
    CLIQUES,
    GROUPS,
    OWNER,
    SETS,
    CoreCaches,
    ObservedRevision,
    Stray,
)
from core_operator.state.placements import Placements
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import (
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

_FIRST_AVAILABLE = timedelta(seconds=10)


class View:
    """The caches, and what follows from them."""

    def __init__(
        self,
        caches: CoreCaches,
        default_backend: str,
        accepted: Collection[str] = (),
        default_policy: str = "",
    ) -> None:
        self.caches = caches
        self.placements = Placements(caches, default_policy)
        self._accepted = accepted
        self._choices = Choices(default_backend)
        self._expansions: dict[str, tuple[int | None, Expansion]] = {}
        self._revisions: dict[str, tuple[int | None, str]] = {}
        self._topologies: dict[str, tuple[int | None, Topology]] = {}
        self._backends: dict[str, RegisteredBackend] | None = None
        caches.sets.subscribe(self._on_set)
        caches.groups.subscribe(self._on_group)
        caches.backends.subscribe(self._on_backend)
        caches.bindings.subscribe(self._on_binding)
        caches.revisions.subscribe(self._on_revision)

    def live_set(self, key: ObjectKey) -> PodCliqueSet | None:
        """Return the set of this key, unless it is being deleted."""
        found = self.caches.sets.get(key)
        return None if found is None or _is_terminating(found) else found.object

    def set_of(self, value: Watched | None) -> PodCliqueSet | None:
        """Return the set of an object, unless it or the group in between is being deleted."""
        if value is None:
            return None
        group = owner_in(self.caches.groups, GROUPS, value)
        if group is not None and _is_terminating(group):
            return None
        found = owner_in(self.caches.sets, SETS, value if group is None else group)
        return None if found is None or _is_terminating(found) else found.object

    def expansion(self, pcs: PodCliqueSet) -> Expansion:
        """Return all that a set consists of, with the live sizes of its scaling groups."""
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
        """Return the hash of a set's templates."""
        uid, generation = pcs.metadata.uid or "", pcs.metadata.generation
        known = self._revisions.get(uid)
        if known is None or known[0] != generation:
            digest = set_hash(pcs, self.revisions_of(pcs).values())
            known = self._revisions[uid] = (generation, digest)
        return known[1]

    def revisions_of(self, pcs: PodCliqueSet) -> dict[str, StoredRevision]:
        """Return the stored revisions of a set by name.

        A set without any was made by Grove, or is just being created: its PodCliques show one.
        """
        found = self.caches.revisions.by_index(OWNER, identity(SETS, pcs))
        if not found and (adopted := adopted_revision(pcs, self.all_cliques(pcs).values())):
            return {"": adopted}
        return {revision.metadata.name: revision.stored for revision in found}

    def groups_of(self, pcs: PodCliqueSet) -> list[PodCliqueScalingGroup]:
        """Return the scaling groups of a set that are not being deleted."""
        found = self.caches.groups.by_index(OWNER, identity(SETS, pcs))
        return [group.object for group in found if not _is_terminating(group)]

    def backends(self) -> Mapping[str, RegisteredBackend]:
        """Return the registered backends by name."""
        if self._backends is None:
            found = (record.object for record in self.caches.backends)
            self._backends = {
                record.metadata.name: _backend(record, self._accepted) for record in found
            }
        return self._backends

    def record(self, backend: str | None) -> SchedulerBackendSpec | None:
        """Return the record of a backend, if core accepts it."""
        found = self.backends().get(backend or "")
        return None if found is None or found.refusal else found.record

    def choice(self, pcs: PodCliqueSet, current: str | None, *, released: bool) -> Choice:
        """Return the backend for a gang of the set; with a placement policy, see `GangPlaces`."""
        return self._choices.of(
            pcs, self.backends(), self.topology(pcs), current, released=released
        )

    def topology(self, pcs: PodCliqueSet) -> Topology:
        """Return the resolved topology constraints of a set."""
        uid, generation = pcs.metadata.uid or "", pcs.metadata.generation
        known = self._topologies.get(uid)
        if known is not None and known[0] == generation:
            return known[1]
        name = topology_name(pcs)
        binding = self.caches.bindings.get(ObjectKey("", name)) if name else None
        # The topologies of schedulers are deleted with the binding.
        levels = None
        if binding is not None and not _is_terminating(binding):
            levels = {level.domain: level.key for level in binding.spec.levels}
        topology = resolve(pcs, levels)
        self._topologies[uid] = (generation, topology)
        return topology

    def placement(self, pcs: PodCliqueSet, gang: GangInstance) -> GangPlacement:
        """Return the placement of a gang, by the present binding."""
        return wanted_placement(pcs, gang, self.topology(pcs))

    def clique(self, name: str, pcs: PodCliqueSet) -> PodClique | None:
        """Return the PodClique of this name, if it belongs to the set and is not being deleted."""
        key = ObjectKey(pcs.metadata.namespace or "", name)
        found = self.caches.cliques.get(key)
        if found is None or _is_terminating(found) or self.caches.cliques.is_leaving(key):
            return None
        owner = self.set_of(found)
        return found.object if owner is not None and _same(owner, pcs) else None

    def all_cliques(self, pcs: PodCliqueSet) -> dict[str, PodClique]:
        """Return the PodCliques of a set and its groups that are not being deleted, by name."""
        cache = self.caches.cliques
        groups = (identity(GROUPS, group) for group in self.groups_of(pcs))
        owners = (identity(SETS, pcs), *groups)
        found = chain.from_iterable(cache.by_index(OWNER, owner) for owner in owners)
        return {
            clique.metadata.name: clique.object
            for clique in found
            if not _is_terminating(clique) and not cache.is_leaving(key_of(clique))
        }

    def gang(self, name: str, pcs: PodCliqueSet) -> PodGang | None:
        """Return the gang of this name, if it belongs to the set and is not being deleted."""
        key = ObjectKey(pcs.metadata.namespace or "", name)
        found = self.caches.gangs.get(key)
        if found is None or _is_terminating(found) or self.caches.gangs.is_leaving(key):
            return None
        if controller_of(found) != identity(SETS, pcs):
            return None
        return found.object

    def pods_of(self, clique: PodClique) -> list[Pod]:
        """Return the pods that a PodClique controls and that were created for it."""
        return self.caches.pods.by_index(OWNER, identity(CLIQUES, clique))

    def strays_of(self, clique: PodClique) -> list[Pod]:
        """Return the pods that seem to belong to a PodClique and do not count."""
        metadata = clique.metadata
        return self.caches.pods.by_index(OWNER, Stray(metadata.namespace or "", metadata.name))

    def clique_of(self, pod: Pod) -> Applied[PodClique] | None:
        """Return the PodClique that controls a pod."""
        return owner_in(self.caches.cliques, CLIQUES, pod)

    def pod_names(self, namespace: str) -> Container[str]:
        """Return the names of all cached pods of a namespace."""
        return _PodNames(self.caches.pods, namespace)

    def cliques_of(self, gang: PodGang, pcs: PodCliqueSet) -> dict[str, PodClique]:
        """Return the PodCliques of a gang's groups that exist, by name."""
        names_ = (group.name for group in gang.spec.podgroups)
        found = {name: self.clique(name, pcs) for name in names_}
        return {name: clique for name, clique in found.items() if clique is not None}

    def group_pods(self, gang: PodGang, cliques: Mapping[str, PodClique]) -> tuple[GroupPods, ...]:
        """Return the groups of a gang with their live pods."""
        pods = [pod for clique in cliques.values() for pod in self.pods_of(clique)]
        backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
        pcs, runs = self.set_of(gang), None
        if pcs is not None and has_jobs(pcs):
            runs = {name: self.run_of(clique, pcs) for name, clique in cliques.items()}
        return gang_groups(gang, pods, cliques, self.record(backend), runs)

    def run_of(self, clique: PodClique, pcs: PodCliqueSet) -> Run:
        """Return what the pods of a PodClique are part of: a service, or an attempt of a job."""
        if not has_jobs(pcs):
            return SERVICE
        instance = clique_named(self.expansion(pcs), clique.metadata.name)
        if instance is None:
            # It is about to be deleted with its replica.
            attempt = clique.status.attempt if clique.status is not None else None
            return Run(attempt or 0, ends=is_job(clique), with_jobs=True)
        return run_of(pcs, instance, self._live_group(instance, pcs), clique)

    def ending_of(self, gang: GangInstance, pcs: PodCliqueSet) -> Ending | None:
        """Return how the jobs of a gang have ended."""
        if not has_jobs(pcs):
            return None
        if gang.base is None:
            return ending_of(pcs, gang.pcs_index)
        # A scaled gang is one replica of a scaling group.
        clique = gang.cliques[0]
        return ending_of(pcs, gang.pcs_index, self._live_group(clique, pcs), clique.group_index)

    def ending_of_group(self, group: PodCliqueScalingGroup, pcs: PodCliqueSet) -> Ending | None:
        """Return how the jobs of a scaling group have ended, by themselves or with its replica."""
        if not has_jobs(pcs):
            return None
        own = ending_in(group.status.conditions) if group.status is not None else None
        index = group.metadata.labels.get(names.LABEL_PCS_REPLICA_INDEX, "")
        return own or (ending_of(pcs, int(index)) if index.isdecimal() else None)

    def _live_group(
        self, instance: CliqueInstance, pcs: PodCliqueSet
    ) -> PodCliqueScalingGroup | None:
        if instance.group is None:
            return None
        found = self.caches.groups.get(ObjectKey(pcs.metadata.namespace or "", instance.group.name))
        return None if found is None else found.object

    def wanted_gang(self, pcs: PodCliqueSet, gang: GangInstance) -> GangInstance:
        """Return the gang without PodCliques that are scaled to zero and have no pods left."""
        found = (self.clique(clique.name, pcs) for clique in gang.cliques)
        empty = {
            clique.metadata.name
            for clique in found
            if clique is not None
            and clique.spec.replicas == 0
            and not any(pod.is_live for pod in self.pods_of(clique))
        }
        return without_cliques(gang, empty) if empty else gang

    def base_of(self, gang: PodGang, pcs: PodCliqueSet) -> BaseState | None:
        """Return the state of the base gang; None if this gang has none."""
        name = gang.metadata.labels.get(names.LABEL_BASE_PODGANG)
        if name is None:
            return None
        base = self.gang(name, pcs)
        if base is None:
            wanted = gang_named(self.expansion(pcs), name)
            if wanted is not None and not self.wanted_gang(pcs, wanted).cliques:
                # All of it is scaled to zero, so there is nothing to wait for.
                return None
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

    def _on_revision(self, old: ObservedRevision | None, new: ObservedRevision | None) -> None:
        for value in (old, new):
            owner = self._forget_expansion(value)
            self._revisions.pop(owner, None)

    def _on_backend(self, old: object, new: object) -> None:
        del old, new
        self._backends = None


@dataclass(frozen=True, slots=True)
class _PodNames:
    """Names are looked up, never listed: a namespace may have thousands."""

    pods: Cache[Pod]
    namespace: str

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and ObjectKey(self.namespace, name) in self.pods


def _backend(record: SchedulerBackend, accepted: Collection[str]) -> RegisteredBackend:
    metadata = record.metadata
    refusal = record_refusal(metadata.name, record.spec, accepted)
    conditions = record.status.conditions if record.status is not None else ()
    # Until its Lease is checked, a backend that registers counts as available.
    available = find(conditions, names.CONDITION_AVAILABLE)
    is_available = available is None or available.status == "True"
    unavailable_reason = "" if is_available or available is None else available.message
    registered = metadata.creation_timestamp
    since = available.last_transition_time if available is not None else None
    return RegisteredBackend(
        metadata.name,
        record.spec,
        is_available,
        unavailable_reason,
        refusal,
        registered,
        names.REASON_BACKEND_UNAVAILABLE if is_available or available is None else available.reason,
        labels=metadata.labels,
        since=since,
        # It becomes available for the first time soon after it registers.
        was_down=bool(since and registered and since - registered > _FIRST_AVAILABLE),
    )


def _size(group: Applied[PodCliqueScalingGroup]) -> object:
    """Return what the size of a set depends on."""
    return group.object.spec.replicas, _is_terminating(group), group.metadata.owner_references


def _is_terminating(value: Watched) -> bool:
    return value.metadata.deletion_timestamp is not None


def _same(one: PodCliqueSet, other: PodCliqueSet) -> bool:
    return one.metadata.uid == other.metadata.uid
