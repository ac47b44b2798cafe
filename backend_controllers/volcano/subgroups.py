"""The groups of a gang as Volcano's sub-groups, or as tasks where it has none.

A pod is in one sub-group, that of the first policy which selects it: so a group is a
sub-group, or several groups that are placed together are one. A policy without
`matchLabelKeys` selects nobody, and one without `minSubGroups` demands nothing. Only members
are released before the gang is placed, so a sub-group that is as large as the minimums of its
groups holds exactly these.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract.declaration import Pack, pack_of
from backend_controllers.volcano.tiers import ANY_TIER, network_topology
from backend_controllers.volcano.topology_requests import Placing
from shared_api import names
from shared_api.kube.podgangs import PodGang, PodGroup, TopologyConstraintGroupConfig
from shared_api.models import JsonObject


@dataclass(frozen=True, slots=True)
class Part:
    """What becomes one sub-group."""

    name: str
    groups: tuple[PodGroup, ...]
    tier: int | None = None
    """The highest tier that its pods may span."""

    @property
    def minimum(self) -> int:
        """How many pods it takes."""
        return sum(group.min_replicas for group in self.groups)

    def policy(self) -> JsonObject:
        """The sub-group, with what the server would add."""
        # Several groups are one sub-group by a label that all pods of the gang share.
        key = names.LABEL_PODCLIQUE if len(self.groups) == 1 else names.LABEL_PODGANG
        policy: JsonObject = {
            "name": self.name,
            "labelSelector": self._selector(),
            "matchLabelKeys": [key],
            # Zero is not allowed; a policy of which no sub-group is needed demands nothing.
            "subGroupSize": max(self.minimum, 1),
            "minSubGroups": min(self.minimum, 1),
        }
        if self.tier is not None:
            policy["networkTopology"] = network_topology(self.tier)
        return policy

    def _selector(self) -> JsonObject:
        if len(self.groups) == 1:
            return {"matchLabels": {names.LABEL_PODCLIQUE: self.groups[0].name}}
        chosen: list[JsonObject] = [
            {
                "key": names.LABEL_PODCLIQUE,
                "operator": "In",
                "values": [group.name for group in self.groups],
            }
        ]
        return {"matchExpressions": [*chosen]}


@dataclass(frozen=True, slots=True)
class _Set:
    """Groups that are to be placed together."""

    name: str
    groups: tuple[PodGroup, ...]
    pack: Pack

    @property
    def title(self) -> str:
        return f"'{self.name}'"


def tier_of_whole(gang: PodGang, placing: Placing) -> int | None:
    """The highest tier of the gang; a set of all its groups is the gang."""
    tiers = [placing.whole(pack_of(gang.spec.topology_constraint))]
    tiers += [placing.whole(found.pack, found.title) for found in _sets(gang, whole=True)]
    return min((tier for tier in tiers if tier is not None), default=None)


def parts_of(gang: PodGang, placing: Placing, whole: int | None) -> list[Part]:
    """The sub-groups, in the order of the gang's groups."""
    together = _together(gang, placing, whole)
    parts, seen = [], set()
    for group in gang.spec.podgroups:
        part = together.get(group.name)
        if part is None:
            tier = placing.part(pack_of(group.topology_constraint), _title(group), whole)
            parts.append(Part(group.name, (group,), tier))
        elif part.name not in seen:
            seen.add(part.name)
            parts.append(part)
    return parts


def remark_on_strangers(gang: PodGang, placing: Placing) -> None:
    """Say which groups are to be placed with others and do not exist."""
    known = {group.name for group in gang.spec.podgroups}
    for config in gang.spec.topology_constraint_group_configs:
        unknown = sorted(name for name in config.pod_group_names if name not in known)
        if unknown:
            placing.findings.remarks.append(
                f"'{config.name}' places groups that the gang does not have: {', '.join(unknown)}"
            )


def _together(gang: PodGang, placing: Placing, whole: int | None) -> dict[str, Part]:
    """The part that a group shares with others, by the group's name."""
    found: dict[str, Part] = {}
    taken = {group.name for group in gang.spec.podgroups}
    for one in _sets(gang, whole=False):
        tier = placing.part(one.pack, one.title, whole)
        if tier is not None and len(one.groups) == 1:
            # Both placements are of the same pods.
            inner = placing.part(pack_of(one.groups[0].topology_constraint), one.title, tier)
            tier = tier if inner is None else min(tier, inner)
        elif tier is None or not _can_be_one(one, tier, placing):
            continue
        groups = tuple(group for group in one.groups if group.name not in found)
        for group in (group for group in one.groups if group.name in found):
            placing.findings.weigh(
                f"group '{group.name}' is to be placed with two sets of groups, '{one.name}' and"
                f" '{found[group.name].name}': Volcano has a pod in one sub-group only",
                required=tier != ANY_TIER,
            )
        part = Part(_free_name(one.name, taken), groups, tier)
        taken.add(part.name)
        found.update(dict.fromkeys((group.name for group in groups), part))
    return found


def _can_be_one(one: _Set, tier: int, placing: Placing) -> bool:
    """Tell whether the groups of a set may become one sub-group."""
    can = True
    for group in one.groups:
        pack = pack_of(group.topology_constraint)
        if placing.part(pack, _title(group), tier) is None:
            continue
        both = (
            f"group '{group.name}' is to be packed by {pack.required or pack.preferred} inside"
            f" '{one.name}', which is packed by {one.pack.required or one.pack.preferred}: Volcano"
            " has a pod in one sub-group only"
        )
        # Of two wishes that of the set is heeded, of two demands neither can be given up.
        placing.findings.weigh(both, required=bool(pack.required) and tier != ANY_TIER)
        can = can and not pack.required
    return can


def _sets(gang: PodGang, *, whole: bool) -> Iterator[_Set]:
    """Sets of groups with a placement, those of all groups or the others."""
    for config in gang.spec.topology_constraint_group_configs:
        groups = _members(gang, config)
        pack = pack_of(config.topology_constraint)
        is_whole = len(groups) == len(gang.spec.podgroups)
        if groups and not pack.is_empty and is_whole is whole:
            yield _Set(config.name, groups, pack)


def _members(gang: PodGang, config: TopologyConstraintGroupConfig) -> tuple[PodGroup, ...]:
    return tuple(group for group in gang.spec.podgroups if group.name in config.pod_group_names)


def _title(group: PodGroup) -> str:
    return f"group '{group.name}'"


def _free_name(wanted: str, taken: set[str]) -> str:
    return wanted if wanted not in taken else _free_name(f"{wanted}-set", taken)
