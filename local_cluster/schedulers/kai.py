"""KAI: its scheduler and binder, with one unlimited queue. No operator or webhook.

Its podgrouper is built too, and runs only where a test starts it to see what it does to gangs.
Without the Topology CRD the scheduler hangs silently, so all four are installed first.
"""

from pathlib import Path
from typing import Any

from local_cluster.components import Component, Ports
from local_cluster.schedulers.extra import ExtraScheduler

ROOT_QUEUE = "root"
QUEUE = "team"


def _queue(name: str, parent: str | None) -> dict[str, Any]:
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec: dict[str, Any] = {"resources": dict.fromkeys(("cpu", "gpu", "memory"), unlimited)}
    if parent is not None:
        spec["parentQueue"] = parent
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def _components(programs: Path, kubeconfig: Path, ports: Ports) -> tuple[Component, ...]:
    # Neither program has a --kubeconfig flag.
    environment = {"KUBECONFIG": str(kubeconfig)}
    scheduler = (
        str(programs / "kai-scheduler"),
        f"--listen-address=127.0.0.1:{ports.kai_scheduler}",
        f"--plugin-server-port={ports.kai_plugins}",
        "--schedule-period=200ms",
        "--update-pod-eviction-condition=true",
        "--default-staleness-grace-period=5s",
        "--v=1",
    )
    binder = (
        str(programs / "kai-binder"),
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
    )
    return (
        Component("kai-scheduler", scheduler, environment),
        Component("kai-binder", binder, environment),
    )


def podgrouper(programs: Path, kubeconfig: Path, *flags: str) -> Component:
    """The program that creates PodGroups for all pods, and adopts existing ones."""
    command = (
        str(programs / "kai-podgrouper"),
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
        *flags,
    )
    return Component("kai-podgrouper", command, {"KUBECONFIG": str(kubeconfig)})


_QUEUES = "/apis/scheduling.run.ai/v2/queues"

SCHEDULER = ExtraScheduler(
    name="kai",
    build="kai",
    crds=(
        "scheduling.run.ai_podgroups.yaml",
        "scheduling.run.ai_queues.yaml",
        "scheduling.run.ai_bindrequests.yaml",
        "kai.scheduler_topologies.yaml",
    ),
    objects=(
        (_QUEUES, _queue(ROOT_QUEUE, None)),
        (_QUEUES, _queue(QUEUE, ROOT_QUEUE)),
    ),
    components=_components,
    ready_message={"kai-scheduler": "Start scheduling", "kai-binder": "Starting workers"},
)
