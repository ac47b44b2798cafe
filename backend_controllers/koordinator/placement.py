"""Where a gang may be placed, in Koordinator's words: gathered in one domain of a layer.

Layers are those of the one ClusterNetworkTopology that Koordinator reads, and belong to node
labels. A gang asks for a node label, so the layer with that label is looked up. A gang has
one placement: Koordinator goes by that of the PodGroup that it meets first, so all of them
carry the same, and parts of a gang cannot have placements of their own.
"""

import json
from dataclasses import dataclass

from backend_controllers.contract import Facts
from backend_controllers.koordinator.api import (
    HOSTNAME,
    MUST_GATHER,
    NODE_LAYER,
    PREFER_GATHER,
    TOPOLOGIES,
    TOPOLOGY_NAME,
    ObservedTopology,
)
from backend_controllers.koordinator.options import Notes, Speech
from shared_api.models import GangTopologyConstraint, PodGang


@dataclass(frozen=True, slots=True)
class _Pack:
    required: str = ""
    preferred: str = ""


def placement_of(speech: Speech, gang: PodGang, facts: Facts, notes: Notes) -> str:
    """The annotation with a gang's placement; empty if it asks for none, or for nothing possible."""
    _refuse_parts(gang, notes)
    pack = _pack_of(gang.spec.topology_constraint)
    layers = _layers(facts) if speech.features.topology else None
    strategies = []
    for key, strategy in ((pack.required, MUST_GATHER), (pack.preferred, PREFER_GATHER)):
        if not key:
            continue
        layer = NODE_LAYER if key == HOSTNAME and layers is not None else (layers or {}).get(key)
        if layer is not None:
            strategies.append({"layer": layer, "strategy": strategy})
            continue
        where = notes.refusals if strategy == MUST_GATHER else notes.remarks
        where.append(f"the gang is to be packed by {key}, {_missing(speech, layers)}")
    if not strategies:
        return ""
    _remark_on_surplus(gang, pack, notes)
    return json.dumps({"gatherStrategy": strategies}, separators=(",", ":"))


def _refuse_parts(gang: PodGang, notes: Notes) -> None:
    parts = [
        (f"groups '{config.name}'", config.topology_constraint)
        for config in gang.spec.topology_constraint_group_configs
    ]
    parts += [(f"group '{group.name}'", group.topology_constraint) for group in gang.spec.podgroups]
    for name, constraint in parts:
        pack = _pack_of(constraint)
        if key := pack.required or pack.preferred:
            where = notes.refusals if pack.required else notes.remarks
            where.append(
                f"{name} is to be packed by {key}: Koordinator has one placement for the whole"
                " gang; ask for it there"
            )


def _missing(speech: Speech, layers: dict[str, str] | None) -> str:
    if not speech.features.topology:
        return f"but {TOPOLOGIES} is not installed: install the CRDs of Koordinator v1.7 or newer"
    if layers is None:
        return (
            f"but there is no {TOPOLOGIES.kind} '{TOPOLOGY_NAME}': create it, with a layer for"
            " that node label"
        )
    known = ", ".join(sorted(layers)) or "none"
    return (
        f"but no layer of {TOPOLOGIES.kind} '{TOPOLOGY_NAME}' has that node label: add one, or ask"
        f" for one of those that are there ({known})"
    )


def _remark_on_surplus(gang: PodGang, pack: _Pack, notes: Notes) -> None:
    surplus = sum(
        max(0, len(group.pod_references) - group.min_replicas) for group in gang.spec.podgroups
    )
    if pack.required and surplus:
        notes.remarks.append(
            f"the {surplus} pods above the minimum may be placed outside of {pack.required}"
        )


def _layers(facts: Facts) -> dict[str, str] | None:
    """Layers by the node labels that belong to them; None if nobody has described the network."""
    found = facts.get(TOPOLOGIES, "", TOPOLOGY_NAME)
    if not isinstance(found, ObservedTopology):
        return None
    return {key: layer.topology_layer for layer in found.layers for key in layer.label_key}


def _pack_of(constraint: GangTopologyConstraint | None) -> _Pack:
    pack = constraint.pack_constraint if constraint else None
    return _Pack() if pack is None else _Pack(pack.required or "", pack.preferred or "")
