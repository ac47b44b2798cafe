"""Where pods may be placed, in KAI's words: a Topology and levels that are node label keys.

KAI fails without a reason when a preferred level is broader than the required one, or when
a sub-group's level is broader than that of what it is part of. Both are implied by the
narrower level, so they are left out. What does not exist is not left out: KAI would place
the gang anywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts, Pack, pack_of
from backend_controllers.kai.api import (
    BACKEND_NAME,
    BINDINGS,
    HOSTNAME,
    KEY_TOPOLOGY,
    SCHEDULER_NAME,
    TOPOLOGIES,
    ObservedTopology,
)
from shared_api import names
from shared_api.kube.podgangs import PodGang
from shared_api.models import ClusterTopologyBinding, JsonObject


@dataclass(frozen=True, slots=True)
class Place:
    """A Topology of KAI, and its levels from the broadest to the narrowest if they are known."""

    topology: str
    levels: tuple[str, ...] = ()

    def constraint(self, pack: Pack, within: str = "") -> JsonObject | None:
        """A topologyConstraint, for pods that share a domain of the level `within` already."""
        required = "" if self._is_broader(pack.required, within) else pack.required
        floor = required or within
        preferred = "" if self._is_broader(pack.preferred, floor) else pack.preferred
        if not required and not preferred:
            return None
        constraint: JsonObject = {"topology": self.topology}
        if required:
            constraint["requiredTopologyLevel"] = required
        if preferred:
            constraint["preferredTopologyLevel"] = preferred
        return constraint

    def narrower(self, one: str, other: str) -> str:
        """The level that implies the other one."""
        if not one or not other:
            return one or other
        return other if self._is_broader(one, other) else one

    def _is_broader(self, level: str, than: str) -> bool:
        if level not in self.levels or than not in self.levels:
            return False
        return self.levels.index(level) < self.levels.index(than)


def reference_of(binding: ClusterTopologyBinding) -> str | None:
    """The Topology that somebody else keeps for KAI, if the binding says so."""
    for entry in binding.spec.scheduler_topology_bindings:
        if entry.scheduler_name in (SCHEDULER_NAME, BACKEND_NAME):
            return entry.topology_reference
    return None


def usable_levels(binding: ClusterTopologyBinding) -> tuple[str, ...]:
    """The levels that a Topology of KAI can have: none below the single node."""
    keys = [level.key for level in binding.spec.levels]
    # KAI has nothing narrower than a node, and its API refuses the label anywhere but last.
    return tuple(keys[: keys.index(HOSTNAME) + 1] if HOSTNAME in keys else keys)


def place_of(gang: PodGang, facts: Facts) -> Place | None:
    """The Topology that the gang's levels belong to; None if it names none."""
    name = _named(gang)
    if not name:
        return None
    binding = _binding(name, facts)
    reference = reference_of(binding) if binding else None
    topology = facts.get(TOPOLOGIES, "", reference or name)
    if isinstance(topology, ObservedTopology):
        return Place(reference or name, topology.levels)
    if binding is not None and reference is None:
        return Place(name, usable_levels(binding))
    return Place(reference or name)


def flaw_of(gang: PodGang, facts: Facts) -> tuple[str, str] | None:
    """Why KAI cannot heed the gang's levels, as reason and message."""
    asked = {level for pack in _packs(gang) for level in (pack.required, pack.preferred) if level}
    place = place_of(gang, facts)
    if not asked or place is None:
        return None
    topology = facts.get(TOPOLOGIES, "", place.topology)
    if not isinstance(topology, ObservedTopology):
        return "TopologyDoesNotExist", _absent(place.topology, _named(gang), facts)
    unknown = sorted(asked - set(topology.levels))
    if unknown:
        return "TopologyLevelDoesNotExist", (
            f"Topology '{place.topology}' has no level {', '.join(unknown)};"
            f" it has {', '.join(topology.levels)}"
        )
    return None


def _absent(topology: str, name: str, facts: Facts) -> str:
    binding = _binding(name, facts)
    if binding is None:
        return (
            f"Topology '{topology}' does not exist, and there is no ClusterTopologyBinding"
            f" '{name}' to make it from: create either"
        )
    if reference_of(binding) is None:
        return f"Topology '{topology}' is still to be made from ClusterTopologyBinding '{name}'"
    return (
        f"ClusterTopologyBinding '{name}' refers to Topology '{topology}', which does not exist:"
        " create it, or remove the reference to have one kept in step"
    )


def _named(gang: PodGang) -> str:
    annotations = gang.metadata.annotations
    return annotations.get(names.ANNOTATION_TOPOLOGY_NAME) or annotations.get(KEY_TOPOLOGY, "")


def _binding(name: str, facts: Facts) -> ClusterTopologyBinding | None:
    found = facts.get(BINDINGS, "", name)
    return found if isinstance(found, ClusterTopologyBinding) else None


def _packs(gang: PodGang) -> Iterator[Pack]:
    yield pack_of(gang.spec.topology_constraint)
    for config in gang.spec.topology_constraint_group_configs:
        yield pack_of(config.topology_constraint)
    for group in gang.spec.podgroups:
        yield pack_of(group.topology_constraint)
