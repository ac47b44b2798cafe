"""The table of groups that every member carries.

YuniKorn reads it once, from the pod that it sees first, and creates a placeholder per member. So it
must have everything that keeps a pod from a node, otherwise capacity is reserved where the pod does
not fit. Groups with minimum 0 are left out: YuniKorn would reject the whole table and schedule the
gang pod by pod.
"""

import json
from collections.abc import Mapping

from backend_controllers.yunikorn.api import (
    KEY_PLACEHOLDER_OF,
    Json,
    YunikornClique,
    YunikornPodTemplate,
)
from backend_controllers.yunikorn.pod_resources import requests_of
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGroup

_NODE_AFFINITY = "nodeAffinity"
_IGNORED = ("podAffinity", "podAntiAffinity")


def table(gang: ObservedPodGang, cliques: Mapping[str, YunikornClique]) -> str:
    """Return the table as text; empty if no group has a minimum."""
    rows = [
        _row(gang, group, cliques[group.name])
        for group in gang.spec.podgroups
        if group.min_replicas > 0
    ]
    return json.dumps(rows, separators=(",", ":"), sort_keys=True) if rows else ""


def remarks_about(group: ObservedPodGroup, clique: YunikornClique) -> list[str]:
    """Return what of a group's template YuniKorn ignores when it reserves capacity."""
    template, remarks = clique.spec.pod_spec, []
    ignored = [key for key in _IGNORED if template.affinity.get(key)]
    if template.topology_spread_constraints:
        ignored.append("topologySpreadConstraints")
    if ignored:
        remarks.append(
            f"YuniKorn ignores {' and '.join(ignored)} of group '{group.name}' while it reserves"
            " capacity, so a pod may not fit on its reserved node"
        )
    if template.runtime_class_name and not template.overhead:
        remarks.append(
            f"the overhead of runtime class '{template.runtime_class_name}' of group '{group.name}'"
            " is not reserved. Set overhead in the pod template"
        )
    return remarks


def _row(gang: ObservedPodGang, group: ObservedPodGroup, clique: YunikornClique) -> Json:
    return {
        "name": group.name,
        "minMember": group.min_replicas,
        "minResource": requests_of(clique),
        "labels": {KEY_PLACEHOLDER_OF: gang.metadata.name},
        **_node_constraints(clique.spec.pod_spec),
    }


def _node_constraints(template: YunikornPodTemplate) -> Json:
    node_affinity = template.affinity.get(_NODE_AFFINITY)
    found: Json = {
        "nodeSelector": template.node_selector,
        "tolerations": list(template.tolerations),
        "affinity": {_NODE_AFFINITY: node_affinity} if node_affinity else {},
    }
    return {key: value for key, value in found.items() if value}
