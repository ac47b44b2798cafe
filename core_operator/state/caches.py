"""Everything that core watches, in one value.

A projection holds no more than is read: pods and Leases are a few fields, children that core
only makes are metadata. Objects are found by the owner that controls them (`owners`); labels
are for people and for Services, so a foreign object with our labels is in no index. A pod is
found by its PodClique only if it was made for it, which its name tells: a name cannot be
changed, while labels, annotations and owner references can.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import force_setattr

from core_operator.plan.autoscalers import Autoscaler
from core_operator.plan.claims import ClaimTemplate, external_templates
from core_operator.plan.compute_domains import COMPUTE_DOMAINS
from core_operator.plan.history import StoredRevision, stored_revision
from core_operator.plan.pods import is_made_for
from core_operator.plan.topology import topology_name
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
    ClusterTopologyBinding,
    KubeObject,
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
from shared_api.runtime.watching.continuity import Continuity
from shared_api.runtime.watching.owners import by_controller, controller_of
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Pace, Source

W = TypeVar("W", bound=Watched)
Indexes = Mapping[str, Indexer[W]]

OWNER = "owner"
"""Index by the controlling owner, of pods also by `Stray`."""
BASE = "base"
"""Index of gangs by namespace and name of the base gang that they wait for."""
TOPOLOGY = "topology"
"""Index of sets by the name of the topology binding that their constraints are of."""

CLAIM_TEMPLATE = "claim template"
"""Index of sets by namespace and name of the ResourceClaimTemplates that they share claims of."""

LEASE_SILENCE = 3.5
"""Seconds without news of any Lease after which some may have been missed. Longer than the time
between two renewals (2.4 s), of which core's own are some, and together with it shorter than the
time after which a backend counts as gone."""

# Where nobody renews a Lease, the watch is asked again soon enough to be no gap by itself.
_LEASE_PACE = Pace(inactivity=3.0, healthy=2.0, backoff=Backoff(base=0.2, cap=2.0, jitter=0.5))

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


class Stray(NamedTuple):
    """Pods that seem to belong to a PodClique of this name and do not.

    Nobody controls them, or the PodClique does and they were made for another one.
    """

    namespace: str
    podclique: str


class Revision(msgspec.Struct, frozen=True):
    """A ControllerRevision; of its data only what tells it from others is kept."""

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
    """A ClusterTopologyBinding, as far as it is about node labels."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: Levels = msgspec.field(default_factory=Levels)


class Offer:
    """Which of the kinds that a cluster may lack it has; those that nobody missed are there."""

    def __init__(self) -> None:
        self._lacking: set[Resource] = set()
        self._handlers: list[Callable[[Resource], None]] = []

    def has(self, resource: Resource) -> bool:
        """Tell whether the server has a kind."""
        return resource not in self._lacking

    def note(self, resource: Resource, is_served: bool) -> None:  # noqa: FBT001 - a callback's
        """Be told by a watch."""
        if self.has(resource) == is_served:
            return
        if is_served:
            self._lacking.discard(resource)
        else:
            self._lacking.add(resource)
        for handler in self._handlers:
            handler(resource)

    def subscribe(self, handler: Callable[[Resource], None]) -> None:
        """Have a function told of a kind that came or went."""
        self._handlers.append(handler)


@dataclass(frozen=True, slots=True)
class Caches:
    """The watched objects, by kind."""

    sets: Cache[Applied[PodCliqueSet]]
    cliques: Cache[Applied[PodClique]]
    groups: Cache[Applied[PodCliqueScalingGroup]]
    gangs: Cache[Applied[PodGang]]
    backends: Cache[Applied[SchedulerBackend]]
    pods: Cache[Pod]
    services: Cache[Applied[PartialObject]]
    revisions: Cache[Revision]
    leases: Cache[Lease]
    bindings: Cache[Binding]
    autoscalers: Cache[Applied[Autoscaler]]
    claims: Cache[PartialObject]
    claim_templates: Cache[ClaimTemplate]
    domains: Cache[Applied[PartialObject]]
    offer: Offer = field(default_factory=Offer, kw_only=True)
    lease_watch: Continuity = field(default_factory=lambda: Continuity(LEASE_SILENCE), kw_only=True)
    """Whether the Leases are as they are shown."""


def watch_all(manager: Manager, *, compute_domains: bool = False) -> Caches:
    """Have the manager fill all caches; that of ComputeDomains stays empty unless asked for."""
    offer, lease_watch = Offer(), Continuity(LEASE_SILENCE)

    def shared(
        resource: Resource, into: type[W], selector: str = "", indexed: Indexes[W] | None = None
    ) -> Cache[W]:
        source = Source(resource, into, selector=Selector(selector), optional=True)
        return manager.watch(source, indexed, on_served=partial(offer.note, resource))

    return Caches(
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
            Source(CONTROLLER_REVISIONS, Revision, selector=Selector(_OURS)), {OWNER: by_controller}
        ),
        # Each node of the cluster renews a Lease of its own every few seconds.
        leases=manager.watch(
            Source(LEASES, Lease, selector=Selector(fields="metadata.namespace!=kube-node-lease")),
            continuity=lease_watch,
            pace=_LEASE_PACE,
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
        offer=offer,
        lease_watch=lease_watch,
    )


def _applied(into: type[W]) -> type[Applied[W]]:
    """With what core has applied; what backends have is theirs to compare."""
    return applied(into, names.FIELD_MANAGER_CORE)


def pods_by_owner(pod: Pod) -> Iterable[Hashable]:
    """File a pod under the PodClique that made it, or as a stray of the one that it names."""
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
