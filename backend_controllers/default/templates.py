"""The templates of a tree: at most 8 in each list, however many groups there are.

A Workload lists templates, and each group object names its template. Several groups may share a
template, and a group object has its own count. So every group has its own template if there are at
most 8. Otherwise groups of equal shape share one; if that is not enough, also groups that differ
only in their counts. Sets of groups share templates if their shape is equal.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

LIMIT = 8
ROOT_TEMPLATE = "gang"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A group, with its minimum and its topology key."""

    position: int
    group: str
    count: int
    key: str | None

    @property
    def shape(self) -> tuple[int, str | None]:
        """The properties that must be equal to share a template."""
        return self.count, self.key


@dataclass(frozen=True, slots=True)
class PackedGroups:
    """Groups that are packed together inside the gang."""

    position: int
    name: str
    key: str
    leaves: tuple[Leaf, ...]

    @property
    def shape(self) -> tuple[Hashable, ...]:
        """The properties that must be equal to share a template."""
        return self.key, *sorted((leaf.count, leaf.key or "") for leaf in self.leaves)


@dataclass(frozen=True, slots=True)
class Templates:
    """The listed templates, and the name of the template of each group and set."""

    leaves: frozenset[Leaf]
    branches: tuple[PackedGroups, ...]
    of_leaf: dict[str, str]
    of_branch: dict[str, str]


class TooManyShapesError(Exception):
    """The gang needs more templates than a Workload may list."""


_LADDER: tuple[Callable[[Leaf], Hashable], ...] = (
    lambda leaf: leaf.group,
    lambda leaf: leaf.shape,
    lambda leaf: leaf.key,
)


def choose_templates(direct: Sequence[Leaf], branches: Sequence[PackedGroups]) -> Templates:
    """Choose templates for the groups below the root and for the sets of groups."""
    represented = _represent_branches(branches)
    listed = tuple(dict.fromkeys(represented.values()))
    of_leaf = _represent_leaves(direct, "spec.podgroups")
    for branch in listed:
        own = _represent_leaves(
            branch.leaves, f"spec.topologyConstraintGroupConfigs[{branch.name}]"
        )
        of_leaf |= own
        of_leaf |= {
            leaf.group: next(own[like.group] for like in branch.leaves if like.shape == leaf.shape)
            for other, template in represented.items()
            if template is branch and other is not branch
            for leaf in other.leaves
        }
    return Templates(
        leaves=frozenset(of_leaf.values()),
        branches=listed,
        of_leaf={group: f"group-{leaf.position}" for group, leaf in of_leaf.items()},
        of_branch={b.name: f"set-{template.position}" for b, template in represented.items()},
    )


def _represent_leaves(leaves: Sequence[Leaf], where: str) -> dict[str, Leaf]:
    """Return the leaf whose template each leaf uses, by group."""
    for likeness in _LADDER:
        first: dict[Hashable, Leaf] = {}
        for leaf in leaves:
            first.setdefault(likeness(leaf), leaf)
        if len(first) <= LIMIT:
            return {leaf.group: first[likeness(leaf)] for leaf in leaves}
    raise TooManyShapesError(
        f"{where} requests more than {LIMIT} different topology keys: a Workload lists at most"
        f" {LIMIT} templates. Request fewer keys"
    )


def _represent_branches(branches: Sequence[PackedGroups]) -> dict[PackedGroups, PackedGroups]:
    if len(branches) <= LIMIT:
        return {branch: branch for branch in branches}
    first: dict[Hashable, PackedGroups] = {}
    for branch in branches:
        first.setdefault(branch.shape, branch)
    if len(first) > LIMIT:
        raise TooManyShapesError(
            f"spec.topologyConstraintGroupConfigs has {len(first)} different sets of groups: a"
            f" Workload lists at most {LIMIT} templates. Make their minimums or keys equal"
        )
    return {branch: first[branch.shape] for branch in branches}
