"""The ResourceClaims that pods of a set share.

A claim is owned by the level at which it is shared: a set, a scaling group or a PodClique. Names
and labels are Grove's. A template is copied once, at creation, because the spec of a claim is
immutable. A template of another namespace is copied only if its annotation grants that.
`pod_claims` decides which pods use which claim.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import CliqueInstance, GroupInstance
from shared_api import names
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.resources import RESOURCE_CLAIMS
from shared_api.models import (
    JsonObject,
    OwnerReference,
    PodCliqueSet,
    ResourceSharingScope,
    ResourceSharingSpec,
)


class ClaimTemplate(msgspec.Struct, frozen=True):
    """A ResourceClaimTemplate."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that should exist."""

    name: str
    sharing: ResourceSharingSpec
    labels: dict[str, str]


FindTemplate = Callable[[ObjectKey], ClaimTemplate | None]


def claim_name(owner: str, sharing: ResourceSharingSpec, index: int) -> str:
    """Return the name of an owner's claim: one for all its replicas, or one for each."""
    if sharing.scope is ResourceSharingScope.ALL_REPLICAS:
        return f"{owner}-all-{sharing.name}"
    return f"{owner}-{index}-{sharing.name}"


def set_claims(pcs: PodCliqueSet) -> tuple[Claim, ...]:
    """Return the claims of a set itself."""
    name = pcs.metadata.name
    shared = pcs.spec.template.resource_sharing
    indexes = range(pcs.spec.replicas)
    return tuple(_claims(name, shared, indexes, _labels(name), names.LABEL_PCS_REPLICA_INDEX))


def group_claims(pcs: PodCliqueSet, group: GroupInstance) -> tuple[Claim, ...]:
    """Return the claims of a scaling group."""
    labels = {**_labels(pcs.metadata.name), names.LABEL_PCSG: group.name}
    shared, indexes = group.config.resource_sharing, range(group.replicas)
    return tuple(_claims(group.name, shared, indexes, labels, names.LABEL_PCSG_REPLICA_INDEX))


def clique_claims(
    pcs: PodCliqueSet, clique: CliqueInstance, replicas: int, used: Iterable[int]
) -> tuple[Claim, ...]:
    """Return the claims of a PodClique; `used` are the indexes of its pods.

    Scaling in may keep a pod whose index is above the size, and its claim must stay too.
    """
    labels = {**_labels(pcs.metadata.name), names.LABEL_PODCLIQUE: clique.name}
    shared, indexes = clique.template.resource_sharing, sorted({*range(replicas), *used})
    return tuple(_claims(clique.name, shared, indexes, labels, names.LABEL_POD_INDEX))


def external_templates(pcs: PodCliqueSet) -> tuple[ObjectKey, ...]:
    """Return the ResourceClaimTemplates that a set needs besides its own."""
    found = (_external(pcs, sharing) for sharing in _all_sharing(pcs))
    return tuple(dict.fromkeys(key for key in found if key is not None))


def grant(template: ClaimTemplate) -> frozenset[str]:
    """Return the namespaces that may copy a template besides its own; `*` is all of them."""
    listed = template.metadata.annotations.get(names.ANNOTATION_SHARE_WITH, "")
    return frozenset(listed.replace(" ", "").split(",")) - {""}


def is_granted(pcs: PodCliqueSet, template: ClaimTemplate) -> bool:
    """Return whether a set may copy a template."""
    own = pcs.metadata.namespace or ""
    return template.metadata.namespace == own or not grant(template).isdisjoint((own, "*"))


def shares_claims(pcs: PodCliqueSet) -> bool:
    """Return whether pods of the set share any claim."""
    return any(True for _ in _all_sharing(pcs))


def claim_manifest(
    pcs: PodCliqueSet, claim: Claim, owner: OwnerReference, find: FindTemplate
) -> JsonObject:
    """Return a claim; raise LookupError unless its template exists and may be copied."""
    content = _content(pcs, claim.sharing, find)
    metadata: JsonObject = {
        "name": claim.name,
        "namespace": pcs.metadata.namespace,
        "labels": {**_strings(content, "labels"), **claim.labels},
        "ownerReferences": [owner.manifest()],
    }
    if annotations := _strings(content, "annotations"):
        metadata["annotations"] = {**annotations}
    return {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": metadata,
        "spec": content["spec"],
    }


def _claims(
    owner: str,
    shared: Sequence[ResourceSharingSpec],
    indexes: Iterable[int],
    labels: dict[str, str],
    index_label: str,
) -> Iterator[Claim]:
    numbers = tuple(indexes)
    for sharing in shared:
        if sharing.scope is ResourceSharingScope.ALL_REPLICAS:
            yield Claim(claim_name(owner, sharing, 0), sharing, labels)
            continue
        for index in numbers:
            numbered = {**labels, index_label: str(index)}
            yield Claim(claim_name(owner, sharing, index), sharing, numbered)


def _labels(pcs: str) -> dict[str, str]:
    return {**naming.set_labels(pcs), names.LABEL_COMPONENT: names.COMPONENT_RESOURCE_CLAIM}


def _all_sharing(pcs: PodCliqueSet) -> Iterator[ResourceSharingSpec]:
    template = pcs.spec.template
    yield from template.resource_sharing
    for group in template.pod_clique_scaling_groups:
        yield from group.resource_sharing
    for clique in template.cliques:
        yield from clique.resource_sharing


def _external(pcs: PodCliqueSet, sharing: ResourceSharingSpec) -> ObjectKey | None:
    if sharing.namespace:
        return ObjectKey(sharing.namespace, sharing.name)
    own = {template.name for template in pcs.spec.template.resource_claim_templates}
    if sharing.name in own:
        return None
    return ObjectKey(pcs.metadata.namespace or "", sharing.name)


def _content(pcs: PodCliqueSet, sharing: ResourceSharingSpec, find: FindTemplate) -> JsonObject:
    """Return the spec of a template: metadata and spec of its claims."""
    key = _external(pcs, sharing)
    if key is None:
        templates = pcs.spec.template.resource_claim_templates
        return next(found.template_spec for found in templates if found.name == sharing.name)
    found = find(key)
    if found is None or not is_granted(pcs, found):
        raise LookupError(f"there is no ResourceClaimTemplate {key} to copy")
    return found.spec


def _strings(content: JsonObject, field: str) -> dict[str, str]:
    metadata = content.get("metadata")
    found = metadata.get(field) if isinstance(metadata, dict) else None
    return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}
