"""SchedulerBackend: the object with which a backend registers itself.

A backend applies its object at start. The object stays when the backend is scaled to zero. It
contains all differences between schedulers that core must respect: how pods are prepared, which
gate they are created with, and when core removes the gate. Core knows no scheduler by name.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.compute import NodeLocation, Price
from shared_api.models.meta import KubeModel, KubeObject, KubeStatus, NamespacedName
from shared_api.models.patch import RESERVED_KEYS, SCHEDULERS_KEYS, PodPatches
from shared_api.models.schema import Int32, Markers, Rule, forbidden, list_set, rules

# All label and annotation keys that core sets on pods, or removes, for this backend.
_KEYS = " + ".join(
    (
        *(
            f"(has(self.preparation.{of}) && has(self.preparation.{of}.{kind})"
            f" ? self.preparation.{of}.{kind}.map(k, k) : [])"
            for of in ("members", "surplus")
            for kind in ("labels", "annotations")
        ),
        "(has(self.release.afterBound) ? self.release.afterBound.dropAnnotations : [])",
    )
)
_IS_RESERVED = f"k.matches('{RESERVED_KEYS}') && !k.matches('{SCHEDULERS_KEYS}')"
_IS_LISTED = "self.podKeys.exists(p, k == p || (p.endsWith('/') && k.startsWith(p)))"

_QualifiedName = Annotated[
    str,
    Field(min_length=1, max_length=316),
    rules(
        Rule(
            check="!format.qualifiedName().validate(self).hasValue()",
            message="must be a qualified name such as example.com/name",
        )
    ),
]


class PreparationMode(StrEnum):
    """Where the patches of pods are."""

    STATIC = "Static"
    PER_GANG = "PerGang"


class PodPreparationSpec(PodPatches):
    """How core prepares pods before it creates them."""

    RULES: ClassVar = (
        forbidden(
            "self.mode == 'Static' || (!has(self.members) && !has(self.surplus))",
            "members and surplus belong to mode Static;"
            " with PerGang they are in status.podPreparations of each PodGang",
        ),
    )

    mode: PreparationMode
    """Static: core uses the patches in this object. PerGang: core waits for those in the PodGang's status."""


class SurplusRelease(StrEnum):
    """When core ungates pods above the minimum."""

    WITH_MEMBERS = "WithMembers"
    AFTER_SCHEDULED = "AfterScheduled"


class ProgramsRelease(StrEnum):
    """Whether the scheduler's own object exists before or after core ungates the pods."""

    BEFORE_RELEASE = "BeforeRelease"
    AFTER_RELEASE = "AfterRelease"


class MemberLost(StrEnum):
    """What core does if a member is lost after it was ungated and before its gang is scheduled."""

    REPLACE = "Replace"
    RECREATE_GANG = "RecreateGang"


class AfterBound(KubeModel):
    """What core removes from a member once it is bound."""

    drop_annotations: Annotated[
        tuple[Annotated[str, Field(max_length=317)], ...], list_set(at_least=1, at_most=32)
    ]
    """Keys of annotations that the scheduler must not read again after a restart."""


class ReleaseRules(KubeModel):
    """When core ungates pods, and what it does before and after."""

    surplus: SurplusRelease = SurplusRelease.WITH_MEMBERS
    """WithMembers: surplus pods are ungated with the gang. AfterScheduled: once its minimum is bound."""

    programs: ProgramsRelease = ProgramsRelease.BEFORE_RELEASE
    """BeforeRelease: pods stay gated until Programmed is True. AfterRelease: pods stay gated until
    Accepted is True, and the backend waits until every existing member is ungated. If all members of
    a gang were lost, pods also wait until Programmed is removed."""

    member_lost: MemberLost = MemberLost.REPLACE
    """Replace: core recreates the lost member only. RecreateGang: core recreates all members that are
    not bound, after the backend has prepared them again."""

    after_bound: AfterBound | None = None
    """What core removes from a member once it is bound."""

    bind_timeout_seconds: Annotated[Int32, Field(ge=1, le=86400)] | None = None
    """Seconds in which the minimum of a released gang must be bound. If it is not, core deletes the
    ungated pods of the gang and creates them again with the gate. Then the gang waits, each time longer.
    A gang whose minimum was bound is never deleted by this rule. If absent, there is no timeout."""


