"""Levels of a placement as tiers of Volcano's HyperNodes.

A level is a node label key, a tier a number that grows with the distance between nodes, and
the HyperNodes say which belongs to which. Volcano looks for room from the lowest tier up, so
the one number that it is given, the highest tier allowed, states what is required and serves
what is preferred inside it. Its own soft mode chooses node by node and misses the domain that
would hold all; a tier that is never reached says the same and looks ahead.
"""

from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts
from backend_controllers.volcano.api import HYPERNODES, ObservedHyperNode
from shared_api.models import JsonObject

ANY_TIER = 2**31 - 1
"""As near as possible, and anywhere rather than not at all."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """The tiers of this cluster by level; a level may have several if the HyperNodes disagree."""

    by_level: dict[str, tuple[int, ...]]

    def of(self, level: str) -> int | None:
        """The tier of a level, if there is exactly one."""
        found = self.by_level.get(level, ())
        return found[0] if len(found) == 1 else None

    def flaw_of(self, level: str) -> str:
        """Why a level has no tier."""
        found = self.by_level.get(level, ())
        if found:
            listed = ", ".join(map(str, found))
            return f"HyperNodes of level {level} are on the tiers {listed}: give them all one tier"
        return (
            f"there are no HyperNodes of level {level}: create them with tierName {level}, or have"
            " Volcano discover them by this node label"
        )


def tiers_of(levels: set[str], facts: Facts) -> Tiers:
    """What the HyperNodes say about these levels."""
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
    """As Volcano stores it: what the server would add is said, so that nothing is written twice."""
    return {"mode": "hard", "highestTierAllowed": tier}
