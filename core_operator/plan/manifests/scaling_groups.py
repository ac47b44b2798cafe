"""The PodCliqueScalingGroup manifest.

Core owns everything but `replicas`, which autoscalers and users change: the set's number is used
at creation, the live one of the expansion afterwards.
"""

from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import GroupInstance
from shared_api import names
from shared_api.models import JsonObject, PodCliqueScalingGroup, PodCliqueSet


def scaling_group(pcs: PodCliqueSet, group: GroupInstance) -> JsonObject:
    """Return the scaling group of one replica of a set."""
    metadata: JsonObject = {
        "name": group.name,
        "namespace": pcs.metadata.namespace,
        "labels": {**naming.group_labels(pcs.metadata.name, group.pcs_index, group.name)},
        "ownerReferences": [naming.controller_reference(pcs).manifest()],
    }
    annotations = _annotations(pcs, group)
    if annotations:
        metadata["annotations"] = {**annotations}
    return naming.with_protection(
        pcs,
        {
            "apiVersion": PodCliqueScalingGroup.API_VERSION,
            "kind": PodCliqueScalingGroup.KIND,
            "metadata": metadata,
            "spec": {
                "replicas": group.replicas,
                "minAvailable": group.config.min_available,
                "cliqueNames": [*group.config.clique_names],
            },
        },
    )


def _annotations(pcs: PodCliqueSet, group: GroupInstance) -> dict[str, str]:
    """Return the group's annotations, and the inherited one of the set where it has none."""
    inherited = {
        key: value
        for key, value in pcs.metadata.annotations.items()
        if key == names.ANNOTATION_MNNVL_GROUP
    }
    return {**inherited, **group.config.annotations}
