"""The Topology of a gang, and its levels, which are node label keys.

KAI fails without a reason if a preferred level is broader than the required one, or if a
sub-group's level is broader than that of its parent. The narrower level implies both, so they are
left out. A level that does not exist must stay: without it KAI would schedule the gang anywhere.
"""

from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts, PackLevels
from backend_controllers.contract.pack_requests import levels_of
from backend_controllers.kai.api import (
    BACKEND_NAME,
    BINDINGS,
    HOSTNAME,
    KEY_TOPOLOGY,
    SCHEDULER_NAME,
    TOPOLOGIES,
    KaiTopology,
)
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import ClusterTopologyBinding, JsonObject


@dataclass(frozen=True, slots=True)
class TopologyLevels:
    """A Topology of KAI and its levels, broadest first. Unknown levels are empty."""

    topology: str
    levels: tuple[str, ...] = ()

    def constraint(self, pack: PackLevels, within: str = "") -> JsonObject | None:
        """Return the topologyConstraint of pods that already share a domain of `within`."""
        required = "" if self._is_broader(pack.required, within) else pack.required
        preferred = pack.preferred
        if self._is_broader(preferred, required or within):
            preferred = ""
        if not required and not preferred:
            return None
        constraint: JsonObject = {"topology": self.topology}
        if required:
            constraint["requiredTopologyLevel"] = required
        if preferred:
            constraint["preferredTopologyLevel"] = preferred
        return constraint

    def narrower(self, one: str, other: str) -> str:
        """Return the narrower of two levels, which implies the other."""
        if not one or not other:
            return one or other
        return other if self._is_broader(one, other) else one

    def _is_broader(self, level: str, than: str) -> bool:
        if level not in self.levels or than not in self.levels:
            return False
        return self.levels.index(level) < self.levels.index(than)


def reference_of(binding: ClusterTopologyBinding) -> str | None:
    """Return the Topology that an administrator manages for KAI, if the binding names one."""
    for entry in binding.spec.scheduler_topology_bindings:
        if entry.scheduler_name in (SCHEDULER_NAME, BACKEND_NAME):
            return entry.topology_reference
    return None


def usable_levels(binding: ClusterTopologyBinding) -> tuple[str, ...]:
    """Return the levels of a binding that a Topology of KAI can have."""
    keys = [level.key for level in binding.spec.levels]
    # KAI has no level below a node, and its API accepts the hostname label only as the last level.
    return tuple(keys[: keys.index(HOSTNAME) + 1] if HOSTNAME in keys else keys)


def topology_of(gang: ObservedPodGang, facts: Facts) -> TopologyLevels | None:
    """Return the Topology that a gang names; None if it names none."""
    name = _named(gang)
    if not name:
        return None
    binding = _binding(name, facts)
    reference = reference_of(binding) if binding else None
    topology = facts.get(TOPOLOGIES, "", reference or name)
    if isinstance(topology, KaiTopology):
        return TopologyLevels(reference or name, topology.levels)
    if binding is not None and reference is None:
        return TopologyLevels(name, usable_levels(binding))
    return TopologyLevels(reference or name)


def topology_problem(gang: ObservedPodGang, facts: Facts) -> tuple[str, str] | None:
    """Return why KAI cannot apply the gang's levels, as reason and message; None if it can."""
    requested, named = levels_of(gang), topology_of(gang, facts)
    if not requested or named is None:
        return None
    topology = facts.get(TOPOLOGIES, "", named.topology)
    if not isinstance(topology, KaiTopology):
        return "TopologyDoesNotExist", _missing(named.topology, _named(gang), facts)
    unknown = sorted(requested - set(topology.levels))
    if not unknown:
        return None
    return "TopologyLevelDoesNotExist", (
        f"Topology '{named.topology}' has no level {', '.join(unknown)}. Use one of its levels:"
        f" {', '.join(topology.levels)}"
    )


def _missing(topology: str, name: str, facts: Facts) -> str:
    binding = _binding(name, facts)
    if binding is None:
        return (
            f"neither Topology '{topology}' nor ClusterTopologyBinding '{name}' exists. Create one"
            " of them"
        )
    if reference_of(binding) is None:
        return f"Topology '{topology}' is being created from ClusterTopologyBinding '{name}'"
    return (
        f"ClusterTopologyBinding '{name}' refers to Topology '{topology}', which does not exist."
        " Create it, or remove the reference so that this backend creates one"
    )


def _named(gang: ObservedPodGang) -> str:
    annotations = gang.metadata.annotations
    return annotations.get(names.ANNOTATION_TOPOLOGY_NAME) or annotations.get(KEY_TOPOLOGY, "")


def _binding(name: str, facts: Facts) -> ClusterTopologyBinding | None:
    found = facts.get(BINDINGS, "", name)
    return found if isinstance(found, ClusterTopologyBinding) else None
