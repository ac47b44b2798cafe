"""A gang as Koordinator's PodGroups: one per group, linked by their names.

Each PodGroup names all PodGroups of the gang, so Koordinator binds the members of all groups or of
none. `minMember` is the minimum of the group, which has exactly so many members. The manifests
have no field that Koordinator writes.
"""

import json

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.findings import Findings
from backend_controllers.contract.manifests import manifest
from backend_controllers.contract.remarks import no_reservations
from backend_controllers.koordinator import match_policy
from backend_controllers.koordinator.api import KEY_GANG_GROUPS, KEY_TOPOLOGY, PODGROUPS
from backend_controllers.koordinator.installation import KoordinatorInstallation
from backend_controllers.koordinator.membership import gang_groups, pod_group_name, preparations
from backend_controllers.koordinator.topology import placement_of
from backend_controllers.koordinator.visibility import (
    AWAITS_AGAIN,
    AWAITS_UNGATED,
    UNREACHABLE,
    Visibility,
    visibility_of,
)
from shared_api.kube.podgangs import ObservedPodGang

_AWAITED = {
    Visibility.HIDDEN: AWAITS_UNGATED,
    Visibility.BLOCKED: AWAITS_AGAIN,
    Visibility.VISIBLE: "",
}


def translate(
    installation: KoordinatorInstallation, gang: ObservedPodGang, facts: Facts
) -> Translation:
    """Return the PodGroups that may exist now, or all reasons to reject the gang."""
    findings = Findings()
    placement = placement_of(installation, gang, facts, findings)
    annotations = match_policy.annotations_of(installation, gang, findings)
    annotations[KEY_GANG_GROUPS] = _gang_groups(gang)
    if placement.annotation:
        annotations[KEY_TOPOLOGY] = placement.annotation
    timeout = match_policy.timeout_of(installation, gang, findings)
    findings.remarks.extend(no_reservations(gang, "Koordinator"))
    remarks = tuple(findings.remarks)
    if findings.refusals:
        return Translation(refusals=tuple(findings.refusals), remarks=remarks)
    visibility = visibility_of(gang, facts)
    if visibility is Visibility.VISIBLE and placement.awaits and not facts.owned(PODGROUPS):
        visibility = Visibility.HIDDEN
    is_hidden, is_visible = visibility is Visibility.HIDDEN, visibility is Visibility.VISIBLE
    timeouts = {} if timeout is None else {"scheduleTimeoutSeconds": timeout}
    pod_groups = (
        manifest(
            PODGROUPS,
            pod_group_name(gang, group.name),
            gang.metadata.namespace,
            {"minMember": group.min_replicas if is_visible else UNREACHABLE, **timeouts},
            annotations=annotations,
        )
        for group in (() if is_hidden else gang_groups(gang))
    )
    return Translation(
        objects=tuple(Rendered(PODGROUPS, pod_group) for pod_group in pod_groups),
        remarks=remarks,
        preparations=preparations(installation, gang, is_packed=bool(placement.annotation)),
        awaits="" if is_visible else placement.awaits or _AWAITED[visibility],
    )


def _gang_groups(gang: ObservedPodGang) -> str:
    """Return all PodGroups of the gang. Koordinator compares the text, so it is always the same."""
    namespace = gang.metadata.namespace
    names = (f"{namespace}/{pod_group_name(gang, group.name)}" for group in gang_groups(gang))
    return json.dumps(sorted(names), separators=(",", ":"))
