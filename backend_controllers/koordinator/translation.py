"""A gang as Koordinator's PodGroups: one per group, tied into one gang by their names.

Each names all of them, so that Koordinator binds the members of all groups or of none. The
minimum of a group is its `minMember`, and its members are exactly so many pods. Nothing that
Koordinator writes is in a manifest.
"""

import json

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.findings import Findings
from backend_controllers.koordinator import match_policy as terms
from backend_controllers.koordinator.api import KEY_GANG_GROUPS, KEY_TOPOLOGY, PODGROUPS
from backend_controllers.koordinator.membership import gang_groups, pod_group_name, preparations
from backend_controllers.koordinator.options import KoordinatorInstallation
from backend_controllers.koordinator.topology import placement_of
from backend_controllers.koordinator.visibility import (
    AWAITS,
    AWAITS_AGAIN,
    UNREACHABLE,
    Knowledge,
    knowledge_of,
)
from shared_api.kube.podgangs import PodGang, PodGroup
from shared_api.models import JsonObject

_AWAITED = {Knowledge.NOTHING: AWAITS, Knowledge.HELD: AWAITS_AGAIN, Knowledge.ALL: ""}


def translate(installation: KoordinatorInstallation, gang: PodGang, facts: Facts) -> Translation:
    """The PodGroups of a gang as far as they may be there, or all that stands against them."""
    findings = Findings()
    placement = placement_of(installation, gang, facts, findings)
    annotations = terms.annotations_of(installation, gang, findings)
    annotations[KEY_GANG_GROUPS] = _tie(gang)
    if placement.annotation:
        annotations[KEY_TOPOLOGY] = placement.annotation
    timeout = terms.timeout_of(installation, gang, findings)
    if gang.spec.reuse_reservation_ref is not None:
        findings.remarks.append("reservations are not taken over: Koordinator's are made by hand")
    if findings.refusals:
        return Translation(refusals=tuple(findings.refusals), remarks=tuple(findings.remarks))
    knowledge = knowledge_of(gang, facts)
    if knowledge is Knowledge.ALL and placement.awaits and not facts.owned(PODGROUPS):
        knowledge = Knowledge.NOTHING
    groups = () if knowledge is Knowledge.NOTHING else gang_groups(gang)
    return Translation(
        objects=tuple(
            Rendered(PODGROUPS, _manifest(gang, group, annotations, timeout, knowledge))
            for group in groups
        ),
        remarks=tuple(findings.remarks),
        preparations=preparations(installation, gang, is_gathered=bool(placement.annotation)),
        awaits="" if knowledge is Knowledge.ALL else placement.awaits or _AWAITED[knowledge],
    )


def _manifest(
    gang: PodGang,
    group: PodGroup,
    annotations: JsonObject,
    timeout: int | None,
    knowledge: Knowledge,
) -> JsonObject:
    is_held = knowledge is Knowledge.HELD
    spec: JsonObject = {"minMember": UNREACHABLE if is_held else group.min_replicas}
    if timeout is not None:
        spec["scheduleTimeoutSeconds"] = timeout
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {
            "name": pod_group_name(gang, group.name),
            "namespace": gang.metadata.namespace,
            "annotations": annotations,
        },
        "spec": spec,
    }


def _tie(gang: PodGang) -> str:
    """All PodGroups of the gang, the same text on each of them: Koordinator compares it."""
    namespace = gang.metadata.namespace
    names = (f"{namespace}/{pod_group_name(gang, group.name)}" for group in gang_groups(gang))
    return json.dumps(sorted(names), separators=(",", ":"))
