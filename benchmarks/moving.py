"""`python -m benchmarks.moving [--gangs N]`: gangs that all move from KAI to kube-scheduler.

Real schedulers, and core and both backends as processes of their own. It measures two moves: of gangs
that KAI's backend rejects because they have no queue, whose pods are still gated, and of gangs
whose queue in KAI is full, whose ungated pods are recreated after the timeout.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.product.choices import KAI
from benchmarks.product.clusters import fresh_cluster
from benchmarks.product.processes import ClusterPlace, ControllerProcess
from benchmarks.product.workload import NAMESPACE, PODS_PER_GANG
from benchmarks.runtime.figures import Figure, render, write
from core_operator.state.caches import GANGS
from local_cluster.api import Object
from local_cluster.cluster import Cluster
from local_cluster.schedulers.kai import ROOT_QUEUE
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.core.kit import Onlooker, clique, is_ready, pcs

RESULTS = Path("build") / "bench-moving.json"
NODES = 40
FULL_QUEUE = "full"
TIMEOUT = "10s"
_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Move:
    """Gangs that move for one reason."""

    name: str
    outcome: str
    annotations: Mapping[str, str] = field(default_factory=dict)


MOVES = (
    Move("rejected", "Invalid"),
    Move("full", "Capacity", {"kai.scheduler/queue": FULL_QUEUE}),
)


def main(arguments: list[str] | None = None) -> int:
    """Run both moves, and print and store the figures; 1 if a pod was bound twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moving", description=__doc__)
    parser.add_argument("--gangs", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="(%(default)s)")
    options = parser.parse_args(arguments)
    with fresh_cluster(NODES, KAI) as cluster, tempfile.TemporaryDirectory() as directory:
        for manifest in (_policy(), _queue()):
            cluster.kubectl("create", "-f", "-", input=json.dumps(manifest))
        found = asyncio.run(_measured(cluster, Path(directory), options.gangs))
    write(found, options.output)
    sys.stdout.write(f"\n{render(found)}\n\nwritten to {options.output}\n")
    return int(any(one.verdict == "MISSED" for one in found))


async def _measured(cluster: Cluster, directory: Path, gangs: int) -> list[Figure]:
    place = ClusterPlace(cluster.kubeconfig, directory)
    figures: list[Figure] = []
    async with (
        place.controller("backend_controllers", "--backend", "kai") as kai,
        place.controller("backend_controllers", "--backend", "default") as default,
        place.controller("core_operator") as core,
        Client(from_kubeconfig(cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE).watching() as onlooker,
    ):
        controllers = {"core": core, "backend kai": kai, "backend default": default}
        for move in MOVES:
            figures += await _moved(onlooker, controllers, move, gangs)
            await onlooker.start_over()
    return figures


async def _moved(
    onlooker: Onlooker, controllers: Mapping[str, ControllerProcess], move: Move, gangs: int
) -> list[Figure]:
    bound: dict[str, str] = {}

    def note(pod: LooseObject) -> None:
        if pod.spec.get("nodeName"):
            bound[pod.metadata.uid] = pod.spec["schedulerName"]

    def all_run() -> bool:
        pods = onlooker.pods
        return len(pods) == gangs * PODS_PER_GANG and all(map(is_ready, pods))

    onlooker.seen(PODS, note)
    before = {name: await _used(one) for name, one in controllers.items()}
    began = asyncio.get_running_loop().time()
    role = clique("worker", PODS_PER_GANG, minAvailable=PODS_PER_GANG)
    annotations = {names.ANNOTATION_PLACEMENT_POLICY: "p", **move.annotations}
    await onlooker.create(pcs(move.name, role, annotations=annotations, replicas=gangs))
    await onlooker.until(all_run, _SECONDS)
    took = asyncio.get_running_loop().time() - began
    figures = [Figure(f"{move.name}: {gangs} gangs moved and ready", took, "s")]
    for name, one in controllers.items():
        writes, cpu = (now - then for now, then in zip(await _used(one), before[name], strict=True))
        figures += [
            Figure(f"{move.name}: writes of {name} per gang", writes / gangs, ""),
            Figure(f"{move.name}: CPU of {name} per gang", cpu * 1000 / gangs, "ms"),
        ]
    # A gang that both schedulers had would have a bound pod that is gone, or one of KAI.
    here = {pod.metadata.uid for pod in onlooker.pods}
    elsewhere = sum(uid not in here or by != "default-scheduler" for uid, by in bound.items())
    unlike = sum(_outcome(gang) != move.outcome for gang in onlooker.all(GANGS))
    return [
        *figures,
        Figure(f"{move.name}: pods that were bound before the move", elsewhere, "", 0),
        Figure(f"{move.name}: gangs that did not leave as {move.outcome}", unlike, "", 0),
    ]


async def _used(controller: ControllerProcess) -> tuple[float, float]:
    """Return how many writes a controller has sent, and its CPU seconds, once it is idle."""
    await controller.until_settled()
    return (await controller.writes()).total(), controller.cpu_seconds()


def _outcome(gang: LooseObject) -> str:
    attempts = gang.status["placement"]["attempts"]
    return str(attempts[0].get("outcome")) if len(attempts) > 1 else ""


def _policy() -> Object:
    return {
        "apiVersion": f"{names.GROVE_GROUP}/{names.VERSION}",
        "kind": "PlacementPolicy",
        "metadata": {"name": "p", "namespace": NAMESPACE},
        "spec": {
            "candidates": {"required": [{"name": "kai"}, {"name": "default"}]},
            "admissionTimeout": TIMEOUT,
        },
    }


def _queue() -> Object:
    """Return a queue in which not one pod fits."""
    nothing = {"quota": 0, "limit": 1, "overQuotaWeight": 0}
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": nothing, "gpu": unlimited, "memory": unlimited}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": FULL_QUEUE},
        "spec": {"parentQueue": ROOT_QUEUE, "resources": resources},
    }


if __name__ == "__main__":
    sys.exit(main())
