"""`make demo`: a real cluster on this machine, and gangs on it, told step by step.

It shows what exists: the control plane, one hand-written gang that fits and is bound whole,
and one that does not fit and of which nothing is bound, with the scheduler's own words.
"""

import asyncio
import contextlib
import signal
import tempfile
import time
from pathlib import Path

from local_cluster.api import JSON_PATCH, Api, Object
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.errors import ClusterError
from local_cluster.hand_written_gang import GATE, gang_objects, gang_pods
from local_cluster.lifecycle import down, up
from local_cluster.versions import DEFAULT_MINOR
from local_cluster.waiting import Condition, until

_PODS = "/api/v1/namespaces/default/pods"
_GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default"
_UNGATE = [
    {"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE},
    {"op": "remove", "path": "/spec/schedulingGates/0"},
]


def run_demo(kubernetes: str, *, stay: bool) -> int:
    """Start a cluster, play the scenes, and stay until Ctrl-C."""
    if kubernetes != DEFAULT_MINOR:
        raise ClusterError(
            f"the demo's gang is written for Kubernetes {DEFAULT_MINOR}",
            "Leave --kubernetes out; `up` starts the other minors",
        )
    # A terminal that goes away must take the cluster along just as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="demo-") as directory:
        cluster = up(
            ClusterOptions(kubernetes=kubernetes),
            name="demo",
            directory=Path(directory) / "demo",
            leashed=True,
            say=lambda line: print(f"   {line}", flush=True),
        )
        try:
            asyncio.run(_scenes(cluster))
            _farewell(cluster, stay=stay)
        except KeyboardInterrupt:
            print("\nstopping ...")
        finally:
            down(cluster)
    print("the cluster is down; nothing is left of it")
    return 0


async def _scenes(cluster: Cluster) -> None:
    async with Api(cluster.kubeconfig) as api:
        _title("8 simulated nodes with 32 CPUs and 8 GPUs each, 1 node for processes")
        print(_indented(cluster.kubectl("get", "nodes", "-L", "local-cluster/rack").stdout))

        _title("A gang of 6 pods: a Workload, a PodGroup, and pods behind a gate")
        await _create_gang(api, "fits", 6, cpu="16")
        print(_indented(cluster.kubectl("get", "pods").stdout))

        _title("The gang is whole, so its gates go: all 6 pods or none")
        started = time.monotonic()
        await _release(api, "fits", 6)
        await until(cluster.kubeconfig, _PODS, _all_ready(6))
        print(f"   6 of 6 bound and ready {time.monotonic() - started:.1f} s after release\n")
        print(_indented(cluster.kubectl("get", "pods", "-o", "wide", "--no-headers").stdout))

        _title("A gang that is too big: 8 pods of 20 CPUs, and room for fewer")
        await _create_gang(api, "too-big", 8, cpu="20")
        await _release(api, "too-big", 8)
        pods = await until(cluster.kubeconfig, _PODS, _refused(8), labelSelector="gang=too-big")
        bound = sum(1 for pod in pods if pod["spec"].get("nodeName"))
        print(f"   {bound} of 8 bound, and the scheduler says why:\n")
        print(_indented(_reason_with_numbers(pods)))


async def _create_gang(api: Api, name: str, size: int, *, cpu: str) -> None:
    workload, group = gang_objects(name, "default", size)
    await api.create(f"{_GROUPS}/workloads", workload)
    await api.create(f"{_GROUPS}/podgroups", group)
    async with asyncio.TaskGroup() as tasks:
        for pod in gang_pods(name, "default", size, cpu=cpu):
            tasks.create_task(api.create(_PODS, pod))


async def _release(api: Api, name: str, size: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        for index in range(size):
            path = f"{_PODS}/{name}-{index}"
            tasks.create_task(api.patch(path, _UNGATE, content_type=JSON_PATCH))


def _farewell(cluster: Cluster, *, stay: bool) -> None:
    _title("Look around" if stay else "Done")
    if stay:
        print(f"   export KUBECONFIG={cluster.kubeconfig}")
        print(f"   {cluster.kubectl_program()} get workloads,podgroups,pods")
        print("\nThe cluster stays up until Ctrl-C.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


def _all_ready(size: int) -> Condition:
    def check(pods: list[Object]) -> bool:
        ready = [pod for pod in pods if _condition(pod, "Ready").get("status") == "True"]
        return len(ready) == size

    return check


def _refused(size: int) -> Condition:
    def check(pods: list[Object]) -> bool:
        states = [_condition(pod, "PodScheduled").get("reason") for pod in pods]
        return states == ["Unschedulable"] * size and bool(_reason_with_numbers(pods))

    return check


def _reason_with_numbers(pods: list[Object]) -> str:
    """Return what the scheduler says of the nodes; only some of the pods carry it."""
    said = [str(_condition(pod, "PodScheduled").get("message", "")) for pod in pods]
    return next((words for words in said if "nodes are available" in words), "")


def _condition(item: Object, kind: str) -> Object:
    for condition in item.get("status", {}).get("conditions") or []:
        if condition["type"] == kind:
            return dict(condition)
    return {}


def _title(text: str) -> None:
    print(f"\n== {text}\n", flush=True)


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.rstrip().splitlines())
