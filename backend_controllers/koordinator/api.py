"""Koordinator's kinds, keys and words, and the few fields that are read of its objects.

Only what this package uses. Koordinator has the PodGroup of scheduler-plugins' first days,
with two fields; all else that it knows about gangs is in annotations. It writes the status
of PodGroups, but late or never, so that nothing of it is read.
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

# What users put on a PodCliqueSet; its gangs inherit it. All but the quota are on PodGroups too.
KEY_MODE = "gang.scheduling.koordinator.sh/mode"
KEY_MATCH_POLICY = "gang.scheduling.koordinator.sh/match-policy"
KEY_WAITING_TIME = "gang.scheduling.koordinator.sh/waiting-time"
KEY_QUOTA = "quota.scheduling.koordinator.sh/name"

# What PodGroups carry.
KEY_GANG_GROUPS = "gang.scheduling.koordinator.sh/groups"
KEY_TOPOLOGY = "gang.scheduling.koordinator.sh/network-topology-spec"

# What pods carry.
KEY_POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
KEY_TOPOLOGY_SELECTOR = "scheduling.koordinator.sh/network-topology-selector"

TOPOLOGY_NAME = "default"
"""The one ClusterNetworkTopology that Koordinator reads."""
NODE_LAYER = "NodeTopologyLayer"
HOSTNAME = "kubernetes.io/hostname"
MUST_GATHER = "MustGather"
PREFER_GATHER = "PreferGather"


class ObservedPodGroup(msgspec.Struct, frozen=True):
    """A PodGroup: that it is there is all that matters."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


class ObservedQuota(msgspec.Struct, frozen=True):
    """A quota: pods name it without its namespace."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


class Layer(msgspec.Struct, frozen=True, rename="camel"):
    """One layer of the network; a node belongs to it by any of these labels."""

    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: tuple[str, ...] = ()


class _TopologySpec(msgspec.Struct, frozen=True, rename="camel"):
    network_topology_spec: tuple[Layer, ...] = ()


class _Domain(msgspec.Struct, frozen=True):
    pass


class _TopologyStatus(msgspec.Struct, frozen=True, rename="camel"):
    detail_status: tuple[_Domain, ...] = ()


class ObservedTopology(msgspec.Struct, frozen=True):
    """The network as the administrator describes it, and whether Koordinator has read that."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _TopologySpec = _TopologySpec()
    status: _TopologyStatus = _TopologyStatus()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers, in no order."""
        return self.spec.network_topology_spec

    @property
    def is_read(self) -> bool:
        """Tell whether Koordinator has found out which nodes are where."""
        return bool(self.status.detail_status)
