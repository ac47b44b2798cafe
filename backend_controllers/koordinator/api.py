"""Koordinator's kinds, label and annotation keys, and projections of its objects.

It has only what this package uses. Koordinator has an early PodGroup of scheduler-plugins, with
two fields. Everything else about gangs is in annotations.
"""

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource

PODGROUPS = Resource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup")
QUOTAS = Resource("scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas", "ElasticQuota")
TOPOLOGIES = Resource(
    "scheduling.koordinator.sh",
    "v1alpha1",
    "clusternetworktopologies",
    "ClusterNetworkTopology",
    namespaced=False,
)
RESERVATIONS = Resource(
    "scheduling.koordinator.sh", "v1alpha1", "reservations", "Reservation", namespaced=False
)
DEVICES = Resource("scheduling.koordinator.sh", "v1alpha1", "devices", "Device", namespaced=False)

BACKEND_NAME = "koordinator"
SCHEDULER_NAME = "koord-scheduler"
GATE = "scheduling.koordinator.sh/gang"

# Users set these on a PodCliqueSet, and its gangs inherit them. PodGroups have all but the quota.
KEY_MODE = "gang.scheduling.koordinator.sh/mode"
KEY_MATCH_POLICY = "gang.scheduling.koordinator.sh/match-policy"
KEY_WAITING_TIME = "gang.scheduling.koordinator.sh/waiting-time"
KEY_QUOTA = "quota.scheduling.koordinator.sh/name"

# Set on PodGroups.
KEY_GANG_GROUPS = "gang.scheduling.koordinator.sh/groups"
KEY_TOPOLOGY = "gang.scheduling.koordinator.sh/network-topology-spec"

# Set on pods.
KEY_POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
KEY_TOPOLOGY_SELECTOR = "scheduling.koordinator.sh/network-topology-selector"

TOPOLOGY_NAME = "default"
"""The one ClusterNetworkTopology that Koordinator reads."""
NODE_LAYER = "NodeTopologyLayer"
HOSTNAME = "kubernetes.io/hostname"
MUST_GATHER = "MustGather"
PREFER_GATHER = "PreferGather"


class Layer(msgspec.Struct, frozen=True, rename="camel"):
    """One layer of the network. A node belongs to it by any of these labels."""

    topology_layer: str = ""
    label_key: tuple[str, ...] = ()


class _TopologySpec(msgspec.Struct, frozen=True, rename="camel"):
    network_topology_spec: tuple[Layer, ...] = ()


class _Domain(msgspec.Struct, frozen=True):
    pass


class _TopologyStatus(msgspec.Struct, frozen=True, rename="camel"):
    detail_status: tuple[_Domain, ...] = ()


class KoordinatorTopology(msgspec.Struct, frozen=True):
    """The network that the administrator describes, and whether Koordinator has read it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _TopologySpec = _TopologySpec()
    status: _TopologyStatus = _TopologyStatus()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers, in any order."""
        return self.spec.network_topology_spec

    @property
    def is_read(self) -> bool:
        """Tell whether Koordinator has assigned the nodes to domains."""
        return bool(self.status.detail_status)
