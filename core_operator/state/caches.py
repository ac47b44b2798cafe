"""Everything that core watches, in one value.

A projection keeps only the fields that are read. Objects are indexed by the owner that controls
them (`watching/owners.py`); labels are for users and Services, so a foreign object with our labels
is in no index. A pod is indexed under its PodClique only if its name shows that it was created for
it: a name cannot change, while labels, annotations and owner references can.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import force_setattr

from core_operator.plan.layout.history import StoredRevision, stored_revision
from core_operator.plan.manifests.autoscalers import Autoscaler
from core_operator.plan.manifests.claims import ClaimTemplate, external_templates
from core_operator.plan.manifests.compute_domains import COMPUTE_DOMAINS
from core_operator.plan.placement.topology import topology_name
from core_operator.plan.pods.pod_plan import is_made_for
from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata
from shared_api.kube.pods import Pod
from shared_api.kube.resources import (
    CONTROLLER_REVISIONS,
    HPAS,
    LEASES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    SERVICES,
    Resource,
)
from shared_api.models import (
    BackendInventory,
    ClusterTopologyBinding,
    KubeObject,
    PlacementPolicy,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodGang,
    SchedulerBackend,
)
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.leading.lease import Lease
from shared_api.runtime.manager import Manager
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.watching.cache import Cache, Indexer
from shared_api.runtime.watching.channel import Channel
from shared_api.runtime.watching.owners import by_controller, controller_of
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Source, WatchTiming
from shared_api.runtime.watching.watch_health import WatchHealth

W = TypeVar("W", bound=Watched)
Indexes = Mapping[str, Indexer[W]]

OWNER = "owner"
"""Index by the controlling owner, of pods also by `Stray`."""
BASE = "base"
"""Index of gangs by namespace and name of their base gang."""
TOPOLOGY = "topology"
"""Index of sets by the name of the topology binding that their constraints use."""

CLAIM_TEMPLATE = "claim template"
"""Index of sets by namespace and name of the ResourceClaimTemplates that they use."""

LEASE_SILENCE = 3.5
"""Seconds without a change of any Lease after which changes may have been missed.

Longer than the 2.4 s between two renewals of core's own Lease; both together are shorter than the
time after which a backend is down."""

# Where no Lease is renewed, the watch is restarted before its silence counts as a gap.
_LEASE_TIMING = WatchTiming(
    inactivity=3.0, healthy=2.0, backoff=Backoff(base=0.2, cap=2.0, jitter=0.5)
)

_OURS = f"{names.LABEL_MANAGED_BY}={names.MANAGED_BY}"


def _ours(kind: type[KubeObject], plural: str, *, namespaced: bool = True) -> Resource:
    group, version = kind.API_VERSION.split("/")
    return Resource(group, version, plural, kind.KIND, namespaced)


SETS = _ours(PodCliqueSet, "podcliquesets")
CLIQUES = _ours(PodClique, "podcliques")
GROUPS = _ours(PodCliqueScalingGroup, "podcliquescalinggroups")
GANGS = _ours(PodGang, "podgangs")
BACKENDS = _ours(SchedulerBackend, "schedulerbackends", namespaced=False)
BINDINGS = _ours(ClusterTopologyBinding, "clustertopologybindings", namespaced=False)
POLICIES = _ours(PlacementPolicy, "placementpolicies")
INVENTORIES = _ours(BackendInventory, "backendinventories", namespaced=False)


class Stray(NamedTuple):
    """Pods that seem to belong to a PodClique of this name and do not.

    They have no controller, or the PodClique controls them and they were created for another one.
    """

    namespace: str
    podclique: str


class ObservedRevision(msgspec.Struct, frozen=True):
    """A ControllerRevision; of its data only the hashes are kept."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    revision: int = 0
    data: dict[str, object] = {}
    stored: StoredRevision = StoredRevision()

    def __post_init__(self) -> None:
        stored = stored_revision(self.revision, self.metadata.annotations, self.data)
        force_setattr(self, "stored", stored)
        force_setattr(self, "data", {})


class Level(msgspec.Struct, frozen=True):
    """One level of a topology binding."""

    domain: str
    key: str


class Levels(msgspec.Struct, frozen=True):
    """The levels from the broadest to the narrowest."""

    levels: tuple[Level, ...] = ()


