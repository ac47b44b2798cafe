"""The declaration of a backend: frozen values and pure functions, nothing that runs.

A scheduler is added by declaring a `Backend`. The generic controllers discover what the cluster
serves, let `detect` choose a `Dialect`, and call its functions: `translate` returns the objects that
the scheduler needs for a gang, `mirror` returns the scheduler's message about it. Both must be pure:
no await, no clock, no client. What is the same for every scheduler (counting pods, owning objects,
conditions, Leases, metrics) is not declared, so no backend can get it wrong.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pydantic import ConfigDict

from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.podgangs import ObservedPodGang, ObservedTopologyConstraint
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.models import (
    JsonObject,
    KubeModel,
    KubeStatus,
    PodPreparation,
    PodPreparationSpec,
    ReleaseRules,
)
from shared_api.runtime.watching.predicates import Watched

if TYPE_CHECKING:
    from backend_controllers.contract.remote.executor import Executor


class WhenRefused(enum.Enum):
    """What to do if the server does not let an object be changed, such as an immutable field."""

    REPLACE = "replace"
    """Delete it and create it again; bound pods must not be affected."""
    KEEP = "keep"
    """Keep it; the gang reports that it runs with an older object."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """An object for the scheduler; `ObjectWriter` adds the owner reference."""

    resource: Resource
    manifest: JsonObject
    when_refused: WhenRefused = WhenRefused.KEEP


@dataclass(frozen=True, slots=True)
class PackLevels:
    """The topology levels of a constraint; both may be missing."""

    required: str = ""
    preferred: str = ""

    @property
    def is_empty(self) -> bool:
        """Tell whether there is no level."""
        return not self.required and not self.preferred


def pack_of(constraint: ObservedTopologyConstraint | None) -> PackLevels:
    """Return the levels of a constraint."""
    pack = constraint.pack_constraint if constraint else None
    if pack is None:
        return PackLevels()
    return PackLevels(pack.required or "", pack.preferred or "")


def gang_of_clique(value: Watched) -> tuple[str, str] | None:
    """Return namespace and name of the gang that a PodClique belongs to."""
    gang = value.metadata.labels.get(names.LABEL_PODGANG)
    return (value.metadata.namespace or "", gang) if gang else None


class Awaits(enum.Enum):
    """Why a gang that is accepted is not programmed; the values are reasons of Programmed."""

    EVENT = "Awaiting"
    """Something that will happen, such as the ungating of its pods."""
    CAPACITY = "NoCapacity"
    """The far side does not have the resources of the gang at present."""
    REJECTED = "Rejected"
    """The far side does not accept the gang as it is."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The objects of a gang, or why there are none."""

    objects: tuple[Rendered, ...] = ()
    """In the order in which they are written. Other objects of the gang are deleted."""
    refusals: tuple[str, ...] = ()
    """What the gang requires and the scheduler does not support; then there are no objects."""
    remarks: tuple[str, ...] = ()
    """What is not applied although the gang is accepted, such as a preference."""
    preparations: tuple[PodPreparation, ...] = ()
    """Patches of the groups' pods, where the preparation is PerGang."""
    lacks: str = ""
    """An object that the translation needs and that does not exist yet. Until it does, which must add
    the gang to the queue, nothing is written for the gang or reported about it."""
    awaits: str = ""
    """What has to happen before the scheduler may see the gang, such as the ungating of its pods. The
    gang is accepted and not programmed; its objects are those above, if any."""
    awaits_reason: Awaits = Awaits.EVENT
    """The reason of that."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the scheduler reports about a gang, without counts of pods."""

    reason: str = ""
    """Why the gang is not scheduled, in CamelCase; empty without a message."""
    message: str = ""
    """The scheduler's text, cleaned of noise and with its numbers."""
    disruption: str = ""
    """Who preempts the gang and why, while that goes on."""
    disruption_reason: str = ""
    """The reason of the disruption in CamelCase; empty when the scheduler has none."""
    placement_score: float | None = None
    """How good the placement is, where the scheduler reports it."""
    remarks: tuple[str, ...] = ()
    """Warnings about a gang that may be fine, such as two writers of one object."""


