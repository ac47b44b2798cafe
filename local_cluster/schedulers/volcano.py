"""Volcano: its scheduler, and of its controllers the one that opens queues. No webhooks.

Without the HyperNode CRD no pod is scheduled and no error is logged, so it is installed with the
rest. The scheduler makes the queues `root` and `default` itself, but uses a queue only
once it is open, which is the queue controller's work.
"""

from pathlib import Path

from local_cluster.api import Object
from local_cluster.components import Component, Ports
from local_cluster.schedulers.extra import ExtraScheduler

QUEUE = "default"
_FOLDER = "volcano"
# The scheduler reloads when anything in the folder of this file changes: it lies there alone.
_CONF = f"{_FOLDER}/conf/volcano-scheduler.conf"
_CONF_TEXT = """\
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""


def _components(programs: Path, kubeconfig: Path, ports: Ports) -> tuple[Component, ...]:
    del ports  # Neither listens on one.
    folder = kubeconfig.parent / _FOLDER
    environment = {"DEBUG_SOCKET_DIR": str(folder)}
    both = (f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--v=2")
    scheduler = (
        str(programs / "vc-scheduler"),
        *both,
        "--schedule-period=200ms",
        "--cache-dumper=false",
        f"--scheduler-conf={kubeconfig.parent / _CONF}",
        # It would need another CRD.
        "--feature-gates=ResourceTopology=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    controllers = (
        str(programs / "vc-controller-manager"),
        *both,
        "--controllers=queue-controller",
    )
    return (
        Component("vc-scheduler", scheduler, environment),
        Component("vc-controller-manager", controllers, environment),
    )


def _is_open(queue: Object) -> bool:
    state = queue.get("status", {}).get("state")
    return bool(queue["metadata"].get("name") == QUEUE and state == "Open")


SCHEDULER = ExtraScheduler(
    name="volcano",
    build="volcano",
    crds=(
        "scheduling.volcano.sh_podgroups.yaml",
        "scheduling.volcano.sh_queues.yaml",
        "topology.volcano.sh_hypernodes.yaml",
        "bus.volcano.sh_commands.yaml",
    ),
    objects=(),
    components=_components,
    ready_message={"vc-scheduler": "Scheduler completes Initialization and start to run"},
    files={_CONF: _CONF_TEXT},
    ready_objects=(("/apis/scheduling.volcano.sh/v1beta1/queues", _is_open),),
)
