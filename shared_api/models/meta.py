"""What all kinds share: the base classes, metadata, conditions and status.

Models are frozen values. They drop unknown fields when they read an object. They write only the
fields that were set, because server-side apply makes the writer the owner of every field it sends.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from shared_api.models.schema import (
    VALIDATIONS,
    Int64,
    JsonObject,
    Markers,
    Rule,
    Structural,
    list_map,
)


class KubeModel(BaseModel):
    """A frozen value with camelCase keys; its attribute docstrings are the CRD's descriptions."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    RULES: ClassVar[tuple[Rule, ...]] = ()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        if cls.RULES:
            # Assigned, not appended: pydantic may call this more than once per class.
            resolved = handler.resolve_ref_schema(schema)
            resolved[VALIDATIONS] = [rule.to_json() for rule in cls.RULES]
        return schema

    def manifest(self) -> JsonObject:
        """Return the fields that were set as JSON, with camelCase keys."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class OwnerReference(KubeModel):
    """The object whose deletion deletes this object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(KubeModel):
    """The part of metadata that controllers read or write."""

    name: str = ""
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


_METADATA: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}}


class KubeObject(KubeModel):
    """A top-level object; subclasses pin `API_VERSION` and `KIND`."""

    API_VERSION: ClassVar[str]
    KIND: ClassVar[str]

    # The server has its own schema for metadata. A CRD may repeat only `name`, so that rules read it.
    metadata: Annotated[ObjectMeta, Structural(_METADATA)] = Field(default_factory=ObjectMeta)

    @classmethod
    def parse(cls, raw: bytes | str) -> Self:
        """Decode an object that the API server sent."""
        return cls.model_validate_json(raw)

    def manifest(self) -> JsonObject:
        """Return the object as it is applied."""
        return {"apiVersion": self.API_VERSION, "kind": self.KIND, **super().manifest()}


class Condition(KubeModel):
    """One aspect of an object's current state, as in metav1.Condition."""

    type: Annotated[
        str,
        Field(
            max_length=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    ]
    """Type of the condition, in CamelCase."""

    status: Literal["True", "False", "Unknown"]
    """True, False or Unknown."""

    reason: Annotated[
        str,
        Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    """Reason of the last transition as one CamelCase word, for programs."""

    message: Annotated[str, Field(max_length=32768)]
    """Details for people: what is wrong, why, and what to do."""

    last_transition_time: datetime
    """When the status of the condition last changed."""

    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """Generation of the spec that the condition is based on."""

    def after(self, previous: "Condition | None") -> "Condition":
        """Return this condition with the transition time of `previous` if the status is the same."""
        if previous is None or previous.status != self.status:
            return self
        return self.model_copy(update={"last_transition_time": previous.last_transition_time})


Conditions = Annotated[tuple[Condition, ...], list_map("type")]
"""Keyed by type: each writer applies its own types and cannot remove those of another writer."""


class KubeStatus(KubeModel):
    """What every status has."""

    conditions: Conditions = ()
    """Current state by condition type."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the status describes."""


class LastError(KubeModel):
    """A failed reconciliation that may require manual action."""

    code: str
    """Code of the error."""

    description: str
    """What went wrong."""

    observed_at: datetime
    """When the error occurred."""


class NamespacedName(KubeModel):
    """A reference to an object by name."""

    namespace: str
    """Namespace of the object."""

    name: str
    """Name of the object."""


Name = Annotated[str, Field(min_length=1, max_length=63)]

_LabelValue = Annotated[
    str,
    Field(max_length=63, pattern=r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"),
]
# The server accepts 256 KiB of annotations per object. The bound gives rules a finite cost.
_AnnotationValue = Annotated[str, Field(max_length=262144)]

_LABEL_KEYS = Rule(
    check="self.all(k, !format.qualifiedName().validate(k).hasValue())",
    message="keys must be qualified names such as name or example.com/name",
)

LabelMap = Annotated[
    dict[str, _LabelValue],
    Markers({"x-kubernetes-map-type": "granular", "maxProperties": 64}, rules=(_LABEL_KEYS,)),
]
# Unlike in labels, the prefix of a key may have upper-case letters.
_ANNOTATION_KEYS = Rule(
    check="self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())",
    message="keys must be qualified names such as name or example.com/name",
)
AnnotationMap = Annotated[
    dict[str, _AnnotationValue],
    Markers({"x-kubernetes-map-type": "granular", "maxProperties": 256}, rules=(_ANNOTATION_KEYS,)),
]
