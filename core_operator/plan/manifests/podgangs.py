"""The only author of PodGang manifests: metadata, labels, groups, references and placement.

One field manager writes all of a gang, so every manifest is complete: without references when
the gang is created, with the existing pods later on. Equal pods give an equal manifest whatever
their order, so the generation changes only with the meaning. The status is in `statuses.podgang`.
"""

import re
from collections.abc import Mapping, Sequence

from core_operator.plan.jobs import modes
from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import CliqueInstance, GangInstance, min_available
from core_operator.plan.placement.backends import Choice
from core_operator.plan.placement.gang_placement import UNPLACED, GangPlacement, PackLabels
from shared_api import names
from shared_api.models import JsonObject, PodCliqueSet, PodGang

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_NOBODY: Mapping[str, Sequence[str]] = {}
_UNKNOWN: Mapping[str, int] = {}


def gang_manifest(
    pcs: PodCliqueSet,
    gang: GangInstance,
    choice: Choice,
    placement: GangPlacement = UNPLACED,
    references: Mapping[str, Sequence[str]] = _NOBODY,
    minimums: Mapping[str, int] = _UNKNOWN,
) -> JsonObject:
    """Return the manifest of a gang; `references` are names of existing pods by PodClique.

    `minimums` has how many pods the gang needs of existing PodCliques, by name. That is less than
    the set's minAvailable where a PodClique was scaled below it.
    """
    metadata: JsonObject = {
        "name": gang.name,
        "namespace": pcs.metadata.namespace,
        "labels": {**_labels(pcs, gang, choice)},
        "ownerReferences": [naming.controlled_by(pcs)],
    }
    annotations = _inherited(pcs.metadata.annotations)
    if placement.topology:
        annotations[names.ANNOTATION_TOPOLOGY_NAME] = placement.topology
    if (longest := modes.policy_of(pcs).max_runtime) is not None:
        # For schedulers that plan with it. Core itself ends the set.
        annotations[names.ANNOTATION_MAX_RUNTIME] = longest
    if annotations:
        metadata["annotations"] = {**annotations}
    namespace = pcs.metadata.namespace or ""
    listed = {clique.name for clique in gang.cliques}
    spec: JsonObject = {
        "podgroups": [
            _group(
                clique,
                references.get(clique.name, ()),
                namespace,
                # While the last pods of a PodClique are deleted, its minimum is 0. Some schedulers
                # have no such groups.
                minimums.get(clique.name, min_available(clique.template)) or 1,
                placement.groups.get(clique.name),
            )
            for clique in gang.cliques
        ]
    }
    if placement.gang is not None:
        spec["topologyConstraint"] = _constraint(placement.gang)
    if placement.group_sets:
        spec["topologyConstraintGroupConfigs"] = [
            {
                "name": group_set.name,
                "podGroupNames": [name for name in group_set.groups if name in listed],
                "topologyConstraint": _constraint(group_set.pack),
            }
            for group_set in placement.group_sets
            if listed.intersection(group_set.groups)
        ]
    if priority_class := _priority_class(pcs):
        spec["priorityClassName"] = priority_class
    return naming.with_protection(
        pcs,
        {
            "apiVersion": PodGang.API_VERSION,
            "kind": PodGang.KIND,
            "metadata": metadata,
            "spec": spec,
        },
    )


def _priority_class(pcs: PodCliqueSet) -> str | None:
    """Return the set's class, else the one that all cliques name: pods and gang must agree."""
    template = pcs.spec.template
    if template.priority_class_name:
        return template.priority_class_name
    named = {clique.spec.pod_spec.get("priorityClassName") for clique in template.cliques}
    found = named.pop() if len(named) == 1 else None
    return found if isinstance(found, str) and found else None


def _group(
    clique: CliqueInstance,
    pods: Sequence[str],
    namespace: str,
    minimum: int,
    pack: PackLabels | None,
) -> JsonObject:
    group: JsonObject = {
        "name": clique.name,
        "podReferences": [{"namespace": namespace, "name": pod} for pod in sorted(set(pods))],
        "minReplicas": minimum,
    }
    if pack is not None:
        group["topologyConstraint"] = _constraint(pack)
    return group


def _constraint(pack: PackLabels) -> JsonObject:
    keys = {"required": pack.required, "preferred": pack.preferred}
    return {"packConstraint": {name: key for name, key in keys.items() if key}}


def _labels(pcs: PodCliqueSet, gang: GangInstance, choice: Choice) -> dict[str, str]:
    labels = {
        **_inherited(pcs.metadata.labels),
        **naming.gang_labels(pcs.metadata.name, gang.pcs_index, gang.base),
    }
    if choice.backend is not None:
        labels[names.LABEL_SCHEDULER_BACKEND] = choice.backend
    # A schedulerName may be invalid as a label value.
    if _LABEL_VALUE.fullmatch(choice.scheduler_name):
        labels[names.LABEL_SCHEDULER_NAME] = choice.scheduler_name
    return labels


def _inherited(entries: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in entries.items() if naming.is_inherited(key)}
