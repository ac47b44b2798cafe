"""Topology levels as tiers of Volcano's HyperNodes.

A level is a node label key. A tier is a number that grows with the distance between nodes, and the
HyperNodes define the tier of a level. Volcano searches from the lowest tier up. So one number, the
highest tier allowed, expresses what is required and also serves what is preferred inside it.
Volcano's soft mode chooses node by node and misses the domain that fits all pods. A highest tier
that no HyperNode has means the same and searches whole domains.
"""

from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts
from backend_controllers.volcano.api import HYPERNODES, ObservedHyperNode
from shared_api.models import JsonObject

ANY_TIER = 2**31 - 1
"""As close as possible, otherwise anywhere."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """The tiers of this cluster by level. A level has several if the HyperNodes disagree."""

    by_level: dict[str, tuple[int, ...]]

    def of(self, level: str) -> int | None:
        """Return the tier of a level, if there is exactly one."""
        found = self.by_level.get(level, ())
        return found[0] if len(found) == 1 else None

    def problem_of(self, level: str) -> str:
        """Return why a level has no tier."""
        found = self.by_level.get(level, ())
        if found:
            listed = ", ".join(map(str, found))
            return f"HyperNodes of level {level} are on the tiers {listed}. Give them all one tier"
        return (
            f"there are no HyperNodes of level {level}. Create them with tierName {level}, or let"
            " Volcano discover them by this node label"
        )


def tiers_of(levels: set[str], facts: Facts) -> Tiers:
    """Return the tiers that the HyperNodes have for these levels."""
    if not levels:
        return Tiers({})
    nodes = [node for node in facts.all(HYPERNODES) if isinstance(node, ObservedHyperNode)]
    return Tiers(
        {
            level: tuple(sorted({node.spec.tier for node in nodes if node.is_of(level)}))
            for level in levels
        }
    )


def network_topology(tier: int) -> JsonObject:
    """Return the field as Volcano stores it, with the server's defaults: no later write differs."""
    return {"mode": "hard", "highestTierAllowed": tier}
