"""PodClique manifests, of standalone cliques and of those in scaling groups.

Core owns everything but `replicas`, which autoscalers and users change: the set's number is used
at creation, the live one afterwards. A clique of a group gets the group's environment variables,
and every clique the set's priority class, because the pods of a gang are preempted together.
Otherwise the pod spec is the user's, byte for byte. `startsAfter` has full names.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import CliqueInstance, min_available
from core_operator.plan.layout.revisions import template_annotations, template_labels
from shared_api import names
from shared_api.models import (
    CliqueStartupType,
    JsonObject,
    OwnerReference,
    PodClique,
    PodCliqueScalingGroupConfig,
    PodCliqueSet,
    PodCliqueTemplateSpec,
)

CONTAINER_LISTS = ("initContainers", "containers")


def standalone_podclique(
    pcs: PodCliqueSet, instance: CliqueInstance, owner: OwnerReference, live_replicas: int | None
) -> JsonObject:
    """Return the PodClique of a standalone clique; its owner is the set."""
    labels = _own_labels(pcs, instance)
    return _manifest(pcs, instance, owner, labels, _spec(pcs, instance, live_replicas))


def group_podclique(
    pcs: PodCliqueSet, instance: CliqueInstance, owner: OwnerReference, live_replicas: int | None
) -> JsonObject:
    """Return the PodClique of a clique in one group replica; its owner is the group."""
    if instance.group is None or instance.group_index is None:
        raise ValueError(f"{instance.name} is in no scaling group")
    labels = {
        **_own_labels(pcs, instance),
        **naming.group_member_labels(instance.group.name, instance.group_index, instance.base_gang),
    }
    environment = _group_environment(template_pods(pcs, instance.group.config))
    spec = _spec(pcs, instance, live_replicas)
    spec["podSpec"] = with_environment(_pod_spec(pcs, instance), environment)
    return _manifest(pcs, instance, owner, labels, spec)


def starts_after(pcs: PodCliqueSet, instance: CliqueInstance) -> tuple[str, ...]:
    """Return full names of the PodCliques that must be ready before this one starts.

    The order applies within a gang. In a base gang, a parent in a scaling group means all its
    replicas in the base gang. In a scaled gang only parents in the same group replica count: with
    InOrder a clique whose predecessor in the template is outside the group waits for nothing.
    """
    if pcs.spec.template.clique_startup_type is CliqueStartupType.ANY_ORDER:
        return ()
    if instance.base_gang is not None:
        return tuple(_scaled_parents(pcs, instance))
    group_of = {
        name: config
        for config in pcs.spec.template.pod_clique_scaling_groups
        for name in config.clique_names
    }
    found: list[str] = []
    for parent in _parents(pcs, instance.template):
        found.extend(_base_names(pcs, instance.pcs_index, parent, group_of.get(parent)))
    return tuple(found)


def template_pods(pcs: PodCliqueSet, config: PodCliqueScalingGroupConfig) -> int:
    """Count the pods of one replica of a group, by the set."""
    return sum(
        clique.spec.replicas
        for clique in pcs.spec.template.cliques
        if clique.name in config.clique_names
    )


def with_environment(pod_spec: JsonObject, environment: list[JsonObject]) -> JsonObject:
    """Return the pod spec with variables first in every container; they replace the user's."""
    return {
        key: _each_with_environment(value, environment) if key in CONTAINER_LISTS else value
        for key, value in pod_spec.items()
    }


def _own_labels(pcs: PodCliqueSet, instance: CliqueInstance) -> dict[str, str]:
    return naming.podclique_labels(
        pcs.metadata.name,
        instance.pcs_index,
        instance.name,
        instance.gang,
        instance.template_hash,
    )


