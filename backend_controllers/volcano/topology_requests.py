"""Placements of a gang and of its parts, weighed against what Volcano has here.

What is required and cannot be had refuses the gang; what is only preferred is left out and
said. What a narrower placement implies is not written. Findings are collected on the way, so
that a user reads all that is wrong at once.
"""

from dataclasses import dataclass

from backend_controllers.contract.declaration import Pack
from backend_controllers.contract.findings import Findings
from backend_controllers.volcano.features import Features
from backend_controllers.volcano.tiers import ANY_TIER, Tiers


@dataclass(frozen=True, slots=True)
class Placing:
    """Makes the placements of one gang."""

    features: Features
    tiers: Tiers
    findings: Findings

    def whole(self, pack: Pack, of: str = "the gang") -> int | None:
        """The highest tier that all pods together may span; None if that does not matter."""
        if pack.is_empty:
            return None
        if not self.features.topology:
            self._note_age(pack, of, "v1.11")
            return None
        return self._tier(pack, of, ANY_TIER)

    def part(self, pack: Pack, of: str, within: int | None) -> int | None:
        """The same of some groups or one, which are inside a domain of the tier `within` anyway."""
        if pack.is_empty:
            return None
        if not self.features.nested:
            self._note_age(pack, of, "v1.14")
            return None
        return self._tier(pack, of, ANY_TIER if within is None else within)

    def _note_age(self, pack: Pack, of: str, since: str) -> None:
        self.findings.weigh(
            f"{of} is to be packed by {pack.required or pack.preferred}, which the installed Volcano"
            f" ({self.features.release}) cannot do: install the CRDs of Volcano {since} or newer",
            required=bool(pack.required),
        )

    def _tier(self, pack: Pack, of: str, within: int) -> int | None:
        required = self._known(pack.required, of, required=True) if pack.required else None
        preferred = self._known(pack.preferred, of, required=False) if pack.preferred else None
        if required is not None and required < within:
            # The search begins at the lowest tier, so what is preferred inside is tried first.
            return required
        if preferred is not None and preferred < within:
            return ANY_TIER
        return None

    def _known(self, level: str, of: str, *, required: bool) -> int | None:
        tier = self.tiers.of(level)
        if tier is None:
            text = f"{of} is to be packed by {level}, but {self.tiers.flaw_of(level)}"
            self.findings.weigh(text, required=required)
        return tier
