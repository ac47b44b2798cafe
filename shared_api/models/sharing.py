"""ResourceClaims that the pods of a workload share.

A claim template is either written into the PodCliqueSet or an object of its own; sharing
says at which level one claim is made from it, and which children use it.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from shared_api.models.cel import items, unchanged
from shared_api.models.meta import KubeModel, Name
from shared_api.models.schema import JsonObject, Rule, Structural, list_set

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

MAX_SHARED = 32
"""Bound of every list of claims: rules look each entry up in the templates."""

MAX_CLAIMS = 20_000
"""ResourceClaims that one set may have in all."""


class ResourceClaimTemplateConfig(KubeModel):
    """A claim template that lives in the set."""

    RULES: ClassVar = (
        Rule(
            check="has(self.templateSpec.spec.devices) && has(self.templateSpec.spec.devices.requests)"
            " && size(self.templateSpec.spec.devices.requests) >= 1",
            message="a claim template needs at least one entry in spec.devices.requests",
            field=".templateSpec",
            reason="FieldValueRequired",
        ),
        Rule(
            check="self == oldSelf",
            message="resource claim templates are fixed at creation",
            field=".templateSpec",
            reason="FieldValueForbidden",
        ),
    )

    name: Name
    """Name under which resourceSharing refers to the template."""

    template_spec: Annotated[JsonObject, Structural(_CLAIM_TEMPLATE)]
    """The template, as in resource.k8s.io/v1 ResourceClaimTemplateSpec; stored as written."""


class ResourceSharingScope(StrEnum):
    """How many claims are made from a template."""

    ALL_REPLICAS = "AllReplicas"
    PER_REPLICA = "PerReplica"


class ResourceSharingSpec(KubeModel):
    """One shared claim."""

    name: Name
    """Name of the claim template: one of this set, else a ResourceClaimTemplate object."""

    namespace: Annotated[str, Field(max_length=63)] | None = None
    """Namespace of the ResourceClaimTemplate object; that of the set when absent.

    A template of another namespace must list this one in its annotation grove.io/share-with."""

    scope: ResourceSharingScope
    """AllReplicas: one claim for all replicas of this level. PerReplica: one for each."""


ChildNames = Annotated[tuple[Name, ...], list_set(at_most=64)]


class PodCliqueSetSharingFilter(KubeModel):
    """Children of the set that use a claim."""

    RULES: ClassVar = (
        Rule(
            check="(has(self.childCliqueNames) && size(self.childCliqueNames) > 0)"
            " || (has(self.childScalingGroupNames) && size(self.childScalingGroupNames) > 0)",
            message="a filter names at least one clique or scaling group; without a filter all use the claim",
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
    """Who uses the claim; everybody when absent."""


class ScalingGroupSharingFilter(KubeModel):
    """Cliques of the group that use a claim."""

    child_clique_names: Annotated[tuple[Name, ...], list_set(at_least=1, at_most=64)]
    """Cliques that use the claim."""


class ScalingGroupResourceSharingSpec(ResourceSharingSpec):
    """One claim that is shared across cliques of a scaling group."""

    filter: ScalingGroupSharingFilter | None = None
    """Who uses the claim; every clique of the group when absent."""


FIXED_SHARING = Rule(
    check=unchanged(items("self.resourceSharing")),
    message="resource sharing is fixed at creation",
    field=".resourceSharing",
    reason="FieldValueForbidden",
)