def _manifest(
    pcs: PodCliqueSet,
    instance: CliqueInstance,
    owner: OwnerReference,
    labels: dict[str, str],
    spec: JsonObject,
) -> JsonObject:
    metadata: JsonObject = {
        "name": instance.name,
        "namespace": pcs.metadata.namespace,
        "labels": {**template_labels(instance.template), **labels},
        "ownerReferences": [owner.manifest()],
    }
    annotations = template_annotations(instance.template)
    if annotations:
        metadata["annotations"] = {**annotations}
    return naming.with_protection(
        pcs,
        {
            "apiVersion": PodClique.API_VERSION,
            "kind": PodClique.KIND,
            "metadata": metadata,
            "spec": spec,
        },
    )


def _spec(pcs: PodCliqueSet, instance: CliqueInstance, live_replicas: int | None) -> JsonObject:
    template = instance.template.spec
    replicas = template.replicas if live_replicas is None else live_replicas
    spec: JsonObject = {
        "roleName": template.role_name,
        "podSpec": _pod_spec(pcs, instance),
        "replicas": replicas,
        "minAvailable": min_available(instance.template),
    }
    parents = starts_after(pcs, instance)
    if parents:
        spec["startsAfter"] = [*parents]
    if template.auto_scaling_config is not None:
        spec["autoScalingConfig"] = template.auto_scaling_config.manifest()
    return spec


def _pod_spec(pcs: PodCliqueSet, instance: CliqueInstance) -> JsonObject:
    pod_spec, of_set = instance.template.spec.pod_spec, pcs.spec.template.priority_class_name
    return {**pod_spec, "priorityClassName": of_set} if of_set else pod_spec


def _parents(pcs: PodCliqueSet, clique: PodCliqueTemplateSpec) -> tuple[str, ...]:
    """Return the cliques directly before one."""
    order = [c.name for c in pcs.spec.template.cliques]
    if pcs.spec.template.clique_startup_type is CliqueStartupType.EXPLICIT:
        return tuple(name for name in clique.spec.starts_after if name in order)
    place = order.index(clique.name)
    return tuple(order[max(place - 1, 0) : place])


def _scaled_parents(pcs: PodCliqueSet, instance: CliqueInstance) -> Iterator[str]:
    group, index = instance.group, instance.group_index
    if group is None or index is None:
        return
    for parent in _parents(pcs, instance.template):
        if parent in group.config.clique_names:
            yield naming.group_podclique_name(group.name, index, parent)


def _base_names(
    pcs: PodCliqueSet, index: int, clique: str, config: PodCliqueScalingGroupConfig | None
) -> Iterator[str]:
    if config is None:
        yield naming.podclique_name(pcs.metadata.name, index, clique)
        return
    group = naming.group_name(pcs.metadata.name, index, config.name)
    for replica in range(config.min_available):
        yield naming.group_podclique_name(group, replica, clique)


def _group_environment(pods: int) -> list[JsonObject]:
    return [
        {"name": names.ENV_PCSG_NAME, "valueFrom": _label(names.LABEL_PCSG)},
        {"name": names.ENV_PCSG_TEMPLATE_NUM_PODS, "value": str(pods)},
        {"name": names.ENV_PCSG_INDEX, "valueFrom": _label(names.LABEL_PCSG_REPLICA_INDEX)},
    ]


def _label(key: str) -> JsonObject:
    return {"fieldRef": {"fieldPath": f"metadata.labels['{key}']"}}


def _each_with_environment(containers: JsonValue, environment: list[JsonObject]) -> JsonValue:
    if not isinstance(containers, list):
        return containers
    return [
        {**container, "env": _merged(container.get("env"), environment)}
        if isinstance(container, dict)
        else container
        for container in containers
    ]


def _merged(users: JsonValue, ours: list[JsonObject]) -> list[JsonValue]:
    taken = {variable["name"] for variable in ours}
    kept = users if isinstance(users, list) else []
    return [
        *ours,
        *(v for v in kept if not (isinstance(v, dict) and v.get("name") in taken)),
    ]
