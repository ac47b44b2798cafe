"""Core and backends in one pod: a gang, a program that dies, and the way out."""

import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from local_cluster.waiting import until, wait_until
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.cluster.processes import processes_of
from tests.core.kit import Object, Onlooker, clique, holds, pcs
from tests.deploy.kit import NAMESPACE, PATIENCE, install, uninstall
from tests.deploy.leftovers import Inventory, inventory

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

_FOLDER = "overlays/all-in-one"
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


def _programs(cluster: Cluster, *words: str) -> set[int]:
    """Processes of the pod whose command line has these words."""
    wanted = [word.encode() for word in words]
    found = set()
    for pid in processes_of(cluster.process_root):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if all(word in line for word in wanted):
            found.add(pid)
    return found


def _restarts(pods: list[Object]) -> list[int]:
    statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
    return [status["restartCount"] for status in statuses if status["ready"]]


@pytest.fixture(scope="module")
def before(crds: Cluster) -> Inventory:
    """What is there without the product."""
    return inventory(crds)


@pytest.fixture(scope="module")
def one(crds: Cluster, before: Inventory) -> Iterator[Cluster]:
    install(crds, _FOLDER, "default")
    yield crds
    uninstall(crds, _FOLDER)


@pytest.fixture
async def person(one: Cluster) -> AsyncIterator[Onlooker]:
    with fresh_namespace(one) as place:
        async with (
            Client(from_kubeconfig(one.kubeconfig)) as client,
            Onlooker(client, place).watching() as onlooker,
        ):
            yield onlooker


async def test_one_pod_serves_gangs_and_starts_over_when_a_program_dies(
    one: Cluster, person: Onlooker
) -> None:
    await person.create(pcs("w", clique("a", 2)))
    await person.until_ready(2, PATIENCE)
    await until(one.kubeconfig, _PODS, lambda pods: _restarts(pods) == [0], seconds=PATIENCE)
    [program] = _programs(one, "backend_controllers", "kai")
    os.kill(program, signal.SIGKILL)
    # The whole pod starts over, for everybody to see, and serves as before.
    await until(one.kubeconfig, _PODS, lambda pods: _restarts(pods) == [1], seconds=PATIENCE)
    await person.create(pcs("later", clique("a", 2)))
    await person.until(lambda: holds(person.get(SETS, "later"), "Ready"), PATIENCE)


def test_without_its_controllers_everything_goes_all_the_same(
    one: Cluster, before: Inventory
) -> None:
    with fresh_namespace(one) as place:
        manifest = json.dumps(pcs("w", clique("a", 2)))
        one.kubectl("create", f"-n{place}", "-f", "-", input=manifest)
        pods = f"/api/v1/namespaces/{place}/pods"
        wait_until(one.kubeconfig, pods, lambda found: len(found) == 2, seconds=PATIENCE)
        # Nobody is left to act when the definitions go, and with them the sets and their pods.
        uninstall(one, _FOLDER)
        wait_until(one.kubeconfig, pods, lambda found: not found, seconds=PATIENCE)
        left = {entry for entry in inventory(one) - before if entry[1] != place}
        assert left == {("Namespace", "", place)}
        of_place = {kind for kind, where, _ in inventory(one) if where == place}
        assert of_place <= {"ServiceAccount", "ConfigMap"}, "what every namespace has"
