"""The templates of a tree: at most 8 in each list, however many groups there are.

A Workload lists templates, and group objects name the one that they were made from. One
template may serve many groups, and a group object has its own count. So every group has a
template of its own while that fits; else groups of equal shape share one, and at last groups
that differ in their counts only. Sets of groups share templates if they are of equal shape.
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
        """What makes it equal to others."""
        return self.count, self.key


@dataclass(frozen=True, slots=True)
class Branch:
    """Groups that are placed together inside the gang."""

    position: int
    name: str
    key: str
    leaves: tuple[Leaf, ...]

    @property
    def shape(self) -> tuple[Hashable, ...]:
        """What makes it equal to others."""
        return self.key, *sorted((leaf.count, leaf.key or "") for leaf in self.leaves)


@dataclass(frozen=True, slots=True)
class Templates:
    """Who is listed as a template, and the name of everybody's template."""

    leaves: frozenset[Leaf]
    branches: tuple[Branch, ...]
    of_leaf: dict[str, str]
    of_branch: dict[str, str]


class TooManyShapesError(Exception):
    """More templates would be needed than a Workload may list."""


_LADDER: tuple[Callable[[Leaf], Hashable], ...] = (
    lambda leaf: leaf.group,
    lambda leaf: leaf.shape,
    lambda leaf: leaf.key,
)


def choose_templates(direct: Sequence[Leaf], branches: Sequence[Branch]) -> Templates:
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
    """The leaf that each leaf shares a template with, itself included."""
    for likeness in _LADDER:
        first: dict[Hashable, Leaf] = {}
        for leaf in leaves:
            first.setdefault(likeness(leaf), leaf)
        if len(first) <= LIMIT:
            return {leaf.group: first[likeness(leaf)] for leaf in leaves}
    raise TooManyShapesError(
        f"{where}: groups ask for more than {LIMIT} different topology keys, and a Workload lists"
        f" {LIMIT} templates; ask for fewer keys"
    )


def _represent_branches(branches: Sequence[Branch]) -> dict[Branch, Branch]:
    if len(branches) <= LIMIT:
        return {branch: branch for branch in branches}
    first: dict[Hashable, Branch] = {}
    for branch in branches:
        first.setdefault(branch.shape, branch)
    if len(first) > LIMIT:
        raise TooManyShapesError(
            f"spec.topologyConstraintGroupConfigs: {len(first)} different sets of groups, and a"
            f" Workload lists {LIMIT} templates; make their minimums or keys equal"
        )
    return {branch: first[branch.shape] for branch in branches}
