"""Constraints of a gang, of several groups or of one, weighed against what KAI has here.

What is required and cannot be had refuses the gang; what is only preferred is left out and
said. Findings are collected on the way, so that a user reads all that is wrong at once.
"""

from dataclasses import dataclass

from backend_controllers.contract.declaration import pack_of
from backend_controllers.contract.findings import Findings
from backend_controllers.kai.features import Features
from backend_controllers.kai.topology_levels import Place
from shared_api import names
from shared_api.kube.podgangs import GangTopologyConstraint
from shared_api.models import JsonObject


@dataclass(frozen=True, slots=True)
class Placing:
    """Makes the constraints of one gang."""

    features: Features
    place: Place | None
    findings: Findings

    def gang(self, asked: GangTopologyConstraint | None) -> JsonObject | None:
        """The constraint of all pods together."""
        return self._constraint(asked, "the gang", possible=self.features.topology)

    def part(self, asked: GangTopologyConstraint | None, of: str, within: str) -> JsonObject | None:
        """The constraint of some groups or one, inside a domain of the level `within`."""
        possible = self.features.topology and self.features.nested
        return self._constraint(asked, of, within, possible=possible)

    def narrower(self, constraint: JsonObject | None, within: str) -> str:
        """The level that pods share once they also obey a constraint."""
        required = str(constraint.get("requiredTopologyLevel", "")) if constraint else ""
        return self.place.narrower(required, within) if self.place else within

    def _constraint(
        self, asked: GangTopologyConstraint | None, of: str, within: str = "", *, possible: bool
    ) -> JsonObject | None:
        pack = pack_of(asked)
        if pack.is_empty:
            return None
        level = pack.required or pack.preferred
        if not possible:
            self.findings.weigh(
                f"{of} is to be packed by {level}, which the installed KAI"
                f" ({self.features.release}) cannot do: install the CRDs of KAI v0.10 or newer",
                required=bool(pack.required),
            )
            return None
        if self.place is None:
            self.findings.weigh(
                f"{of} is to be packed by {level}, but the gang names no topology: the annotation"
                f" {names.ANNOTATION_TOPOLOGY_NAME} is missing",
                required=bool(pack.required),
            )
            return None
        return self.place.constraint(pack, within)
