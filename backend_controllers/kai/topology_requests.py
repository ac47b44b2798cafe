"""Topology constraints of a gang, of sets of groups and of groups, as KAI's constraints.

A required level that KAI cannot apply rejects the gang. A preferred level is then left out, with a
remark. All findings are collected, so that a user reads every problem at once.
"""

from dataclasses import dataclass

from backend_controllers.contract.declaration import pack_of
from backend_controllers.contract.findings import Findings
from backend_controllers.kai.installation import KaiFeatures
from backend_controllers.kai.topology_levels import TopologyLevels
from shared_api import names
from shared_api.kube.podgangs import ObservedTopologyConstraint
from shared_api.models import JsonObject


@dataclass(frozen=True, slots=True)
class KaiTopologyRequests:
    """Renders the topology constraints of one gang."""

    features: KaiFeatures
    topology: TopologyLevels | None
    findings: Findings

    def gang(self, requested: ObservedTopologyConstraint | None) -> JsonObject | None:
        """Return the constraint of all pods of the gang."""
        return self._constraint(requested, "the gang", possible=self.features.topology)

    def part(
        self, requested: ObservedTopologyConstraint | None, title: str, within: str
    ) -> JsonObject | None:
        """Return the constraint of some groups, whose pods already share a domain of `within`."""
        possible = self.features.topology and self.features.nested
        return self._constraint(requested, title, within, possible=possible)

    def narrower(self, constraint: JsonObject | None, within: str) -> str:
        """Return the level that pods share under a constraint inside a domain of `within`."""
        required = str(constraint.get("requiredTopologyLevel", "")) if constraint else ""
        return self.topology.narrower(required, within) if self.topology else within

    def _constraint(
        self,
        requested: ObservedTopologyConstraint | None,
        title: str,
        within: str = "",
        *,
        possible: bool,
    ) -> JsonObject | None:
        pack = pack_of(requested)
        if pack.is_empty:
            return None
        if possible and self.topology is not None:
            return self.topology.constraint(pack, within)
        problem = (
            f"the installed KAI ({self.features.release}) does not support it. Install the CRDs of"
            " KAI v0.10 or newer"
            if not possible
            else "the gang names no topology. Set the annotation"
            f" {names.ANNOTATION_TOPOLOGY_NAME} on the PodCliqueSet"
        )
        self.findings.weigh(
            f"{title} cannot be packed by {pack.required or pack.preferred}: {problem}",
            required=bool(pack.required),
        )
        return None