class SchedulerBackendSpec(KubeModel):
    """What core needs to know about a scheduler."""

    RULES: ClassVar = (
        forbidden(
            f"!({_KEYS}).exists(k, {_IS_RESERVED})",
            "a backend may not set labels and annotations without a domain, or of"
            " kubernetes.io, k8s.io and grove.io, other than those for scheduling",
        ),
        forbidden(
            f"!has(self.podKeys) || ({_KEYS}).all(k, {_IS_LISTED})",
            "labels and annotations of patches and afterBound must be listed in podKeys",
            ".podKeys",
        ),
    )

    kind: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """Kind of the backend, which several instances may share. If absent, the name of this object."""

    scheduler_names: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...], list_set(at_least=1, at_most=32)
    ]
    """Values of a pod's schedulerName that the backend serves. `*` and `?` are wildcards. The empty
    string matches pods without a schedulerName."""

    capabilities: Annotated[
        tuple[
            Annotated[str, Field(max_length=63, pattern=r"^[A-Z][A-Za-z0-9]*$")],
            ...,
        ],
        list_set(at_most=64),
    ] = ()
    """What the scheduler supports in this cluster. A gang that needs more is not accepted.
    GangByTimeout: without Gang, core keeps gangs whole by release.bindTimeoutSeconds. PlainScheduling:
    the administrator permits scheduling pod by pod where Gang is missing."""

    preparation: PodPreparationSpec
    """How core prepares pods."""

    pod_keys: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=317)], ...] | None,
        list_set(at_most=8),
    ] = None
    """Labels and annotations that patches may set, in this object and in PodGangs: keys, or
    `example.com/` for all keys of a domain. If absent, every key that is not reserved."""

    scheduling_gate: _QualifiedName
    """Scheduling gate that core creates the pods with. Only core removes it."""

    release: Annotated[ReleaseRules, Markers({"default": {}})] = Field(default_factory=ReleaseRules)
    """When core removes the gate."""

    location: NodeLocation | None = None
    """Where the machines of this instance are, if they are all in one place."""

    price: Price | None = None
    """What the machines of this instance cost. Absent: unknown."""

    lease: NamespacedName | None = None
    """Lease that the backend renews while it runs. Without a Lease the backend is never available."""

    deployment: NamespacedName | None = None
    """Deployment that runs the backend; messages name it. If absent, it has the name of the Lease."""


class SchedulerBackendStatus(KubeStatus):
    """Observed state of the backend. The backend sets Ready, core sets Available."""

    last_heartbeat: datetime | None = None
    """When the backend last reported that it is running."""

    api_versions: Annotated[tuple[str, ...], list_set()] = ()
    """API versions of the scheduler that the cluster serves."""

    dialect: str | None = None
    """API version of the scheduler that the backend uses, or a variant of it."""

    schedulers: str | None = None
    """The schedulerNames of the spec as one text, for `kubectl get`."""


class SchedulerBackend(KubeObject):
    """A scheduler that can schedule gangs."""

    RULES: ClassVar = (
        Rule(
            check="!self.metadata.name.contains('.') && size(self.metadata.name) <= 63",
            message="metadata.name must be usable as a label value without '.', of at most 63 characters",
            field=".metadata.name",
        ),
    )

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "SchedulerBackend"

    spec: SchedulerBackendSpec
    """What core needs to know about the scheduler."""

    status: SchedulerBackendStatus | None = None
    """Observed state of the backend."""
