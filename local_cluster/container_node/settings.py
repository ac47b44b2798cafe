"""The configuration files of containerd, its network plugins and the kubelet. Pure functions."""

import json
from pathlib import Path
from typing import Any

import yaml

from local_cluster.container_node.addresses import (
    CLUSTER_DOMAIN,
    DNS_SERVICE,
    KUBELET_PORT,
    POD_RANGE,
)

PAUSE_IMAGE = "docker.io/local-cluster/pause:1"
_PLUGINS = Path("/usr/lib/cni")

_CONTAINERD = """\
version = 2
root = "{root}/containerd"
state = "{run}/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Machines in which this node runs may lack AppArmor, and the right to protect a process from
  # the kernel's OOM killer.
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{root}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def containerd_config(root: Path, run: Path, socket: Path) -> str:
    """Return the configuration of a containerd with everything in its own directories."""
    return _CONTAINERD.format(
        root=root, run=run, socket=socket, pause=PAUSE_IMAGE, plugins=_PLUGINS
    )


def pod_network() -> str:
    """Return the pod network: one bridge, addresses by host-local, no way out of the node."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": POD_RANGE}]],
            "routes": [{"dst": "10.0.0.0/20"}],
        },
    }
    network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, {"type": "loopback"}]}
    return json.dumps(network, indent=1)


def kubelet_config(root: Path, run: Path, socket: Path, authority: Path, cgroup: str) -> str:
    """Return the kubelet's configuration, for machines with cgroup v1 or v2."""
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{socket}",
        "port": KUBELET_PORT,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [DNS_SERVICE],
        "clusterDomain": CLUSTER_DOMAIN,
        # Without one, pods get only the cluster's DNS and not the machine's.
        "resolvConf": "",
        "podLogsDir": str(run / "pods"),
        "cgroupRoot": cgroup,
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "localStorageCapacityIsolation": False,
        "oomScoreAdj": 0,
        "makeIPTablesUtilChains": False,
        # The machine's disk and memory are used by others too: never evict pods for that.
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        # A gang of many pods on one node starts at once.
        "serializeImagePulls": False,
        "nodeStatusUpdateFrequency": "5s",
        "syncFrequency": "10s",
        "volumePluginDir": str(root / "volume-plugins"),
    }
    return yaml.safe_dump(config, sort_keys=False)
