"""Topology constraints of a gang and of its parts, as tiers of Volcano.

A required level that Volcano cannot apply rejects the gang. A preferred level is then left out,
with a remark. A level that a narrower one implies is not written. All findings are collected, so
that a user reads every problem at once.
"""

from dataclasses import dataclass

from backend_controllers.contract.declaration import PackLevels
from backend_controllers.contract.findings import Findings
from backend_controllers.volcano.installation import VolcanoFeatures
from backend_controllers.volcano.tiers import ANY_TIER, Tiers


@dataclass(frozen=True, slots=True)
class VolcanoTopologyRequests:
    """Returns the tiers of one gang."""

    features: VolcanoFeatures
    tiers: Tiers
    findings: Findings

    def gang(self, pack: PackLevels, title: str = "the gang") -> int | None:
        """Return the highest tier that all pods together may span; None for no limit."""
        if not pack.is_empty and not self.features.topology:
            self._unsupported(pack, title, "v1.11")
            return None
        return self._tier(pack, title, ANY_TIER)

    def part(self, pack: PackLevels, title: str, within: int | None) -> int | None:
        """Return the same for some groups, whose pods already share a domain of tier `within`."""
        if not pack.is_empty and not self.features.nested:
            self._unsupported(pack, title, "v1.14")
            return None
        return self._tier(pack, title, ANY_TIER if within is None else within)

    def _unsupported(self, pack: PackLevels, title: str, since: str) -> None:
        self.findings.weigh(
            f"{title} cannot be packed by {pack.required or pack.preferred}: the installed Volcano"
            f" ({self.features.release}) does not support it. Install the CRDs of Volcano {since} or"
            " newer",
            required=bool(pack.required),
        )

    def _tier(self, pack: PackLevels, title: str, within: int) -> int | None:
        required = self._known(pack.required, title, required=True)
        preferred = self._known(pack.preferred, title, required=False)
        if required is not None and required < within:
            # The search begins at the lowest tier, so the preferred tier inside is tried first.
            return required
        if preferred is not None and preferred < within:
            return ANY_TIER
        return None

    def _known(self, level: str, title: str, *, required: bool) -> int | None:
        tier = self.tiers.of(level)
        if level and tier is None:
            problem = self.tiers.problem_of(level)
            self.findings.weigh(
                f"{title} cannot be packed by {level}: {problem}", required=required
            )
        return tier
