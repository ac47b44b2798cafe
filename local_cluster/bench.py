"""`make bench-cluster`: the throughput of this control plane with a bare client, as a baseline.

It creates gated pods and ungates them with 1, 8, 32 and 64 requests in flight, while the real
scheduler binds them and simulated kubelets run them. Other benchmarks compare with these figures,
because machines differ and are noisy.
"""

import asyncio
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from local_cluster.api import JSON_PATCH, Api, Object
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.lifecycle import down, up
from local_cluster.status import resident_bytes
from local_cluster.waiting import until

_IN_FLIGHT = (1, 8, 32, 64)
_PODS = 400
_WATCHED_WRITES = 300
_NODES = 20
_GATE = "example.com/bench"
_UNGATE = [{"op": "remove", "path": "/spec/schedulingGates/0"}]
_RESULTS = Path("build") / "bench-cluster.json"


def run_bench(kubernetes: str) -> int:
    """Start a cluster, measure, print a table and write the same figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        options = ClusterOptions(kubernetes=kubernetes, nodes=_NODES, process_node=False)
        cluster = up(options, name="bench", directory=Path(directory) / "bench", leashed=True)
        try:
            figures = asyncio.run(_measure(cluster))
        finally:
            down(cluster)
    _RESULTS.parent.mkdir(exist_ok=True)
    _RESULTS.write_text(json.dumps(figures, indent=1))
    print(f"\nwritten to {_RESULTS}")
    return 0


async def _measure(cluster: Cluster) -> list[Object]:
    figures: list[Object] = []
    print(
        f"\n{'in flight':>10} {'pods created/s':>16} {'pods ungated/s':>16} {'all ready after':>17}"
    )
    async with Api(cluster.kubeconfig) as api:
        for in_flight in _IN_FLIGHT:
            created, ungated, ready = await _round(cluster, api, in_flight)
            print(f"{in_flight:>10} {created:>16.0f} {ungated:>16.0f} {ready:>15.1f} s", flush=True)
            figures += [
                _figure(f"pods created per second, {in_flight} in flight", created, "1/s"),
                _figure(f"pods ungated per second, {in_flight} in flight", ungated, "1/s"),
            ]
        delays = await _watch_delays(api)
    half, most = statistics.median(delays), statistics.quantiles(delays, n=100)[98]
    print(
        f"\nwatch delay: p50 {half * 1e3:.2f} ms, p99 {most * 1e3:.2f} ms (write sent to event seen)"
    )
    figures += [_figure("watch delay p50", half * 1e3, "ms")]
    figures += [_figure("watch delay p99", most * 1e3, "ms")]
    print("\nresident memory:")
    for name, state in cluster.control.components().items():
        size = resident_bytes(state["pid"]) / 2**20
        print(f"  {name:<24} {size:>6.0f} MiB")
        figures.append(_figure(f"resident memory of {name}", size, "MiB"))
    return figures


async def _round(cluster: Cluster, api: Api, in_flight: int) -> tuple[float, float, float]:
    namespace = f"bench-{in_flight}"
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    await until(cluster.kubeconfig, f"/api/v1/namespaces/{namespace}/serviceaccounts", bool)
    names = [f"p-{index}" for index in range(_PODS)]
    creating = await _timed(in_flight, [_creation(api, pods, name) for name in names])
    started = time.monotonic()
    ungating = await _timed(in_flight, [_ungating(api, pods, name) for name in names])
    await until(cluster.kubeconfig, pods, _all_run, seconds=120)
    ready = time.monotonic() - started
    await api.delete(f"/api/v1/namespaces/{namespace}")
    await until(cluster.kubeconfig, pods, lambda items: not items, seconds=120)
    return _PODS / creating, _PODS / ungating, ready


async def _timed(in_flight: int, jobs: Sequence[Callable[[], Awaitable[object]]]) -> float:
    """Run all jobs with at most `in_flight` at once; return the seconds it took."""
    waiting = iter(jobs)
    started = time.monotonic()

    async def worker() -> None:
        for job in waiting:
            await job()

    async with asyncio.TaskGroup() as workers:
        for _ in range(in_flight):
            workers.create_task(worker())
    return time.monotonic() - started


def _creation(api: Api, path: str, name: str) -> Callable[[], Awaitable[object]]:
    pod: Object = {
        "metadata": {"name": name},
        "spec": {
            "schedulingGates": [{"name": _GATE}],
            "containers": [
                {
                    "name": "main",
                    "image": "example.com/none",
                    "resources": {"requests": {"cpu": "10m"}},
                }
            ],
        },
    }
    return lambda: api.create(path, pod)


def _ungating(api: Api, path: str, name: str) -> Callable[[], Awaitable[object]]:
    return lambda: api.patch(f"{path}/{name}", _UNGATE, content_type=JSON_PATCH)


def _all_run(pods: list[Object]) -> bool:
    running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
    return len(running) == _PODS


async def _watch_delays(api: Api) -> list[float]:
    """Write one object again and again; measure until a watcher has seen each write."""
    path = "/api/v1/namespaces/default/configmaps"
    await api.create(path, {"metadata": {"name": "watched"}})
    delays: list[float] = []
    selector = {"fieldSelector": "metadata.name=watched"}
    async with contextlib.aclosing(api.current_and_following(path, **selector)) as events:
        async for event in events:
            if event["type"] == "BOOKMARK":
                break
        for number in range(_WATCHED_WRITES):
            sent = time.monotonic()
            change = asyncio.ensure_future(
                api.patch(f"{path}/watched", {"data": {"number": str(number)}})
            )
            async for event in events:
                if event["object"].get("data", {}).get("number") == str(number):
                    break
            delays.append(time.monotonic() - sent)
            await change
    return delays


def _figure(figure: str, value: float, unit: str) -> Object:
    return {"figure": figure, "value": round(value, 3), "unit": unit, "target": None}
