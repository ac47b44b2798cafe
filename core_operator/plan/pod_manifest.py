"""The pod of a PodClique: the user's template, what Grove promises, and the backend's patch.

The template is kept in its order, unknown fields included; only environment, host name,
subdomain and gates are laid over it. The patch of a backend is applied without being
understood: it wins over the user's template, and loses against the labels by which pods are
found. With what it was prepared, a pod carries as a digest, and for which gang as its UID.
"""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from core_operator.plan import naming
from core_operator.plan.podcliques import with_environment
from core_operator.plan.pods import NewPod
from core_operator.plan.preparation import (
    GangRef,
    digest,
    placeholders,
    prepared_spec,
    substituted,
)
from shared_api import names
from shared_api.models import (
    JsonObject,
    PodClique,
    PodPatch,
    PodSpecPatch,
    SchedulerBackendSpec,
)

_KUBECTL_PREFIX = "kubectl.kubernetes.io/"
_PREPARED_FIELDS = (
    *(field.alias or name for name, field in PodSpecPatch.model_fields.items()),
    "resourceClaims",
)


def pod_manifest(
    podclique: PodClique,
    new: NewPod,
    gang: GangRef,
    record: SchedulerBackendSpec,
    patch: PodPatch,
) -> JsonObject:
    """The pod as it is created, held by the gate of its backend."""
    group = podclique.metadata.name
    values = placeholders(gang, group, str(new.index))
    labels = {
        **podclique.metadata.labels,
        **_substituted(patch.labels, values),
        **naming.pod_labels(group, _selectable(podclique), new.index),
        names.LABEL_PODGANG: gang.name,
        names.LABEL_SCHEDULER_BACKEND: gang.backend,
    }
    annotations = {
        **{k: v for k, v in podclique.metadata.annotations.items() if _is_carried_over(k)},
        **_substituted(patch.annotations, values),
        names.ANNOTATION_PREPARATION: digest(patch, gang, group, record),
        names.ANNOTATION_PODGANG_UID: gang.uid,
    }
    metadata: JsonObject = {
        "name": new.name,
        "namespace": gang.namespace,
        "labels": dict(labels),
        "annotations": dict(annotations),
        "ownerReferences": [naming.controlled_by(podclique)],
    }
    spec = {
        **_grove_spec(podclique, new, gang.namespace, record.scheduling_gate),
        **prepared_spec(patch, values),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def dropped_fields(sent: JsonObject, answered: Mapping[str, object]) -> tuple[str, ...]:
    """Paths of prepared fields, and of shared claims, that the server did not store.

    A server whose feature gate is off drops them without an error, and the pod would then be
    scheduled by itself, or start without its devices.
    """
    spec = sent.get("spec")
    stored = answered.get("spec")
    if not isinstance(spec, dict):
        return ()
    prepared = {field: spec[field] for field in _PREPARED_FIELDS if field in spec}
    return tuple(_lost(prepared, stored, "spec"))


def _lost(wanted: Mapping[str, JsonValue], stored: object, path: str) -> Iterator[str]:
    for key, value in wanted.items():
        found = stored.get(key) if isinstance(stored, Mapping) else None
        if isinstance(value, dict) and found is not None:
            yield from _lost(value, found, f"{path}.{key}")
        elif found != value:
            yield f"{path}.{key}"


def _selectable(podclique: PodClique) -> dict[str, str]:
    """The labels by which core and Services find pods; no patch may bend them."""
    return {
        key: value
        for key, value in podclique.metadata.labels.items()
        if key.startswith(names.RESERVED_PREFIX)
        or key in (names.LABEL_MANAGED_BY, names.LABEL_PART_OF)
    }


def _is_carried_over(annotation: str) -> bool:
    # kubectl's copy of the PodClique would say nothing about the pod, and at length.
    return annotation != names.ANNOTATION_TOPOLOGY_NAME and not annotation.startswith(
        _KUBECTL_PREFIX
    )


def _grove_spec(podclique: PodClique, new: NewPod, namespace: str, gate: str) -> JsonObject:
    labels = podclique.metadata.labels
    pcs = labels.get(names.LABEL_PART_OF, "")
    pcs_index = int(labels.get(names.LABEL_PCS_REPLICA_INDEX, "0"))
    name = podclique.metadata.name
    address = naming.headless_address(pcs, pcs_index, namespace)
    environment: list[JsonObject] = [
        {"name": names.ENV_PCS_NAME, "value": pcs},
        {"name": names.ENV_PCS_INDEX, "value": str(pcs_index)},
        {"name": names.ENV_PCLQ_NAME, "value": name},
        {"name": names.ENV_HEADLESS_SERVICE, "value": address},
        _from_label(names.ENV_PCLQ_POD_INDEX, names.LABEL_POD_INDEX),
    ]
    template = podclique.spec.pod_spec
    return {
        **with_environment(template, environment),
        "hostname": naming.hostname(name, new.index),
        "subdomain": naming.service_name(pcs, pcs_index),
        "schedulingGates": _with_gate(template.get("schedulingGates"), gate),
    }


def _with_gate(users: JsonValue, gate: str) -> JsonValue:
    ours: JsonValue = {"name": gate}
    others = [found for found in users if found != ours] if isinstance(users, list) else []
    return [*others, ours]


def _from_label(variable: str, label: str) -> JsonObject:
    return {
        "name": variable,
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}},
    }


def _substituted(texts: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    return {key: substituted(text, values) for key, text in texts.items()}
