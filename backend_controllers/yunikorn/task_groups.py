"""The table of groups that every member carries.

YuniKorn reads it once, from whichever pod it sees first, and makes a placeholder per member
from it. What keeps a pod from a node must therefore be in it too, else room is reserved where
the pod cannot go. Groups without a minimum are not in it: YuniKorn would take the whole table
for a mistake, and schedule the gang pod by pod.
"""

import json
from collections.abc import Mapping

from backend_controllers.yunikorn.api import KEY_PLACEHOLDER_OF, Json, ObservedClique, Template
from backend_controllers.yunikorn.pod_resources import requests_of
from shared_api.kube.podgangs import PodGang, PodGroup

_NODE_AFFINITY = "nodeAffinity"
_LEFT_OUT = ("podAffinity", "podAntiAffinity")


def table(gang: PodGang, cliques: Mapping[str, ObservedClique]) -> str:
    """The table as text; empty if no group has a minimum."""
    rows = [
        _row(gang, group, cliques[group.name])
        for group in gang.spec.podgroups
        if group.min_replicas > 0
    ]
    return json.dumps(rows, separators=(",", ":"), sort_keys=True) if rows else ""


def remarks_about(group: PodGroup, clique: ObservedClique) -> list[str]:
    """What of a group's template is not looked at while room is reserved for it."""
    template, remarks = clique.spec.pod_spec, []
    ignored = [key for key in _LEFT_OUT if template.affinity.get(key)]
    if template.topology_spread_constraints:
        ignored.append("topologySpreadConstraints")
    if ignored:
        remarks.append(
            f"{' and '.join(ignored)} of group {group.name}: YuniKorn reserves room without them,"
            " so that a pod may find its place unfit"
        )
    if template.runtime_class_name and not template.overhead:
        remarks.append(
            f"the overhead of runtime class '{template.runtime_class_name}' of group"
            f" {group.name}: state it as overhead in the template for room to be reserved for it"
        )
    return remarks


def _row(gang: PodGang, group: PodGroup, clique: ObservedClique) -> Json:
    return {
        "name": group.name,
        "minMember": group.min_replicas,
        "minResource": requests_of(clique),
        "labels": {KEY_PLACEHOLDER_OF: gang.metadata.name},
        **_whereabouts(clique.spec.pod_spec),
    }


def _whereabouts(template: Template) -> Json:
    node_affinity = template.affinity.get(_NODE_AFFINITY)
    found: Json = {
        "nodeSelector": template.node_selector,
        "tolerations": list(template.tolerations),
        "affinity": {_NODE_AFFINITY: node_affinity} if node_affinity else {},
    }
    return {key: value for key, value in found.items() if value}
