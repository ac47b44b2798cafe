"""The shared ResourceClaims in a pod's spec.

A pod uses the claims of its set, its scaling group and its PodClique whose filters include it, in
every container of the template. Containers that core adds later use none.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from pydantic import JsonValue

from core_operator.plan.layout.expansion import CliqueInstance
from core_operator.plan.manifests.claims import claim_name
from core_operator.plan.manifests.podcliques import CONTAINER_LISTS
from shared_api.models import (
    JsonObject,
    PodCliqueSet,
    PodCliqueSetResourceSharingSpec,
    ResourceSharingScope,
    ResourceSharingSpec,
    ScalingGroupResourceSharingSpec,
)

Chooses = Callable[[JsonObject], bool]
"""Whether a container uses a claim."""

_LONGEST_NAME = 63


def claims_of_pod(pcs: PodCliqueSet, clique: CliqueInstance, pod_index: int) -> tuple[str, ...]:
    """Return the claims that a pod uses: of the set, of its group, of its PodClique."""
    of_set = [sharing for sharing in pcs.spec.template.resource_sharing if _is_for(sharing, clique)]
    found = [*_names(pcs.metadata.name, of_set, clique.pcs_index)]
    if clique.group is not None and clique.group_index is not None:
        shared = clique.group.config.resource_sharing
        of_group = [sharing for sharing in shared if _is_for_member(sharing, clique)]
        found += _names(clique.group.name, of_group, clique.group_index)
    found += _names(clique.name, clique.template.resource_sharing, pod_index)
    return tuple(found)


def with_claims(pod: JsonObject, claims: Sequence[str]) -> JsonObject:
    """Return the pod with these claims used in all its containers."""
    if not claims:
        return pod
    entries: list[JsonObject] = [
        {"name": local_name(claim), "resourceClaimName": claim} for claim in claims
    ]
    return using(pod, entries, lambda _: True)


def using(pod: JsonObject, entries: Sequence[JsonObject], by: Chooses) -> JsonObject:
    """Return the pod with these `resourceClaims`, used by the chosen containers."""
    spec = pod["spec"]
    assert isinstance(spec, dict)
    named = [str(entry["name"]) for entry in entries]
    present = spec.get("resourceClaims")
    users = present if isinstance(present, list) else []
    changed: JsonObject = {
        key: _each_using(value, named, by) if key in CONTAINER_LISTS else value
        for key, value in spec.items()
    }
    return {**pod, "spec": {**changed, "resourceClaims": [*users, *entries]}}


def local_name(claim: str) -> str:
    """Return the name of a claim inside a pod: its own if that is valid there."""
    if len(claim) <= _LONGEST_NAME and "." not in claim:
        return claim
    return f"claim-{hashlib.blake2b(claim.encode(), digest_size=8).hexdigest()}"


def _names(owner: str, shared: Sequence[ResourceSharingSpec], index: int) -> Iterator[str]:
    """Yield the names, those for all replicas first, like Grove."""
    for scope in (ResourceSharingScope.ALL_REPLICAS, ResourceSharingScope.PER_REPLICA):
        yield from (
            claim_name(owner, sharing, index) for sharing in shared if sharing.scope is scope
        )


def _is_for(sharing: PodCliqueSetResourceSharingSpec, clique: CliqueInstance) -> bool:
    chosen = sharing.filter
    if chosen is None or clique.template.name in chosen.child_clique_names:
        return True
    return clique.group is not None and clique.group.config.name in chosen.child_scaling_group_names


def _is_for_member(sharing: ScalingGroupResourceSharingSpec, clique: CliqueInstance) -> bool:
    return sharing.filter is None or clique.template.name in sharing.filter.child_clique_names


def _each_using(containers: JsonValue, named: Iterable[str], by: Chooses) -> JsonValue:
    if not isinstance(containers, list):
        return containers
    added: list[JsonValue] = [{"name": name} for name in named]
    return [
        _using(container, added) if isinstance(container, dict) and by(container) else container
        for container in containers
    ]


def _using(container: JsonObject, added: list[JsonValue]) -> JsonObject:
    resources = container.get("resources")
    present = resources if isinstance(resources, dict) else {}
    claims = present.get("claims")
    users = claims if isinstance(claims, list) else []
    return {**container, "resources": {**present, "claims": [*users, *added]}}
