"""ResourceClaims that the pods of a workload share.

A claim template is part of the PodCliqueSet or an object of its own. `resourceSharing` defines at
which level a claim is created from it, and which children use the claim.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from shared_api.models.cel import items, unchanged
from shared_api.models.meta import KubeModel, Name
from shared_api.models.schema import JsonObject, Rule, Structural, immutable, list_set

_OPEN: dict[str, JsonValue] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _strings(description: str) -> JsonObject:
    values: JsonObject = {"type": "string"}
    return {"description": description, "type": "object", "additionalProperties": values}


_CLAIM_TEMPLATE: JsonObject = {
    **_OPEN,
    "required": ["spec"],
    "properties": {
        "metadata": {
            **_OPEN,
            "description": "Labels and annotations of the claims.",
            "properties": {
                "labels": _strings("Labels of the claims."),
                "annotations": _strings("Annotations of the claims."),
            },
        },
        "spec": {
            **_OPEN,
            "description": "Spec of the claims, as in resource.k8s.io/v1.",
            "properties": {
                "devices": {
                    **_OPEN,
                    "description": "The devices that are claimed.",
                    "properties": {
                        "requests": {
                            "description": "At least one request.",
                            "type": "array",
                            "items": {**_OPEN, "description": "One request for devices."},
                            "x-kubernetes-list-type": "atomic",
                        }
                    },
                }
            },
        },
    },
}


def _entries(field: str) -> str:
    path = "self.templateSpec.metadata"
    return f"(has({path}) && has({path}.{field}) ? {path}.{field} : {{}})"


_LABELS, _ANNOTATIONS = _entries("labels"), _entries("annotations")

MAX_SHARED = 32
"""Maximum of every list of claims. Rules search the templates for each entry, so it needs a bound."""

MAX_CLAIMS = 20_000
"""Maximum of ResourceClaims of one set."""


class ResourceClaimTemplateConfig(KubeModel):
    """A claim template that is part of the set."""

    RULES: ClassVar = (
        Rule(
            check="has(self.templateSpec.spec.devices) && has(self.templateSpec.spec.devices.requests)"
            " && size(self.templateSpec.spec.devices.requests) >= 1",
            message="at least one device request is required: add one to spec.devices.requests",
            field=".templateSpec",
            reason="FieldValueRequired",
        ),
        # Field by field: a Go client adds an empty `metadata`, or one with a creationTimestamp.
        immutable(
            " && ".join(map(unchanged, ("self.templateSpec.spec", _LABELS, _ANNOTATIONS))),
            "a claim template cannot be changed",
            ".templateSpec",
        ),
    )

    name: Name
    """Name that resourceSharing refers to."""

    template_spec: Annotated[JsonObject, Structural(_CLAIM_TEMPLATE)]
    """ResourceClaimTemplateSpec of resource.k8s.io/v1, stored as written."""


class ResourceSharingScope(StrEnum):
    """How many claims are created from a template."""

    ALL_REPLICAS = "AllReplicas"
    PER_REPLICA = "PerReplica"


class ResourceSharingSpec(KubeModel):
    """One shared claim."""

    name: Name
    """Name of a claim template of this set, or else of a ResourceClaimTemplate object."""

    namespace: Annotated[str, Field(max_length=63)] | None = None
    """Namespace of the ResourceClaimTemplate object. Defaults to that of the set. A template in
    another namespace must list the set's namespace in its annotation grove.io/share-with."""

    scope: ResourceSharingScope
    """AllReplicas: one claim for all replicas of this level. PerReplica: one for each."""


ChildNames = Annotated[tuple[Name, ...], list_set(at_most=64)]


class PodCliqueSetSharingFilter(KubeModel):
    """Children of the set that use a claim."""

    RULES: ClassVar = (
        Rule(
            check="(has(self.childCliqueNames) && size(self.childCliqueNames) > 0)"
            " || (has(self.childScalingGroupNames) && size(self.childScalingGroupNames) > 0)",
            message="filter must specify at least one childCliqueNames or childScalingGroupNames entry;"
            " without a filter all cliques use the claim",
            reason="FieldValueRequired",
        ),
    )

    child_clique_names: ChildNames = ()
    """Cliques that use the claim."""

    child_scaling_group_names: ChildNames = ()
    """Scaling groups whose cliques use the claim."""


class PodCliqueSetResourceSharingSpec(ResourceSharingSpec):
    """One claim that is shared across cliques of the set."""

    filter: PodCliqueSetSharingFilter | None = None
    """Which children use the claim. Defaults to all."""


class ScalingGroupSharingFilter(KubeModel):
    """Cliques of the group that use a claim."""

    RULES: ClassVar = (
        Rule(
            check="has(self.childCliqueNames) && size(self.childCliqueNames) > 0",
            message="filter must specify at least one childCliqueNames entry; without a filter every"
            " clique of the group uses the claim",
            reason="FieldValueRequired",
        ),
    )

    child_clique_names: ChildNames = ()
    """Cliques that use the claim."""


class ScalingGroupResourceSharingSpec(ResourceSharingSpec):
    """One claim that is shared across cliques of a scaling group."""

    filter: ScalingGroupSharingFilter | None = None
    """Which cliques use the claim. Defaults to every clique of the group."""


FIXED_SHARING = immutable(
    unchanged(items("self.resourceSharing")),
    "resource sharing cannot be changed",
    ".resourceSharing",
)
