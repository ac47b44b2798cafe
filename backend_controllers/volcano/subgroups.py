"""The groups of a gang as Volcano's sub-groups.

A pod belongs to one sub-group: that of the first policy that selects it. So a group is one
sub-group, or several groups that are packed together are one. A policy without `matchLabelKeys`
selects no pod, and one without `minSubGroups` requires nothing. Only members are ungated before
the gang is scheduled, so a sub-group of the size of its groups' minimums has exactly the members.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract.declaration import pack_of
from backend_controllers.contract.pack_requests import PackRequest, Scope, pack_requests
from backend_controllers.volcano.tiers import ANY_TIER, network_topology
from backend_controllers.volcano.topology_requests import VolcanoTopologyRequests
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGroup
from shared_api.models import JsonObject


@dataclass(frozen=True, slots=True)
class SubGroupPlan:
    """One or more groups that become one sub-group."""

    name: str
    groups: tuple[ObservedPodGroup, ...]
    tier: int | None = None
    """The highest tier that its pods may span."""

    def policy(self) -> JsonObject:
        """Return the sub-group, with the defaults of the server."""
        is_group = len(self.groups) == 1
        minimum = sum(group.min_replicas for group in self.groups)
        selector: JsonObject = {"matchLabels": {names.LABEL_PODCLIQUE: self.groups[0].name}}
        if not is_group:
            values = [group.name for group in self.groups]
            chosen: JsonObject = {
                "key": names.LABEL_PODCLIQUE,
                "operator": "In",
                "values": [*values],
            }
            selector = {"matchExpressions": [chosen]}
        policy: JsonObject = {
            "name": self.name,
            "labelSelector": selector,
            # Several groups become one sub-group by a label that all pods of the gang share.
            "matchLabelKeys": [names.LABEL_PODCLIQUE if is_group else names.LABEL_PODGANG],
            # Size 0 is invalid; a policy that needs no sub-group requires nothing.
            "subGroupSize": max(minimum, 1),
            "minSubGroups": min(minimum, 1),
        }
        if self.tier is not None:
            policy["networkTopology"] = network_topology(self.tier)
        return policy


def tier_of_gang(gang: ObservedPodGang, requests: VolcanoTopologyRequests) -> int | None:
    """Return the highest tier of the gang. A set of all its groups counts as the gang."""
    tiers = [requests.gang(pack_of(gang.spec.topology_constraint))]
    tiers += [requests.gang(found.pack, found.title) for found in _sets(gang, whole=True)]
    return min((tier for tier in tiers if tier is not None), default=None)


def parts_of(
    gang: ObservedPodGang, requests: VolcanoTopologyRequests, gang_tier: int | None
) -> list[SubGroupPlan]:
    """Return the sub-groups, in the order of the gang's groups."""
    shared = _shared_parts(gang, requests, gang_tier)
    parts: dict[str, SubGroupPlan] = {}
    for group in gang.spec.podgroups:
        part = shared.get(group.name)
        if part is None:
            tier = requests.part(pack_of(group.topology_constraint), _title(group), gang_tier)
            part = SubGroupPlan(group.name, (group,), tier)
        parts.setdefault(part.name, part)
    return list(parts.values())


def _shared_parts(
    gang: ObservedPodGang, requests: VolcanoTopologyRequests, gang_tier: int | None
) -> dict[str, SubGroupPlan]:
    """Return the parts that several groups share, by the name of each group."""
    found: dict[str, SubGroupPlan] = {}
    used = {group.name for group in gang.spec.podgroups}
    for one in _sets(gang, whole=False):
        members = [group for group in gang.spec.podgroups if group.name in one.groups]
        tier = requests.part(one.pack, one.title, gang_tier)
        if tier is not None and len(members) == 1:
            # Both constraints are about the same pods.
            inner = requests.part(pack_of(members[0].topology_constraint), one.title, tier)
            tier = tier if inner is None else min(tier, inner)
        elif tier is None or not _can_share(one, members, tier, requests):
            continue
        for name in (group.name for group in members if group.name in found):
            requests.findings.weigh(
                f"group '{name}' is in two group sets, '{one.name}' and '{found[name].name}': in"
                " Volcano a pod has one sub-group. Remove the group from one of them",
                required=tier != ANY_TIER,
            )
        groups = tuple(group for group in members if group.name not in found)
        part = SubGroupPlan(_unused_name(one.name, used), groups, tier)
        used.add(part.name)
        found.update(dict.fromkeys((group.name for group in groups), part))
    return found


def _can_share(
    one: PackRequest, members: list[ObservedPodGroup], tier: int, requests: VolcanoTopologyRequests
) -> bool:
    """Tell whether the groups of a set may become one sub-group."""
    can = True
    for group in members:
        pack = pack_of(group.topology_constraint)
        if requests.part(pack, _title(group), tier) is None:
            continue
        # The preference of the set wins over that of the group. No requirement may be dropped.
        requests.findings.weigh(
            f"group '{group.name}' cannot be packed by {pack.required or pack.preferred} inside"
            f" group set '{one.name}', which is packed by {one.pack.required or one.pack.preferred}:"
            " in Volcano a pod has one sub-group. Remove one of the two",
            required=bool(pack.required) and tier != ANY_TIER,
        )
        can = can and not pack.required
    return can


def _sets(gang: ObservedPodGang, *, whole: bool) -> Iterator[PackRequest]:
    """Yield the requests of group sets: of those with all groups, or of the others."""
    for request in pack_requests(gang):
        is_whole = len(request.groups) == len(gang.spec.podgroups)
        if request.scope is Scope.GROUP_SET and request.groups and is_whole is whole:
            yield request


def _title(group: ObservedPodGroup) -> str:
    return f"group '{group.name}'"


def _unused_name(wanted: str, used: set[str]) -> str:
    return wanted if wanted not in used else _unused_name(f"{wanted}-set", used)
