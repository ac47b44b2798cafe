"""The groups of a gang as KAI's sub-groups.

A leaf per group, under the group's own name, since pods name their leaf by label. Groups
that are placed together get a parent, which no pod ever names: its name only has to be
free. Sub-groups form a tree, so a group has one parent at most. The minimum of every level
must be met, which `minSubGroup` says where KAI knows it and which is the rule where it does
not. A group that is not asked for anything has no leaf.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend_controllers.contract.declaration import pack_of
from backend_controllers.kai.topology_requests import Placing
from shared_api.kube.podgangs import PodGang, PodGroup, TopologyConstraintGroupConfig
from shared_api.models import JsonObject

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NOT_DNS = re.compile(r"[^a-z0-9]+")
_LONGEST = 63
# KAI puts pods that name no sub-group into the one of this name.
_RESERVED = "default"


@dataclass(frozen=True, slots=True)
class _Parent:
    """Groups that are placed together."""

    name: str
    config: str
    members: tuple[str, ...]
    constraint: JsonObject


def sub_groups(gang: PodGang, placing: Placing, asked: Mapping[str, int]) -> list[JsonObject]:
    """The tree, parents first, of the groups of which so many pods are asked for."""
    whole = pack_of(gang.spec.topology_constraint).required
    parents = _parents(gang, placing, whole)
    parent_of = _parent_of(parents, placing)
    entries: list[JsonObject] = []
    for parent in parents:
        children = sum(parent_of[name] is parent for name in parent.members if name in asked)
        if children:
            entries.append(_parent_entry(parent, placing, children))
    for group in gang.spec.podgroups:
        if group.name not in asked:
            continue
        above = parent_of.get(group.name)
        within = placing.narrower(above.constraint, whole) if above else whole
        leaf = _leaf(group, above, placing, within)
        entries.append({**leaf, "minMember": asked[group.name]})
    return entries


def roots(entries: Sequence[JsonObject]) -> int:
    """How many sub-groups have no parent."""
    return sum("parent" not in entry for entry in entries)


def _parents(gang: PodGang, placing: Placing, whole: str) -> list[_Parent]:
    known = {group.name for group in gang.spec.podgroups}
    taken = {_RESERVED, *known}
    parents: list[_Parent] = []
    for config in gang.spec.topology_constraint_group_configs:
        members = tuple(name for name in config.pod_group_names if name in known)
        unknown = [name for name in config.pod_group_names if name not in known]
        if unknown:
            placing.findings.remarks.append(
                f"'{config.name}' places groups that the gang does not have:"
                f" {', '.join(sorted(unknown))}"
            )
        constraint = _together(config, placing, whole) if members else None
        if constraint is None:
            continue
        name = _free_name(config.name, taken)
        taken.add(name)
        parents.append(_Parent(name, config.name, members, constraint))
    return parents


def _together(
    config: TopologyConstraintGroupConfig, placing: Placing, whole: str
) -> JsonObject | None:
    return placing.part(config.topology_constraint, f"'{config.name}'", whole)


def _parent_of(parents: Sequence[_Parent], placing: Placing) -> dict[str, _Parent]:
    parent_of: dict[str, _Parent] = {}
    for parent in parents:
        for member in parent.members:
            first = parent_of.setdefault(member, parent)
            if first is not parent:
                placing.findings.refusals.append(
                    f"group '{member}' is placed with '{first.config}' and with"
                    f" '{parent.config}', but a sub-group of KAI has one parent"
                )
    return parent_of


def _parent_entry(parent: _Parent, placing: Placing, children: int) -> JsonObject:
    entry: JsonObject = {"name": parent.name, "topologyConstraint": parent.constraint}
    if placing.features.min_sub_group:
        entry["minSubGroup"] = children
    return entry


def _leaf(group: PodGroup, parent: _Parent | None, placing: Placing, within: str) -> JsonObject:
    features, refusals = placing.features, placing.findings.refusals
    if features.strict_names and not _DNS_LABEL.fullmatch(group.name):
        refusals.append(
            f"'{group.name}' cannot be the name of a sub-group of KAI: only lower-case letters,"
            " digits and '-' can"
        )
    if not group.min_replicas and not features.empty_groups:
        refusals.append(
            f"group '{group.name}' has minReplicas 0, which the installed KAI"
            f" ({features.release}) takes for 1: upgrade KAI to v0.15 or newer"
        )
    entry: JsonObject = {"name": group.name}
    if parent is not None:
        entry["parent"] = parent.name
    constraint = placing.part(group.topology_constraint, f"group '{group.name}'", within)
    if constraint is not None:
        entry["topologyConstraint"] = constraint
    return entry


def _free_name(wanted: str, taken: set[str]) -> str:
    """A DNS label like the wanted name that no other sub-group has."""
    plain = _NOT_DNS.sub("-", wanted.lower()).strip("-") or "set"
    if plain == wanted and plain not in taken:
        return plain
    # From the name and not from a counter: other configs may come and go.
    digest = hashlib.blake2b(wanted.encode(), digest_size=4).hexdigest()
    name = f"{plain[: _LONGEST - 9].rstrip('-')}-{digest}"
    return name if name not in taken else _free_name(f"{name}-{wanted}", taken)
