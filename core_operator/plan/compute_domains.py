"""ComputeDomains: GPUs of one replica that reach each other over multi-node NVLink.

A clique joins a group by annotation, its own before that of its scaling group before that of
its set; only cliques whose containers ask for GPUs count. Each replica has one ComputeDomain per
group. The domain names a claim template, which its driver makes, and pods claim from that. The
names are Grove's. Whether a cluster can do this at all is for the caller to know.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from core_operator.plan import naming
from core_operator.plan.expansion import CliqueInstance
from core_operator.plan.pod_claims import CONTAINER_LISTS, using
from shared_api import names
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject, PodCliqueSet, PodCliqueTemplateSpec

COMPUTE_DOMAINS = Resource("resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain")
GPU = "nvidia.com/gpu"
POD_CLAIM = "mnnvl-claim"

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Domain:
    """A ComputeDomain that should exist."""

    name: str
    group: str
    pcs_index: int


def wrong_group(pcs: PodCliqueSet) -> str | None:
    """What the set's own annotation says, if that is no name; of the others the CRD sees to it."""
    said = pcs.metadata.annotations.get(names.ANNOTATION_MNNVL_GROUP)
    return said if said and not _NAME.fullmatch(said) else None


def asks_for_group(pcs: PodCliqueSet) -> bool:
    """Tell whether a group is named anywhere in the set, GPUs or not."""
    template = pcs.spec.template
    annotations = (
        pcs.metadata.annotations,
        *(clique.annotations for clique in template.cliques),
        *(group.annotations for group in template.pod_clique_scaling_groups),
    )
    return any(_said(found) not in (None, names.MNNVL_GROUP_NONE) for found in annotations)


def domains(pcs: PodCliqueSet) -> tuple[Domain, ...]:
    """The ComputeDomains of a set, replica by replica."""
    groups = sorted(
        {group for clique in pcs.spec.template.cliques if (group := _group(pcs, clique))}
    )
    return tuple(
        Domain(domain_name(pcs.metadata.name, index, group), group, index)
        for index in range(pcs.spec.replicas)
        for group in groups
    )


def domain_name(pcs: str, pcs_index: int, group: str) -> str:
    """A ComputeDomain, and the claim template that comes with it."""
    return f"{pcs}-{pcs_index}-{group}"


def domain_manifest(pcs: PodCliqueSet, domain: Domain) -> JsonObject:
    """The ComputeDomain of one group of a replica."""
    labels = {
        **naming.replica_labels(pcs.metadata.name, domain.pcs_index),
        names.LABEL_APP_NAME: domain.name,
        names.LABEL_COMPONENT: names.COMPONENT_COMPUTE_DOMAIN,
        names.LABEL_MNNVL_GROUP: domain.group,
    }
    return {
        "apiVersion": COMPUTE_DOMAINS.api_version,
        "kind": COMPUTE_DOMAINS.kind,
        "metadata": {
            "name": domain.name,
            "namespace": pcs.metadata.namespace,
            "labels": {**labels},
            "ownerReferences": [naming.controller_reference(pcs).manifest()],
        },
        "spec": {
            # As many nodes as pods come to; a number would have to be right before any starts.
            "numNodes": 0,
            "channel": {"resourceClaimTemplate": {"name": domain.name}},
        },
    }


def with_domain(pod: JsonObject, pcs: PodCliqueSet, clique: CliqueInstance) -> JsonObject:
    """The pod, whose containers with GPUs use the domain of their replica; as it is without one."""
    group = _group(pcs, clique.template)
    if group is None:
        return pod
    template = domain_name(pcs.metadata.name, clique.pcs_index, group)
    entry: JsonObject = {"name": POD_CLAIM, "resourceClaimTemplateName": template}
    return using(pod, [entry], _has_gpus)


def _group(pcs: PodCliqueSet, clique: PodCliqueTemplateSpec) -> str | None:
    """The group whose domain a clique is in."""
    if not any(map(_has_gpus, _containers(clique.spec.pod_spec))):
        return None
    configs = pcs.spec.template.pod_clique_scaling_groups
    config = next((found for found in configs if clique.name in found.clique_names), None)
    inherited = _said(config.annotations) if config is not None else None
    said = _said(clique.annotations) or inherited or _said(pcs.metadata.annotations)
    return None if said == names.MNNVL_GROUP_NONE else said


def _said(annotations: Mapping[str, str]) -> str | None:
    return annotations.get(names.ANNOTATION_MNNVL_GROUP) or None


def _containers(pod_spec: JsonObject) -> Iterator[JsonObject]:
    for field in CONTAINER_LISTS:
        found = pod_spec.get(field)
        if isinstance(found, list):
            yield from (container for container in found if isinstance(container, dict))


def _has_gpus(container: JsonObject) -> bool:
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return False
    return any(_amount(resources.get(field)) for field in ("requests", "limits"))


def _amount(amounts: JsonValue) -> bool:
    said = amounts.get(GPU) if isinstance(amounts, dict) else None
    # A quantity of zero has no digit but zeros, however it is written.
    return said is not None and any(digit in "123456789" for digit in str(said))
