"""The network topology of a gang: which layer its pods are gathered in.

Koordinator reads one ClusterNetworkTopology, whose layers belong to node labels. A gang requests a
node label, so its layer is looked up. Koordinator uses the request of the PodGroup that it sees
first. So all PodGroups of a gang carry the same one, and parts of a gang cannot have their own.

Until Koordinator has read the topology, it rejects gangs that request one and retries after
minutes. So here a gang waits for a required layer, and goes on without a preferred one.
"""

import json
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts, PackLevels, pack_of
from backend_controllers.contract.findings import Findings
from backend_controllers.contract.pack_requests import Scope, pack_requests
from backend_controllers.koordinator.api import (
    HOSTNAME,
    MUST_GATHER,
    NODE_LAYER,
    PREFER_GATHER,
    TOPOLOGIES,
    TOPOLOGY_NAME,
    KoordinatorTopology,
)
from backend_controllers.koordinator.installation import KoordinatorInstallation
from shared_api.kube.podgangs import ObservedPodGang

_NETWORK = f"{TOPOLOGIES.kind} '{TOPOLOGY_NAME}'"
UNREAD = (
    f"Koordinator has not read {_NETWORK}, which it does every 10 s. If this stays, run"
    " koord-scheduler with --enable-network-topology-manager, and set the labels of all layers on"
    " the nodes"
)


@dataclass(frozen=True, slots=True)
class KoordinatorPlacement:
    """The annotation of the PodGroups, and what must happen before they are written."""

    annotation: str = ""
    awaits: str = ""


def placement_of(
    installation: KoordinatorInstallation, gang: ObservedPodGang, facts: Facts, findings: Findings
) -> KoordinatorPlacement:
    """Return a gang's placement; empty if it requests none, or nothing possible."""
    for request in pack_requests(gang):
        if request.scope is not Scope.GANG:
            findings.weigh(
                f"{request.title} cannot be packed by {request.pack.required or request.pack.preferred}:"
                " Koordinator packs only whole gangs. Request the level on the gang",
                required=bool(request.pack.required),
            )
    pack = pack_of(gang.spec.topology_constraint)
    network = facts.get(TOPOLOGIES, "", TOPOLOGY_NAME) if installation.features.topology else None
    known = network if isinstance(network, KoordinatorTopology) else None
    required = _layer(installation, known, pack.required, findings.refusals)
    preferred = _layer(installation, known, pack.preferred, findings.remarks)
    is_read = known is not None and known.is_read
    if preferred and not is_read and not required:
        findings.remarks.append(f"the gang is not packed by {pack.preferred}: {UNREAD}")
        return KoordinatorPlacement()
    requested = [(required, MUST_GATHER), (preferred, PREFER_GATHER)]
    strategies = [{"layer": layer, "strategy": how} for layer, how in requested if layer]
    if not strategies:
        return KoordinatorPlacement()
    _remark_on_surplus(gang, pack, findings)
    text = json.dumps({"gatherStrategy": strategies}, separators=(",", ":"))
    return KoordinatorPlacement(text, "" if is_read else UNREAD)


def _layer(
    installation: KoordinatorInstallation,
    network: KoordinatorTopology | None,
    key: str,
    problems: list[str],
) -> str:
    """Return the layer of a node label; empty if the key is empty or has no layer."""
    if not key:
        return ""
    layers = _layers(network) if network is not None else {}
    if key not in layers:
        why = _why_no_layer(installation, network)
        problems.append(f"the gang cannot be packed by {key}: {why}")
    return layers.get(key, "")


def _why_no_layer(
    installation: KoordinatorInstallation, network: KoordinatorTopology | None
) -> str:
    if not installation.features.topology:
        return f"{TOPOLOGIES} is not installed. Install the CRDs of Koordinator v1.7 or newer"
    if network is None:
        return f"{_NETWORK} does not exist. Create it, with a layer for that node label"
    known = ", ".join(sorted({*_layers(network)} - {HOSTNAME})) or "none"
    return (
        f"no layer of {_NETWORK} has that node label. Add one, or request an existing one ({known})"
    )


def _remark_on_surplus(gang: ObservedPodGang, pack: PackLevels, findings: Findings) -> None:
    surplus = sum(
        max(0, len(group.pod_references) - group.min_replicas) for group in gang.spec.podgroups
    )
    if pack.required and surplus:
        findings.remarks.append(
            f"the {surplus} pods above the minimum may be scheduled outside of {pack.required}"
        )


def _layers(network: KoordinatorTopology) -> dict[str, str]:
    """Return the layers by their node labels."""
    found = {key: layer.topology_layer for layer in network.layers for key in layer.label_key}
    return {**found, HOSTNAME: NODE_LAYER}
