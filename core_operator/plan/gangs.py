"""The PodGang manifest, always rendered whole.

One field manager writes all of a gang's spec and labels, so every writer renders all of it:
with no references when the gang is made, with those that exist later on. Equal pods give an
equal manifest in whatever order they were seen, so the spec's generation moves only when
its meaning does. Placement is part of the spec at three levels, each beside what it places:
the gang in `_spec`, several groups there too, one group in `_group`.
"""

import re
from collections.abc import Mapping, Sequence

from core_operator.plan import naming
from core_operator.plan.backends import BackendLabels
from core_operator.plan.expansion import CliqueInstance, GangInstance, min_available
from core_operator.plan.placement import ANYWHERE, Pack, Placement
from shared_api import names
from shared_api.models import JsonObject, PodCliqueSet, PodGang

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def gang_manifest(
    pcs: PodCliqueSet,
    gang: GangInstance,
    references: Mapping[str, Sequence[str]],
    backend: BackendLabels,
    minimums: Mapping[str, int] | None = None,
    placement: Placement = ANYWHERE,
) -> JsonObject:
    """The gang, with the names of the existing pods of each PodClique.

    `minimums` has the minAvailable of PodCliques that exist, by name. It differs from what
    the set says only where that is "all" and the set's replicas were changed afterwards.
    """
    metadata: JsonObject = {
        "name": gang.name,
        "namespace": pcs.metadata.namespace,
        "labels": {**_labels(pcs, gang, backend)},
        "ownerReferences": [naming.controlled_by(pcs)],
    }
    annotations = _inherited(pcs.metadata.annotations)
    if placement.topology:
        annotations[names.ANNOTATION_TOPOLOGY_NAME] = placement.topology
    if annotations:
        metadata["annotations"] = {**annotations}
    return {
        "apiVersion": PodGang.API_VERSION,
        "kind": PodGang.KIND,
        "metadata": metadata,
        "spec": _spec(pcs, gang, references, minimums or {}, placement),
    }


def _spec(
    pcs: PodCliqueSet,
    gang: GangInstance,
    references: Mapping[str, Sequence[str]],
    minimums: Mapping[str, int],
    placement: Placement,
) -> JsonObject:
    namespace = pcs.metadata.namespace or ""
    spec: JsonObject = {
        "podgroups": [
            _group(
                clique,
                references.get(clique.name, ()),
                namespace,
                minimums.get(clique.name, min_available(clique.template)),
                placement.groups.get(clique.name),
            )
            for clique in gang.cliques
        ]
    }
    if placement.gang is not None:
        spec["topologyConstraint"] = placement.gang.manifest()
    if placement.group_sets:
        spec["topologyConstraintGroupConfigs"] = [
            {
                "name": group_set.name,
                "podGroupNames": [*group_set.groups],
                "topologyConstraint": group_set.pack.manifest(),
            }
            for group_set in placement.group_sets
        ]
    if priority_class := _priority_class(pcs):
        spec["priorityClassName"] = priority_class
    return spec


def _priority_class(pcs: PodCliqueSet) -> str | None:
    """The set's, else the one that all cliques name: schedulers want pods and gang to agree."""
    template = pcs.spec.template
    if template.priority_class_name:
        return template.priority_class_name
    named = {clique.spec.pod_spec.get("priorityClassName") for clique in template.cliques}
    found = named.pop() if len(named) == 1 else None
    return found if isinstance(found, str) and found else None


def _group(
    clique: CliqueInstance, pods: Sequence[str], namespace: str, minimum: int, pack: Pack | None
) -> JsonObject:
    group: JsonObject = {
        "name": clique.name,
        "podReferences": [{"namespace": namespace, "name": pod} for pod in sorted(set(pods))],
        "minReplicas": minimum,
    }
    if pack is not None:
        group["topologyConstraint"] = pack.manifest()
    return group


def _labels(pcs: PodCliqueSet, gang: GangInstance, backend: BackendLabels) -> dict[str, str]:
    labels = {
        **_inherited(pcs.metadata.labels),
        **naming.gang_labels(pcs.metadata.name, gang.pcs_index, gang.base),
    }
    if backend.backend is not None:
        labels[names.LABEL_SCHEDULER_BACKEND] = backend.backend
    # A pod may name its scheduler in ways that no label can.
    if _LABEL_VALUE.fullmatch(backend.scheduler_name):
        labels[names.LABEL_SCHEDULER_NAME] = backend.scheduler_name
    return labels


def _inherited(entries: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in entries.items() if naming.is_inherited(key)}
