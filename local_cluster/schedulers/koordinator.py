"""Koordinator: its scheduler with the plugin for gangs, and nothing else of it.

The scheduler waits silently for missing CRDs, also for those of disabled plugins, so they are
installed first. Preemption is that of Kubernetes: the gang plugin of v1.8 frees capacity for all
members on the same node.
"""

import json
from pathlib import Path
from typing import Any

from local_cluster.components import Component, Ports
from local_cluster.schedulers.extra import ExtraScheduler

_CONFIG = "koord-scheduler/config.json"
_PLUGIN = "Coscheduling"
_POINTS = ("preEnqueue", "preFilter", "preScore", "score", "reserve", "permit", "preBind")


def _configuration() -> dict[str, Any]:
    enabled = {"enabled": [{"name": _PLUGIN}]}
    preempting = [{"name": _PLUGIN}, {"name": "DefaultPreemption"}]
    arguments = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "CoschedulingArgs",
        "awareNetworkTopology": True,
        "controllerWorkers": 10,
    }
    profile = {
        "schedulerName": "koord-scheduler",
        "plugins": {
            **dict.fromkeys((*_POINTS, "postBind"), enabled),
            "postFilter": {"enabled": preempting, "disabled": [{"name": "*"}]},
            "queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]},
        },
        "pluginConfig": [{"name": _PLUGIN, "args": arguments}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": "{kubeconfig}", "qps": 400, "burst": 800},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 2,
        "profiles": [profile],
    }


def _components(programs: Path, kubeconfig: Path, ports: Ports) -> tuple[Component, ...]:
    del ports
    scheduler = (
        str(programs / "koord-scheduler"),
        f"--config={kubeconfig.parent / _CONFIG}",
        "--secure-port=0",
        "--port=0",
        # With the first, a gang that does not fit is tried again without a pause, all day long;
        # with the second, it reserves the capacity that it found for a part of itself.
        "--feature-gates=SchedulerPopFromBackoffQ=false,NominatedNodeNameForExpectation=false",
        "--enable-network-topology-manager",
        "--v=3",
    )
    return (Component("koord-scheduler", scheduler),)


SCHEDULER = ExtraScheduler(
    name="koordinator",
    build="koordinator",
    crds=(
        "scheduling.sigs.k8s.io_podgroups.yaml",
        "scheduling.koordinator.sh_reservations.yaml",
        "scheduling.koordinator.sh_devices.yaml",
        "scheduling.koordinator.sh_clusternetworktopologies.yaml",
    ),
    objects=(),
    components=_components,
    ready_message={"koord-scheduler": "Pod Group sync finished"},
    files={_CONFIG: json.dumps(_configuration(), indent=2)},
)
