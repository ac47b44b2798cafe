"""The groups of a gang as KAI's sub-groups.

Each group is a leaf with the group's own name, since pods name their leaf by label. Groups that
are packed together get a parent. No pod names a parent, so its name must only be unique.
Sub-groups form a tree, so a group has at most one parent. Every level must meet its minimum:
`minSubGroup` requires it if KAI has that field, otherwise it is KAI's rule. A group of which no pod is
requested has no leaf.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend_controllers.contract.declaration import pack_of
from backend_controllers.kai.topology_requests import KaiTopologyRequests
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGroup
from shared_api.models import JsonObject

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NOT_DNS = re.compile(r"[^a-z0-9]+")
_LONGEST = 63
# KAI puts pods without a sub-group label into the sub-group of this name.
_RESERVED = "default"


@dataclass(frozen=True, slots=True)
class _Parent:
    """Groups that are packed together."""

    name: str
    config: str
    members: tuple[str, ...]
    constraint: JsonObject


def sub_groups(
    gang: ObservedPodGang, requests: KaiTopologyRequests, minimums: Mapping[str, int]
) -> list[JsonObject]:
    """Return the sub-groups, parents first; groups without an entry in `minimums` have no leaf."""
    gang_level = pack_of(gang.spec.topology_constraint).required
    parents = _parents(gang, requests, gang_level)
    parent_of = _parent_of(parents, requests)
    entries: list[JsonObject] = []
    for parent in parents:
        children = sum(parent_of[name] is parent for name in parent.members if name in minimums)
        if children:
            entry: JsonObject = {"name": parent.name, "topologyConstraint": parent.constraint}
            if requests.features.min_sub_group:
                entry["minSubGroup"] = children
            entries.append(entry)
    for group in gang.spec.podgroups:
        if group.name in minimums:
            above = parent_of.get(group.name)
            within = requests.narrower(above.constraint, gang_level) if above else gang_level
            leaf = _leaf(group, above, requests, within)
            entries.append({**leaf, "minMember": minimums[group.name]})
    return entries


def roots(entries: Sequence[JsonObject]) -> int:
    """Return how many sub-groups have no parent."""
    return sum("parent" not in entry for entry in entries)


def _parents(
    gang: ObservedPodGang, requests: KaiTopologyRequests, gang_level: str
) -> list[_Parent]:
    known = {group.name for group in gang.spec.podgroups}
    used = {_RESERVED, *known}
    parents: list[_Parent] = []
    for config in gang.spec.topology_constraint_group_configs:
        members = tuple(name for name in config.pod_group_names if name in known)
        if not members:
            continue
        title = f"group set '{config.name}'"
        constraint = requests.part(config.topology_constraint, title, gang_level)
        if constraint is not None:
            name = _unused_name(config.name, used)
            used.add(name)
            parents.append(_Parent(name, config.name, members, constraint))
    return parents


def _parent_of(parents: Sequence[_Parent], requests: KaiTopologyRequests) -> dict[str, _Parent]:
    parent_of: dict[str, _Parent] = {}
    for parent in parents:
        for member in parent.members:
            first = parent_of.setdefault(member, parent)
            if first is not parent:
                requests.findings.refusals.append(
                    f"group '{member}' is in two group sets, '{first.config}' and"
                    f" '{parent.config}': a sub-group of KAI has one parent. Remove the group from"
                    " one of them"
                )
    return parent_of


def _leaf(
    group: ObservedPodGroup, parent: _Parent | None, requests: KaiTopologyRequests, within: str
) -> JsonObject:
    features, refusals = requests.features, requests.findings.refusals
    if features.strict_names and not _DNS_LABEL.fullmatch(group.name):
        refusals.append(
            f"group '{group.name}' has a name that KAI does not accept. Use only lower-case"
            " letters, digits and '-'"
        )
    if not group.min_replicas and not features.empty_groups:
        refusals.append(
            f"group '{group.name}' has minReplicas 0, which the installed KAI"
            f" ({features.release}) reads as 1. Upgrade KAI to v0.15 or newer"
        )
    entry: JsonObject = {"name": group.name}
    if parent is not None:
        entry["parent"] = parent.name
    constraint = requests.part(group.topology_constraint, f"group '{group.name}'", within)
    if constraint is not None:
        entry["topologyConstraint"] = constraint
    return entry


def _unused_name(wanted: str, used: set[str]) -> str:
    """Return a DNS label like the wanted name that no other sub-group has."""
    plain = _NOT_DNS.sub("-", wanted.lower()).strip("-") or "set"
    if plain == wanted and plain not in used:
        return plain
    # A digest instead of a counter: the name must not depend on other group sets.
    digest = hashlib.blake2b(wanted.encode(), digest_size=4).hexdigest()
    name = f"{plain[: _LONGEST - 9].rstrip('-')}-{digest}"
    return name if name not in used else _unused_name(f"{name}-{wanted}", used)
