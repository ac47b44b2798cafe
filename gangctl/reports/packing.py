"""The pods of a PodGang, nested as its topology constraints are, for the search of places."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared_api.capacity.packing import Packing, Unit, nested, pack
from shared_api.capacity.supply import Demand
from shared_api.kube.codec import LooseObject

__all__ = ["Packing", "Unit", "level_of", "pack", "unit_of"]


def level_of(part: Mapping[str, Any]) -> str | None:
    """Return the node label whose value all pods of a part of a PodGang's spec must share."""
    constraint = part.get("topologyConstraint") or {}
    required = (constraint.get("packConstraint") or {}).get("required")
    return str(required) if required else None


def unit_of(gang: LooseObject, demands: Sequence[Demand]) -> Unit:
    """Return the pods of a gang, nested as its topology constraints are."""
    levels = {group["name"]: level_of(group) for group in gang.spec.get("podgroups") or ()}
    configs = gang.spec.get("topologyConstraintGroupConfigs") or ()
    sets = ((level_of(config), config["podGroupNames"]) for config in configs)
    return nested(level_of(gang.spec), sets, levels, demands)
