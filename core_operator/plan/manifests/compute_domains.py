"""ComputeDomains: GPUs of one replica that are connected by multi-node NVLink.

A clique joins a group by an annotation: its own, else that of its scaling group, else that of its
set. Only cliques with GPUs count. Each replica has one ComputeDomain per group. The domain names a
ResourceClaimTemplate, which its driver creates and pods use. The names are Grove's. The caller
checks whether the cluster serves ComputeDomains.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import CliqueInstance
from core_operator.plan.manifests.pod_claims import using
from core_operator.plan.manifests.podcliques import CONTAINER_LISTS
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


def invalid_group(pcs: PodCliqueSet) -> str | None:
    """Return the set's annotation if it is not a valid name; the CRD validates the others."""
    group = pcs.metadata.annotations.get(names.ANNOTATION_MNNVL_GROUP)
    return group if group and not _NAME.fullmatch(group) else None


def names_group(pcs: PodCliqueSet) -> bool:
    """Return whether the set names a group anywhere, with or without GPUs."""
    template = pcs.spec.template
    annotations = (
        pcs.metadata.annotations,
        *(clique.annotations for clique in template.cliques),
        *(group.annotations for group in template.pod_clique_scaling_groups),
    )
    return any(_group_in(found) not in (None, names.MNNVL_GROUP_NONE) for found in annotations)


def domains(pcs: PodCliqueSet) -> tuple[Domain, ...]:
    """Return the ComputeDomains of a set, replica by replica."""
    groups = sorted(
        {group for clique in pcs.spec.template.cliques if (group := _group(pcs, clique))}
    )
    return tuple(
        Domain(domain_name(pcs.metadata.name, index, group), group, index)
        for index in range(pcs.spec.replicas)
        for group in groups
    )


def domain_name(pcs: str, pcs_index: int, group: str) -> str:
    """Return the name of a ComputeDomain and of its ResourceClaimTemplate."""
    return f"{pcs}-{pcs_index}-{group}"


def domain_manifest(pcs: PodCliqueSet, domain: Domain) -> JsonObject:
    """Return the ComputeDomain of one group of a replica."""
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
            # 0 means as many nodes as the pods use; a number must be right before they start.
            "numNodes": 0,
            "channel": {"resourceClaimTemplate": {"name": domain.name}},
        },
    }


def with_domain(pod: JsonObject, pcs: PodCliqueSet, clique: CliqueInstance) -> JsonObject:
    """Return the pod with its containers with GPUs in the domain of their replica, if any."""
    group = _group(pcs, clique.template)
    if group is None:
        return pod
    template = domain_name(pcs.metadata.name, clique.pcs_index, group)
    entry: JsonObject = {"name": POD_CLAIM, "resourceClaimTemplateName": template}
    return using(pod, [entry], _has_gpus)


def _group(pcs: PodCliqueSet, clique: PodCliqueTemplateSpec) -> str | None:
    """Return the group of a clique."""
    if not any(map(_has_gpus, _containers(clique.spec.pod_spec))):
        return None
    configs = pcs.spec.template.pod_clique_scaling_groups
    config = next((found for found in configs if clique.name in found.clique_names), None)
    inherited = _group_in(config.annotations) if config is not None else None
    group = _group_in(clique.annotations) or inherited or _group_in(pcs.metadata.annotations)
    return None if group == names.MNNVL_GROUP_NONE else group


def _group_in(annotations: Mapping[str, str]) -> str | None:
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
    amount = amounts.get(GPU) if isinstance(amounts, dict) else None
    # A quantity of zero has only zeros as digits, however it is written.
    return amount is not None and any(digit in "123456789" for digit in str(amount))
