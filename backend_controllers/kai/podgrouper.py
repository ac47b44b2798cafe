"""KAI's podgrouper beside us: how a clash with it is seen, and what to do about it.

It makes PodGroups for pods of kinds that it knows. Those of gangs it calls as we do, and before
v0.15 nothing on a pod keeps it away: with every change of a pod it writes its own owner, labels and
top-level `minMember` into our PodGroup. It leaves what KAI goes by as it is, so nothing here fights
it for a field; the gang says what happened.
"""

from backend_controllers.contract.declaration import Facts
from backend_controllers.kai.api import (
    KEY_POD_GROUP,
    KEY_SKIP_PODGROUPER,
    ObservedPodGroup,
    gang_of,
    pod_group_name,
)
from backend_controllers.kai.features import Features
from shared_api.kube.podgangs import PodGang

_KEEP_AWAY = (
    "upgrade KAI to v0.15 or newer, or keep its podgrouper away from the namespaces of gangs with"
    " its flag --namespace-label-selector"
)


def remedy(features: Features) -> str:
    """How the podgrouper of this KAI is kept away."""
    if features.min_sub_group:
        return f"set the annotation {KEY_SKIP_PODGROUPER}=true on the PodCliqueSet"
    return _KEEP_AWAY


def rival(features: Features) -> str:
    """What is said where a PodGroup of a gang's name is not ours."""
    return f"KAI's podgrouper makes PodGroups of this name; {_made_anew(features)}"


def warning(features: Features) -> str:
    """What is said of a KAI whose podgrouper takes the pods of gangs over, if it runs."""
    if features.min_sub_group:
        return ""
    return (
        f"the installed KAI ({features.release}) does not heed the annotation"
        f" {KEY_SKIP_PODGROUPER}: if its podgrouper runs, it writes into the PodGroups of gangs;"
        f" {_KEEP_AWAY}"
    )


def clash(
    features: Features, gang: PodGang, facts: Facts, pod_group: ObservedPodGroup | None
) -> str:
    """What the podgrouper did to a gang, and what to do now; empty if it did nothing."""
    ours = pod_group_name(gang.metadata.name, gang.metadata.uid)
    groups = {pod.metadata.annotations.get(KEY_POD_GROUP, "") for pod in facts.pods} - {ours}
    groups = {group for group in groups if gang_of(group) != gang.metadata.name}
    if groups:
        others = ", ".join(group or "none" for group in sorted(groups))
        return (
            f"pods of the gang were given to another PodGroup: {others}; {remedy(features)}, and"
            " delete the pods for them to be made anew"
        )
    if pod_group is not None and pod_group.spec.min_member is not None:
        return f"KAI's podgrouper has written into PodGroup {ours}; {_made_anew(features)}"
    return ""


def _made_anew(features: Features) -> str:
    return f"{remedy(features)}, and delete the PodGroup for it to be made anew"