class Facts(Protocol):
    """What a pure function may read beside the gang: a read-only view of the caches."""

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods of the gang that are not terminating."""
        ...

    @property
    def leaving(self) -> tuple[Pod, ...]:
        """Pods that have the label of the gang and are terminating."""
        ...

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        """Objects of this kind that the gang controls, as projections."""
        ...

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        """Any object of a kind that the dialect watches, as a projection."""
        ...

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        """All objects of a kind that the dialect only reads; for kinds with few objects."""
        ...


Translate: TypeAlias = Callable[[ObservedPodGang, Facts], Translation]
Mirror: TypeAlias = Callable[[ObservedPodGang, Facts], Report]


@dataclass(frozen=True, slots=True)
class Writes:
    """A kind of object that is written for a gang, and watched."""

    resource: Resource
    projection: type[Watched]
    """A msgspec struct with only the fields that `translate` and `mirror` read. Each must have a
    default: an object that has only defaults is one that we have just created."""
    finalizers: tuple[str, ...] = ()
    """Finalizers of the scheduler that may be removed from an object of ours to replace it."""
    mirrored: bool = True
    """Whether a change of its status changes what `mirror` returns."""
    mirrored_part: Callable[[Watched], object] | None = None
    """The part of it that `mirror` reads, where that is not all of it."""
    translated: bool = False
    """Whether a change of its status may change the translation of its gang."""
    rival: str = ""
    """Which program writes objects of these names too, and what to do; part of the conflict message."""

    def __post_init__(self) -> None:
        """Fail here for a projection without defaults, and not at the first object."""
        self.projection()


@dataclass(frozen=True, slots=True)
class Reads:
    """A kind of object that is only watched."""

    resource: Resource
    projection: type[Watched]
    selector: Selector = field(default_factory=Selector)
    translated: bool = True
    """Whether a change may change translations: of the gang that the object is about, or, without
    `about`, of all gangs that are not scheduled yet."""
    about: Callable[[Watched], tuple[str, str] | None] | None = None
    """Namespace and name of the gang that an object is about: its status is computed again. Without
    this, the statuses of all gangs that are not scheduled yet."""
    through: Resource | None = None
    """The kind of the object that `about` names, where that is not a gang. That kind must be read too.
    A kind that is about several things is listed once for each, with the same selector."""
    owns_gangs: bool = False
    """Whether objects of this kind control gangs: a change is then about all gangs of the object."""
    part: Callable[[Watched], object] | None = None
    """The part of it that the functions read, where that is not all of the projection."""

    @property
    def concerns_certain_gangs(self) -> bool:
        """Tell whether an object is about certain gangs, and not about all of them."""
        return self.about is not None or self.owns_gangs


ReportSource: TypeAlias = Callable[
    [Watched, Callable[[str], Watched | None], str, datetime], KubeStatus
]
"""From a source, any object of the written kind by its name, why the source's own object could not
be written (empty if it was), and the time of a condition that changes."""


@dataclass(frozen=True, slots=True)
class Companion:
    """Objects computed from something else than a gang, such as a topology from its binding."""

    source: Reads
    writes: Writes
    translate: Callable[[Watched], tuple[Rendered, ...]]
    report: ReportSource | None = None
    """Return the status of the source, whose projection must then be its model."""
    events: Mapping[str, str] = field(default_factory=dict)
    """Reasons of the Events about the source, by the reason of a condition that changes its status."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of the scheduler's API that this cluster serves, and the functions for it."""

    name: str
    """Such as `scheduling.k8s.io/v1alpha2`; shown in the record, in metrics and in logs."""
    capabilities: frozenset[str]
    """Those that were found in the cluster."""
    preparation: PodPreparationSpec
    translate: Translate
    mirror: Mirror
    writes: tuple[Writes, ...] = ()
    reads: tuple[Reads, ...] = ()
    companions: tuple[Companion, ...] = ()
    follows_pods: bool = False
    """Whether a gang is translated again when its pods are ungated, bound or lost."""
    heeds_gated_pods: bool = True
    """Whether a translation may depend on gated pods. Where it does not, a gang is not translated again
    when it refers to its members for the first time."""
    surplus_stands_in: bool = False
    """Whether any pods of a group make up its minimum for the scheduler, and not only the members."""
    warning: str = ""
    """What users of this backend must know, such as that gangs are not guaranteed."""
    release: ReleaseRules | None = None
    """Release rules of this dialect alone; None for those of the backend."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The scheduler's API is not installed or too old. The process waits for it."""

    missing: str
    """What was not found."""
    remedy: str
    """What an administrator must do."""
    preparation: PodPreparationSpec
    """How pods will probably be prepared."""
    capabilities: frozenset[str] = frozenset({names.CAPABILITY_GANG})
    """What will probably be found. Gangs then wait for a backend that is not ready, instead of being
    reported as unsupported."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A dry-run create that shows whether the server keeps a field.

    The server drops fields of disabled features without an error, so there is no other way.
    """

    name: str
    resource: Resource
    manifest: JsonObject
    path: tuple[str, ...]
    """Where the field would be in the answer."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What a backend asks discovery for."""

    groups: tuple[str, ...] = ()
    """API groups whose versions and resources are requested."""
    definitions: tuple[str, ...] = ()
    """Names of CustomResourceDefinitions whose schemas are read."""
    services: tuple[str, ...] = ()
    """Names of Services, in any namespace, that show a scheduler without an API of its own."""
    probes: Callable[["Served"], tuple[Probe, ...]] = lambda _: ()
    """Called after the rest is known, since a probe needs a version that is served."""


