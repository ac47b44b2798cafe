"""Where a gang may be placed, in Koordinator's words: gathered in one domain of a layer.

Layers are those of the one ClusterNetworkTopology that Koordinator reads, and belong to node
labels. A gang asks for a node label, so the layer with that label is looked up. A gang has
one placement: Koordinator goes by that of the PodGroup that it meets first, so all of them
carry the same, and parts of a gang cannot have placements of their own.

Until Koordinator has read the network, it turns gangs with a placement away, and tries them
again after minutes. So they wait here for what is required, and do without what is preferred.
"""

import json
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.findings import Findings
from backend_controllers.koordinator.api import (
    HOSTNAME,
    MUST_GATHER,
    NODE_LAYER,
    PREFER_GATHER,
    TOPOLOGIES,
    TOPOLOGY_NAME,
    ObservedTopology,
)
from backend_controllers.koordinator.options import KoordinatorInstallation
from shared_api.kube.podgangs import GangTopologyConstraint, PodGang

_NETWORK = f"{TOPOLOGIES.kind} '{TOPOLOGY_NAME}'"
UNREAD = (
    f"Koordinator has not read {_NETWORK}, which it does every 10 s: if this stays, run"
    " koord-scheduler with --enable-network-topology-manager, and give nodes the labels of all"
    " layers"
)


@dataclass(frozen=True, slots=True)
class Placement:
    """What PodGroups carry, and what has to happen before they may."""

    annotation: str = ""
    awaits: str = ""


@dataclass(frozen=True, slots=True)
class _Pack:
    required: str = ""
    preferred: str = ""


def placement_of(
    installation: KoordinatorInstallation, gang: PodGang, facts: Facts, findings: Findings
) -> Placement:
    """A gang's placement; empty if it asks for none, or for nothing possible."""
    _refuse_parts(gang, findings)
    pack = _pack_of(gang.spec.topology_constraint)
    network = _network(facts) if installation.features.topology else None
    required = _layer(installation, network, pack.required, findings.refusals)
    preferred = _layer(installation, network, pack.preferred, findings.remarks)
    is_read = network is not None and network.is_read
    if preferred and not is_read and not required:
        findings.remarks.append(
            f"the gang is to be packed by {pack.preferred} if possible: {UNREAD}"
        )
        return Placement()
    asked = [(required, MUST_GATHER), (preferred, PREFER_GATHER)]
    strategies = [{"layer": layer, "strategy": how} for layer, how in asked if layer]
    if not strategies:
        return Placement()
    _remark_on_surplus(gang, pack, findings)
    text = json.dumps({"gatherStrategy": strategies}, separators=(",", ":"))
    return Placement(text, "" if is_read else UNREAD)


def _layer(
    installation: KoordinatorInstallation,
    network: ObservedTopology | None,
    key: str,
    complaints: list[str],
) -> str:
    """The layer with a node label; empty if none is asked for, or after a complaint."""
    if not key:
        return ""
    layers = _layers(network) if network is not None else {}
    if key in layers:
        return layers[key]
    complaints.append(f"the gang is to be packed by {key}, {_missing(installation, network)}")
    return ""


def _refuse_parts(gang: PodGang, findings: Findings) -> None:
    parts = [
        (f"groups '{config.name}'", config.topology_constraint)
        for config in gang.spec.topology_constraint_group_configs
    ]
    parts += [(f"group '{group.name}'", group.topology_constraint) for group in gang.spec.podgroups]
    for name, constraint in parts:
        pack = _pack_of(constraint)
        if key := pack.required or pack.preferred:
            findings.weigh(
                f"{name} is to be packed by {key}: Koordinator has one placement for the whole"
                " gang; ask for it there",
                required=bool(pack.required),
            )


def _missing(installation: KoordinatorInstallation, network: ObservedTopology | None) -> str:
    if not installation.features.topology:
        return f"but {TOPOLOGIES} is not installed: install the CRDs of Koordinator v1.7 or newer"
    if network is None:
        return f"but there is no {_NETWORK}: create it, with a layer for that node label"
    known = ", ".join(sorted({*_layers(network)} - {HOSTNAME})) or "none"
    return (
        f"but no layer of {_NETWORK} has that node label: add one, or ask for one of those that"
        f" are there ({known})"
    )


def _remark_on_surplus(gang: PodGang, pack: _Pack, findings: Findings) -> None:
    surplus = sum(
        max(0, len(group.pod_references) - group.min_replicas) for group in gang.spec.podgroups
    )
    if pack.required and surplus:
        findings.remarks.append(
            f"the {surplus} pods above the minimum may be placed outside of {pack.required}"
        )


def _network(facts: Facts) -> ObservedTopology | None:
    found = facts.get(TOPOLOGIES, "", TOPOLOGY_NAME)
    return found if isinstance(found, ObservedTopology) else None


def _layers(network: ObservedTopology) -> dict[str, str]:
    """Layers by the node labels that belong to them."""
    found = {key: layer.topology_layer for layer in network.layers for key in layer.label_key}
    return {**found, HOSTNAME: NODE_LAYER}


def _pack_of(constraint: GangTopologyConstraint | None) -> _Pack:
    pack = constraint.pack_constraint if constraint else None
    return _Pack() if pack is None else _Pack(pack.required or "", pack.preferred or "")
