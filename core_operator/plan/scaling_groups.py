"""The PodCliqueScalingGroup manifest.

Everything in a group is core's but `replicas`, which belongs to whoever scales it: the set's
number is used at creation, and the expansion carries the live one after that.
"""

from core_operator.plan import naming
from core_operator.plan.expansion import GroupInstance
from shared_api import names
from shared_api.models import JsonObject, PodCliqueScalingGroup, PodCliqueSet


def scaling_group(pcs: PodCliqueSet, group: GroupInstance) -> JsonObject:
    """The group of one replica of a set."""
    metadata: JsonObject = {
        "name": group.name,
        "namespace": pcs.metadata.namespace,
        "labels": {**naming.group_labels(pcs.metadata.name, group.pcs_index, group.name)},
        "ownerReferences": [naming.controller_reference(pcs).manifest()],
    }
    annotations = _annotations(pcs, group)
    if annotations:
        metadata["annotations"] = {**annotations}
    return {
        "apiVersion": PodCliqueScalingGroup.API_VERSION,
        "kind": PodCliqueScalingGroup.KIND,
        "metadata": metadata,
        "spec": {
            "replicas": group.replicas,
            "minAvailable": group.config.min_available,
            "cliqueNames": [*group.config.clique_names],
        },
    }


def _annotations(pcs: PodCliqueSet, group: GroupInstance) -> dict[str, str]:
    """The group's own; of the set's, only the one that groups inherit, where it has none."""
    inherited = {
        key: value
        for key, value in pcs.metadata.annotations.items()
        if key == names.ANNOTATION_MNNVL_GROUP
    }
    return {**inherited, **group.config.annotations}
