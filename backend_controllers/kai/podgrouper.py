"""Conflicts with KAI's podgrouper: how to detect one, and what to do about it.

The podgrouper creates PodGroups for pods whose owner kinds it knows. It gives those of gangs the
same names as this backend does. Before v0.15 nothing on a pod stops it: with every change of a pod
it writes its owner, its labels and a top-level `minMember` into our PodGroup. KAI does not use
these fields, so this backend must not write them back. The gang reports the conflict.
"""

from backend_controllers.contract.declaration import Facts
from backend_controllers.kai.api import (
    KEY_POD_GROUP,
    KEY_SKIP_PODGROUPER,
    KaiPodGroup,
    gang_of,
    pod_group_name,
)
from backend_controllers.kai.installation import KaiFeatures
from shared_api.kube.podgangs import ObservedPodGang

_EXCLUDE = (
    "upgrade KAI to v0.15 or newer, or exclude the namespaces of gangs with the podgrouper's flag"
    " --namespace-label-selector"
)


def remedy(features: KaiFeatures) -> str:
    """Return how to stop the podgrouper of this KAI."""
    if features.min_sub_group:
        return f"set the annotation {KEY_SKIP_PODGROUPER}=true on the PodCliqueSet"
    return _EXCLUDE


def rival(features: KaiFeatures) -> str:
    """Return the message for a PodGroup with a gang's name that is not ours."""
    return f"KAI's podgrouper creates PodGroups of this name. {_recreate_pod_group(features)}"


def warning(features: KaiFeatures) -> str:
    """Return the warning about a KAI that ignores skip-podgrouper; empty if it does not."""
    if features.min_sub_group:
        return ""
    return (
        f"the installed KAI ({features.release}) ignores the annotation {KEY_SKIP_PODGROUPER}: its"
        f" podgrouper, if it runs, writes into the PodGroups of gangs. To prevent it, {_EXCLUDE}"
    )


def clash(
    features: KaiFeatures, gang: ObservedPodGang, facts: Facts, pod_group: KaiPodGroup | None
) -> str:
    """Return what the podgrouper did to a gang and what to do; empty if it did nothing."""
    ours = pod_group_name(gang.metadata.name, gang.metadata.uid)
    groups = {pod.metadata.annotations.get(KEY_POD_GROUP, "") for pod in facts.pods} - {ours}
    # Those of an earlier gang, and of Grove, are no work of the podgrouper.
    groups = {group for group in groups if gang.metadata.name not in (group, gang_of(group))}
    if groups:
        others = ", ".join(group or "none" for group in sorted(groups))
        return (
            f"pods of the gang belong to another PodGroup: {others}."
            f" {_sentence(remedy(features))}, then delete these pods to recreate them"
        )
    if pod_group is not None and pod_group.spec.min_member is not None:
        return f"KAI's podgrouper has changed PodGroup {ours}. {_recreate_pod_group(features)}"
    return ""


def _recreate_pod_group(features: KaiFeatures) -> str:
    return f"{_sentence(remedy(features))}, then delete the PodGroup to recreate it"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
