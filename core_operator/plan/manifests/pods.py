"""The pod of a PodClique: the user's template, Grove's fields, and the backend's patch.

The template keeps its order and its unknown fields; only environment, host name, subdomain and
gates are added. The backend's patch overrides the template, but not the labels that select pods. A
pod carries a digest of its patch and the UID of its gang as annotations.
"""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from core_operator.plan.layout import naming
from core_operator.plan.manifests.podcliques import with_environment
from core_operator.plan.pods.pod_plan import NewPod
from core_operator.plan.pods.preparation import (
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
_OF_PODCLIQUE = frozenset({names.ANNOTATION_TOPOLOGY_NAME, names.ANNOTATION_HANDOVER})
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
    """Return the pod to create, with the scheduling gate of its backend."""
    group = podclique.metadata.name
    values = placeholders(gang, group, str(new.index))
    labels = {
        **podclique.metadata.labels,
        **_substituted(patch.labels, values),
        **naming.pod_labels(group, _selectable(podclique), new.index),
        names.LABEL_PODGANG: gang.name,
        names.LABEL_SCHEDULER_BACKEND: gang.backend,
    }
    if new.attempt:
        labels[names.LABEL_ATTEMPT] = str(new.attempt)
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
    """Return paths of patched fields and shared claims that the server did not store.

    A server whose feature gate is off drops them without an error. The pod would then be
    scheduled outside its gang, or start without its devices.
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
        elif isinstance(value, list) and isinstance(found, list):
            # Admission may add to a list.
            if not all(item in found for item in value):
                yield f"{path}.{key}"
        elif found != value:
            yield f"{path}.{key}"


def _selectable(podclique: PodClique) -> dict[str, str]:
    """Return the labels that core and Services select by; no patch may change them."""
    return {
        key: value
        for key, value in podclique.metadata.labels.items()
        if key.startswith(names.RESERVED_PREFIX)
        or key in (names.LABEL_MANAGED_BY, names.LABEL_PART_OF)
    }


def _is_carried_over(annotation: str) -> bool:
    # kubectl's annotation contains the whole PodClique.
    return annotation not in _OF_PODCLIQUE and not annotation.startswith(_KUBECTL_PREFIX)


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


def _substituted(patched: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    return {key: substituted(text, values) for key, text in patched.items()}
