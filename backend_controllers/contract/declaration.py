"""What a backend is: a frozen declaration and pure functions, and nothing that runs.

A scheduler is added by declaring a `Backend`. The generic controllers ask the cluster what
it serves, let `detect` choose a `Dialect`, and then call the functions of that dialect:
`translate` says which objects the scheduler needs for a gang, `mirror` says in the
scheduler's own words how it fares. Both get values and give values: no await, no clock, no
client. What is true for every scheduler (counting pods, owning objects, conditions, leases,
metrics) is not asked of a backend, so that no backend can get it wrong.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pydantic import ConfigDict

from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.podgangs import GangTopologyConstraint, PodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.models import (
    JsonObject,
    KubeModel,
    PodPreparation,
    PodPreparationSpec,
    ReleaseRules,
)
from shared_api.runtime.watching.predicates import Watched


class WhenRefused(enum.Enum):
    """What to do if the server will not change an object because fields are immutable."""

    REPLACE = "replace"
    """Delete it and create it anew; bound pods must not mind."""
    KEEP = "keep"
    """Leave it as it is; the gang says that it runs with an older object."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """An object for the scheduler, without owner: the owner reference is added by the writer."""

    resource: Resource
    manifest: JsonObject
    when_refused: WhenRefused = WhenRefused.KEEP


@dataclass(frozen=True, slots=True)
class Pack:
    """Levels that somebody asks for; both may be missing."""

    required: str = ""
    preferred: str = ""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is asked for."""
        return not self.required and not self.preferred


def pack_of(constraint: GangTopologyConstraint | None) -> Pack:
    """The levels of a constraint."""
    pack = constraint.pack_constraint if constraint else None
    if pack is None:
        return Pack()
    return Pack(pack.required or "", pack.preferred or "")


def gang_of_clique(value: Watched) -> tuple[str, str] | None:
    """Return namespace and name of the gang that a PodClique belongs to."""
    gang = value.metadata.labels.get(names.LABEL_PODGANG)
    return (value.metadata.namespace or "", gang) if gang else None


@dataclass(frozen=True, slots=True)
class Translation:
    """A gang in the scheduler's words, or why there are none."""

    objects: tuple[Rendered, ...] = ()
    """In the order in which they are written. Objects of the gang that are not listed go."""
    refusals: tuple[str, ...] = ()
    """What the gang asks for and the scheduler cannot do; then there are no objects."""
    remarks: tuple[str, ...] = ()
    """What is left undone although the gang is accepted, such as a preference."""
    preparations: tuple[PodPreparation, ...] = ()
    """Patches of the groups' pods, where the preparation is PerGang."""
    lacks: str = ""
    """Something that it follows from and that is not there yet. Until that comes, which must wake
    the gang, nothing is written for it or said about it."""
    awaits: str = ""
    """What has to happen before the scheduler may know the gang, where objects come after the
    release. The gang is accepted and not programmed; its objects are those above, if any."""


@dataclass(frozen=True, slots=True)
class Words:
    """What the scheduler says about a gang; counts of pods are not its business here."""

    reason: str = ""
    """Why the gang is not placed, in CamelCase; empty when the scheduler says nothing."""
    message: str = ""
    """The scheduler's text, cleaned of noise and with its numbers."""
    disruption: str = ""
    """Who takes the gang's room and why, while that goes on."""
    disruption_reason: str = ""
    """The same in one word, in CamelCase; empty when the scheduler has no word for it."""
    placement_score: float | None = None
    """How good the placement is, where the scheduler says so."""
    remarks: tuple[str, ...] = ()
    """What somebody should know although the gang may be fine, such as a clash."""