@dataclass(frozen=True, slots=True)
class Served:
    """What the cluster serves."""

    resources: frozenset[tuple[str, str, str]] = frozenset()
    """Group, version and plural of everything served in the groups and definitions."""
    schemas: Mapping[tuple[str, str, str], JsonObject] = field(default_factory=dict)
    """OpenAPI schemas of the served versions of the definitions, by group, version, plural."""
    kept: frozenset[str] = frozenset()
    """Names of the probes whose field was kept."""
    services: frozenset[str] = frozenset()
    """Those Services that exist."""
    kubernetes: str = ""
    """The server's version, for messages only: it does not decide what is enabled."""

    def has(self, resource: Resource) -> bool:
        """Tell whether a kind is served."""
        return (resource.group, resource.version, resource.plural) in self.resources

    def schema_of(self, resource: Resource, *path: str) -> Mapping[str, object] | None:
        """Return the schema of a field of a custom resource; lists are passed through."""
        node: object = self.schemas.get((resource.group, resource.version, resource.plural))
        for name in path:
            while isinstance(node, Mapping) and "items" in node:
                node = node["items"]
            properties = node.get("properties") if isinstance(node, Mapping) else None
            node = properties.get(name) if isinstance(properties, Mapping) else None
        return node if isinstance(node, Mapping) else None

    def has_field(self, resource: Resource, *path: str) -> bool:
        """Tell whether the schema of a custom resource has a field."""
        return self.schema_of(resource, *path) is not None


class Options(KubeModel):
    """Settings of one backend; most backends add some."""

    # A misspelt setting must fail, not be ignored.
    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Backend:
    """A scheduler that can serve gangs, as one instance of its kind."""

    name: str
    """The instance: the name of its record, its Lease and its label. A declaration has that of the kind."""
    scheduler_names: tuple[str, ...]
    """Globs of the pods' schedulerName that this backend serves."""
    scheduling_gate: str
    questions: Questions
    detect: Callable[[Served, Options], Dialect | Absent]
    """Choose the dialect. The options have the type below."""
    options: type[Options] = Options
    pod_keys: tuple[str, ...] | None = None
    """Labels and annotations that its preparations set: keys, or a domain such as `example.com/`. Its
    ClusterRole must grant the same ones; admission policies compare them."""
    release: ReleaseRules = field(default_factory=ReleaseRules)
    where_it_runs: str = ""
    """How an administrator sees whether the scheduler runs, in its usual installation."""
    executor: "Callable[[Options, str], Executor] | None" = None
    """Returns the far side of a backend whose hosts are outside of the cluster."""
    kind: str = ""
    """The kind, which several instances may share. By default the name."""

    def __post_init__(self) -> None:
        """Let the declared name be the kind."""
        if not self.kind:
            object.__setattr__(self, "kind", self.name)

    def instance(self, name: str) -> "Backend":
        """Return this backend under the name of one instance."""
        return replace(self, name=name)

    @property
    def shared(self) -> "Backend":
        """Return this backend under the name of its kind, for objects that all instances write."""
        return replace(self, name=self.kind)