class Binding(msgspec.Struct, frozen=True):
    """A ClusterTopologyBinding: the node labels of its levels."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: Levels = msgspec.field(default_factory=Levels)


class Offer:
    """Which optional kinds the cluster serves."""

    def __init__(self) -> None:
        self._lacking: set[Resource] = set()
        self.changed: Channel[Resource] = Channel("optional kinds")
        """Kinds that the cluster began or ceased to serve."""

    def has(self, resource: Resource) -> bool:
        """Tell whether the server serves a kind; True until a watch finds that it does not."""
        return resource not in self._lacking

    def note(self, resource: Resource, is_served: bool) -> None:  # noqa: FBT001 - a callback's
        """Note what a watch found out about a kind."""
        if self.has(resource) == is_served:
            return
        if is_served:
            self._lacking.discard(resource)
        else:
            self._lacking.add(resource)
        self.changed.send(resource)


@dataclass(frozen=True, slots=True)
class CoreCaches:
    """The watched objects, by kind."""

    sets: Cache[Applied[PodCliqueSet]]
    cliques: Cache[Applied[PodClique]]
    groups: Cache[Applied[PodCliqueScalingGroup]]
    gangs: Cache[Applied[PodGang]]
    backends: Cache[Applied[SchedulerBackend]]
    pods: Cache[Pod]
    services: Cache[Applied[PartialObject]]
    revisions: Cache[ObservedRevision]
    leases: Cache[Lease]
    bindings: Cache[Binding]
    autoscalers: Cache[Applied[Autoscaler]]
    claims: Cache[PartialObject]
    claim_templates: Cache[ClaimTemplate]
    domains: Cache[Applied[PartialObject]]
    policies: Cache[PlacementPolicy] = field(default_factory=Cache, kw_only=True)
    inventories: Cache[BackendInventory] = field(default_factory=Cache, kw_only=True)
    offer: Offer = field(default_factory=Offer, kw_only=True)
    lease_watch: WatchHealth = field(
        default_factory=lambda: WatchHealth(LEASE_SILENCE), kw_only=True
    )
    """Whether the cache of Leases is up to date."""


def watch_all(manager: Manager, *, compute_domains: bool = False) -> CoreCaches:
    """Let the manager fill all caches; that of ComputeDomains only if it is enabled."""
    offer, lease_watch = Offer(), WatchHealth(LEASE_SILENCE)

    def shared(
        resource: Resource, into: type[W], selector: str = "", indexed: Indexes[W] | None = None
    ) -> Cache[W]:
        source = Source(resource, into, selector=Selector(selector), optional=True)
        return manager.watch(source, indexed, on_served=partial(offer.note, resource))

    return CoreCaches(
        sets=manager.watch(
            Source(SETS, _applied(PodCliqueSet)),
            {TOPOLOGY: _by_topology, CLAIM_TEMPLATE: _by_claim_template},
        ),
        cliques=manager.watch(Source(CLIQUES, _applied(PodClique)), {OWNER: by_controller}),
        groups=manager.watch(
            Source(GROUPS, _applied(PodCliqueScalingGroup)), {OWNER: by_controller}
        ),
        gangs=manager.watch(
            Source(GANGS, _applied(PodGang)), {OWNER: by_controller, BASE: _by_base_gang}
        ),
        backends=manager.watch(Source(BACKENDS, _applied(SchedulerBackend))),
        pods=manager.watch(Source(PODS, Pod, selector=Selector(_OURS)), {OWNER: pods_by_owner}),
        services=manager.watch(
            Source(SERVICES, _applied(PartialObject), selector=Selector(_OURS)),
            {OWNER: by_controller},
        ),
        revisions=manager.watch(
            Source(CONTROLLER_REVISIONS, ObservedRevision, selector=Selector(_OURS)),
            {OWNER: by_controller},
        ),
        # Each node renews its own Lease every few seconds; those are not watched.
        leases=manager.watch(
            Source(LEASES, Lease, selector=Selector(fields="metadata.namespace!=kube-node-lease")),
            health=lease_watch,
            timing=_LEASE_TIMING,
        ),
        bindings=manager.watch(Source(BINDINGS, Binding)),
        autoscalers=manager.watch(
            Source(HPAS, _applied(Autoscaler), selector=Selector(_OURS)), {OWNER: by_controller}
        ),
        claims=shared(RESOURCE_CLAIMS, PartialObject, _OURS, {OWNER: by_controller}),
        claim_templates=shared(RESOURCE_CLAIM_TEMPLATES, ClaimTemplate),
        domains=shared(COMPUTE_DOMAINS, _applied(PartialObject), _OURS, {OWNER: by_controller})
        if compute_domains
        else Cache({OWNER: by_controller}),
        policies=manager.watch(Source(POLICIES, PlacementPolicy)),
        inventories=manager.watch(Source(INVENTORIES, BackendInventory)),
        offer=offer,
        lease_watch=lease_watch,
    )


def _applied(into: type[W]) -> type[Applied[W]]:
    """Return the projection that also keeps the fingerprint of what core applied."""
    return applied(into, names.FIELD_MANAGER_CORE)


def pods_by_owner(pod: Pod) -> Iterable[Hashable]:
    """Index a pod by the PodClique that it was created for, or as a stray."""
    owner = controller_of(pod)
    if owner is None:
        named = pod.metadata.labels.get(names.LABEL_PODCLIQUE)
        return (Stray(pod.metadata.namespace, named),) if named else ()
    if owner.kind != CLIQUES.kind or is_made_for(pod, owner.name):
        return (owner,)
    return (Stray(owner.namespace, owner.name),)


def _by_topology(value: Applied[PodCliqueSet]) -> Iterable[str]:
    name = topology_name(value.object)
    return (name,) if name else ()


def _by_claim_template(value: Applied[PodCliqueSet]) -> Iterable[str]:
    return (str(key) for key in external_templates(value.object))


def _by_base_gang(value: Watched) -> Iterable[str]:
    base = value.metadata.labels.get(names.LABEL_BASE_PODGANG)
    return () if base is None else (f"{value.metadata.namespace}/{base}",)