class Facts(Protocol):
    """What a pure function may know beside the gang: a frozen look into the caches."""

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods of the gang, terminating ones left out."""
        ...

    @property
    def leaving(self) -> tuple[Pod, ...]:
        """Pods that say that they are of the gang and are terminating."""
        ...

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        """Objects of this kind that the gang controls, as projections."""
        ...

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        """Any object of a kind that the dialect watches, as a projection."""
        ...

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        """All objects of a kind that the dialect only reads; for kinds of which there are few."""
        ...


Translate: TypeAlias = Callable[[PodGang, Facts], Translation]
Mirror: TypeAlias = Callable[[PodGang, Facts], Words]


@dataclass(frozen=True, slots=True)
class Writes:
    """A kind of object that is written for a gang, and watched."""

    resource: Resource
    projection: type[Watched]
    """A msgspec struct with only the fields that `translate` and `mirror` read. Each has a default:
    an object that shows nothing else is taken for one that we have just made."""
    finalizers: tuple[str, ...] = ()
    """Finalizers of the scheduler that may be taken off an object of ours to replace it."""
    news: bool = True
    """Whether a change of its status changes what `mirror` says."""
    tells: Callable[[Watched], object] | None = None
    """The part of it that `mirror` has to be asked about anew, where that is not all of it."""
    rival: str = ""
    """Who else writes objects of these names and what to do about it, said where one is not ours."""

    def __post_init__(self) -> None:
        """Refuse a projection without defaults here, and not when the first object comes."""
        self.projection()


@dataclass(frozen=True, slots=True)
class Reads:
    """A kind of object that is only watched."""

    resource: Resource
    projection: type[Watched]
    selector: Selector = field(default_factory=Selector)
    translated: bool = True
    """Whether a change may change translations: of the gang that the object is about, or, where
    it is about none, of all gangs that are not placed yet."""
    about: Callable[[Watched], tuple[str, str] | None] | None = None
    """Namespace and name of the gang that such an object is news about. `mirror` is asked about it
    anew; without this, about all gangs that are not placed yet."""
    through: Resource | None = None
    """Where that is not a gang: the kind of what it is, which is read too, and is about one. A kind
    that is about several things is listed once for each, with the same selector."""


@dataclass(frozen=True, slots=True)
class Companion:
    """Objects made from something else than a gang, such as a topology from its binding."""

    source: Reads
    writes: Writes
    translate: Callable[[Watched], tuple[Rendered, ...]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of the scheduler's API that this cluster serves, and how it is spoken."""

    name: str
    """Such as `scheduling.k8s.io/v1alpha2`; shown in the record, in metrics and in logs."""
    capabilities: frozenset[str]
    """What was found, not what is hoped for."""
    preparation: PodPreparationSpec
    translate: Translate
    mirror: Mirror
    writes: tuple[Writes, ...] = ()
    reads: tuple[Reads, ...] = ()
    companions: tuple[Companion, ...] = ()
    follows_pods: bool = False
    """Whether a gang is translated again when its pods are released, bound or lost."""
    heeds_held_pods: bool = True
    """Whether a translation may follow from pods that are not released. Where it does not, a gang is
    not translated again when it refers to its members for the first time."""
    surplus_stands_in: bool = False
    """Whether the scheduler takes any pods of a group for its minimum, and not only the members."""
    warning: str = ""
    """What users of this backend must know, such as that gangs are not guaranteed."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The scheduler's API is not there or too old. The process waits for it."""

    missing: str
    """What was looked for and not found."""
    remedy: str
    """What an administrator does about it."""
    preparation: PodPreparationSpec
    """How pods will probably be prepared, for the record to be complete."""
    capabilities: frozenset[str] = frozenset({names.CAPABILITY_GANG})
    """What will probably be found. Gangs then wait for a backend that is not ready, and are not told
    that it could never serve them."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A create that is not carried out, to see whether the server keeps a field.

    Fields of disabled features are dropped without an error, so asking is the only way.
    """

    name: str
    resource: Resource
    manifest: JsonObject
    path: tuple[str, ...]
    """Where the field would be in the answer."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What a backend wants to know about the cluster."""

    groups: tuple[str, ...] = ()
    """API groups whose versions and resources are looked up."""
    definitions: tuple[str, ...] = ()
    """Names of CustomResourceDefinitions whose schemas are read."""
    probes: Callable[["Served"], tuple[Probe, ...]] = lambda _: ()
    """Asked after the rest is known, since a probe needs a version that is served."""


@dataclass(frozen=True, slots=True)
class Served:
    """The answers."""

    resources: frozenset[tuple[str, str, str]] = frozenset()
    """Group, version and plural of everything served in the groups and definitions."""
    schemas: Mapping[tuple[str, str, str], JsonObject] = field(default_factory=dict)
    """OpenAPI schemas of the served versions of the definitions, by group, version, plural."""
    kept: frozenset[str] = frozenset()
    """Names of the probes whose field was kept."""
    kubernetes: str = ""
    """The server's version, for messages only: it says nothing about what is enabled."""

    def has(self, resource: Resource) -> bool:
        """Tell whether a kind is served."""
        return (resource.group, resource.version, resource.plural) in self.resources

    def has_field(self, resource: Resource, *path: str) -> bool:
        """Tell whether the schema of a custom resource has a field; lists are looked into."""
        node: object = self.schemas.get((resource.group, resource.version, resource.plural))
        for name in path:
            while isinstance(node, Mapping) and "items" in node:
                node = node["items"]
            properties = node.get("properties") if isinstance(node, Mapping) else None
            node = properties.get(name) if isinstance(properties, Mapping) else None
        return node is not None


class Options(KubeModel):
    """Settings of one backend; most have some of their own."""

    # A misspelt setting that is silently ignored is the worst kind.
    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Backend:
    """A scheduler that gangs can be given to."""

    name: str
    scheduler_names: tuple[str, ...]
    """Globs of the pods' schedulerName that this backend answers for."""
    scheduling_gate: str
    questions: Questions
    detect: Callable[[Served, Options], Dialect | Absent]
    """Chooses the dialect. The options are of the type below."""
    options: type[Options] = Options
    pod_keys: tuple[str, ...] | None = None
    """Labels and annotations that its preparations set: whole keys, or a domain as `example.com/`. Its
    ClusterRole must grant the same ones, and the policies compare them."""
    release: ReleaseRules = field(default_factory=ReleaseRules)
