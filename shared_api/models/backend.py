"""SchedulerBackend: the record with which a backend registers itself at core.

A backend applies its record at start; the record stays when the backend is scaled to zero.
It says as data everything that differs between schedulers and that core has to obey: how
pods are prepared, which gate holds them, and when the gate may go. Core knows these words,
and no scheduler.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.meta import Conditions, KubeModel, KubeObject, NamespacedName
from shared_api.models.patch import RESERVED_KEYS, SCHEDULERS_KEYS, PodPatches
from shared_api.models.schema import Int64, Markers, Rule, list_set, rules

# All labels and annotations that a record has core set on pods, or remove from them.
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
    """Where the patch of a pod comes from."""

    STATIC = "Static"
    PER_GANG = "PerGang"


class PodPreparationSpec(PodPatches):
    """How pods are prepared before they are created."""

    RULES: ClassVar = (
        Rule(
            check="self.mode == 'Static' || (!has(self.members) && !has(self.surplus))",
            message="members and surplus belong to mode Static;"
            " with PerGang they are in status.podPreparations of each PodGang",
            reason="FieldValueForbidden",
        ),
    )

    mode: PreparationMode
    """Static: the patches below. PerGang: those in the status of the PodGang, which core waits for."""


class SurplusRelease(StrEnum):
    """When pods above the minimum are released."""

    WITH_MEMBERS = "WithMembers"
    AFTER_SCHEDULED = "AfterScheduled"


class ProgramsRelease(StrEnum):
    """What comes first: the scheduler's own object or the release of the pods."""

    BEFORE_RELEASE = "BeforeRelease"
    AFTER_RELEASE = "AfterRelease"


class MemberLost(StrEnum):
    """What is done about a member that is lost between release and placement of its gang."""

    REPLACE = "Replace"
    RECREATE_GANG = "RecreateGang"


class AfterBound(KubeModel):
    """What is taken off a member once it is bound."""

    drop_annotations: Annotated[
        tuple[Annotated[str, Field(max_length=317)], ...], list_set(at_least=1, at_most=32)
    ]
    """Keys of annotations that the scheduler must not find again when it is restarted."""


class ReleaseRules(KubeModel):
    """When core lifts the gate, and what it does around that."""

    surplus: SurplusRelease = SurplusRelease.WITH_MEMBERS
    """WithMembers: surplus pods go with the gang. AfterScheduled: once its minimum is bound."""

    programs: ProgramsRelease = ProgramsRelease.BEFORE_RELEASE
    """BeforeRelease: pods wait for the Programmed condition. AfterRelease: the backend waits for
    every existing member to be released; pods then wait for Accepted, and for Programmed to be
    withdrawn if all members of a gang were lost."""

    member_lost: MemberLost = MemberLost.REPLACE
    """Replace: only the lost member is created again. RecreateGang: all members that are not bound
    are, and they wait for fresh preparation."""

    after_bound: AfterBound | None = None
    """What is taken off a member once it is bound."""


class SchedulerBackendSpec(KubeModel):
    """What core has to know about a scheduler."""

    RULES: ClassVar = (
        Rule(
            check=f"!({_KEYS}).exists(k, {_IS_RESERVED})",
            message="a backend may not set labels and annotations without a domain, or of"
            " kubernetes.io, k8s.io and grove.io, other than those for scheduling",
            reason="FieldValueForbidden",
        ),
        Rule(
            check=f"!has(self.podKeys) || ({_KEYS}).all(k, {_IS_LISTED})",
            message="labels and annotations of patches and afterBound must be listed in podKeys",
            field=".podKeys",
            reason="FieldValueForbidden",
        ),
    )

    scheduler_names: Annotated[
        tuple[Annotated[str, Field(max_length=253)], ...], list_set(at_least=1, at_most=32)
    ]
    """Names of pods' schedulers that the backend answers for; `*` and `?` are wildcards and the empty
    string stands for pods that name none."""

    capabilities: Annotated[
        tuple[
            Annotated[str, Field(max_length=63, pattern=r"^[A-Z][A-Za-z0-9]*$")],
            ...,
        ],
        list_set(at_most=64),
    ] = ()
    """What the scheduler can do, as found in this cluster. A gang that needs more is not accepted.
    PlainScheduling: whoever runs this cluster wants gangs to be taken without Gang, pod by pod."""

    preparation: PodPreparationSpec
    """How pods are prepared."""

    pod_keys: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=317)], ...] | None,
        list_set(at_most=8),
    ] = None
    """Labels and annotations that patches may set, here and in PodGangs: whole keys, or all keys of
    a domain as `example.com/`. When absent, every key that is not reserved."""

    scheduling_gate: _QualifiedName
    """Gate with which core creates the pods, and which core alone removes."""

    release: Annotated[ReleaseRules, Markers({"default": {}})] = Field(default_factory=ReleaseRules)
    """When the gate goes."""

    lease: NamespacedName | None = None
    """Lease that the backend renews while it lives. Without one it is never alive."""


class SchedulerBackendStatus(KubeModel):
    """What is known about the backend."""

    conditions: Conditions = ()
    """Current state by aspect. The backend writes Ready, core writes Available."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the status describes."""

    last_heartbeat: datetime | None = None
    """When the backend was last known to live."""

    api_versions: Annotated[tuple[str, ...], list_set()] = ()
    """API versions of the scheduler that were found served, the one in use among them."""

    dialect: str | None = None
    """The API version, or variant of it, that is in use."""


class SchedulerBackend(KubeObject):
    """A scheduler that gangs can be given to."""

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
    """What core has to know."""

    status: SchedulerBackendStatus | None = None
    """Whether it works."""
