"""Gangs of containers on two real engines, from a PodCliqueSet to exit codes."""

import asyncio
from typing import Any

import pytest

from backend_controllers.docker import BACKEND
from backend_controllers.docker.options import DockerOptions
from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.resources import PODS
from tests.backends.docker.engines import IMAGE, Engines
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import Onlooker, clique, pcs, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


def workers(count: int, command: str = "sleep 600", *, cpu: str = "500m", **spec: Any) -> Any:
    """A clique of containers on the hosts."""
    container = {
        "name": "main",
        "image": IMAGE,
        "command": ["sh", "-c", command],
        "resources": {"requests": {"cpu": cpu, "memory": "32Mi"}},
    }
    pod = {
        "schedulerName": "podgang-docker",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        **spec,
    }
    return clique("worker", count, podSpec=pod)


async def until_released(cluster: Cluster, person: Onlooker) -> None:
    """Delete all sets; a RemoteGang goes only when nothing of it is left on the hosts."""
    await person.start_over()
    gone = ("wait", "--for=delete", "remotegangs", "--all", "--timeout=60s")
    await asyncio.to_thread(cluster.kubectl, *gone, "-n", person.namespace)


def running(person: Onlooker) -> int:
    """How many pods run."""
    return sum(pod.status.get("phase") == "Running" for pod in person.all(PODS))


async def test_gang_runs_on_two_hosts_and_leaves_nothing_behind(
    core_cluster: Cluster, person: Onlooker, docker_engines: Engines, docker_options: DockerOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)),
    ):
        await person.create(pcs("w", workers(6)))
        await person.until(lambda: running(person) == 6, 60)
        assert sorted(docker_engines.containers().values()) == ["running"] * 6
        assert {len(host.containers()) for host in docker_engines.hosts.values()} == {2, 4}
        assert {pod.spec["nodeName"] for pod in person.all(PODS)} == {"docker"}
        await until_released(core_cluster, person)
    assert docker_engines.containers() == {}


async def test_gang_that_does_not_fit_reports_numbers_and_runs_when_there_is_capacity(
    core_cluster: Cluster, person: Onlooker, docker_engines: Engines, docker_options: DockerOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)),
    ):
        first = await person.create(pcs("first", workers(2, cpu="2")))
        await person.until(lambda: running(person) == 2, 60)
        await person.create(pcs("second", workers(3, cpu="1")))
        await person.until(
            lambda: _programmed(person, "second-0").get("reason") == "NoCapacity", 60
        )
        message = _programmed(person, "second-0")["message"]
        assert "needs 3 cpu (0 free)" in message
        assert "0 of 3 pods fit" in message
        assert len(docker_engines.containers()) == 2
        await person.delete(first, SETS)
        await person.until(lambda: running(person) == 3, 90)
        await until_released(core_cluster, person)


async def test_what_cannot_be_honoured_is_refused_with_its_path(
    core_cluster: Cluster, person: Onlooker, docker_options: DockerOptions
) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)),
    ):
        await person.create(pcs("w", workers(1, volumes=[volume])))
        await person.until(lambda: _said(person, "w-0", "Accepted").get("status") == "False", 60)
        message = _said(person, "w-0", "Accepted")["message"]
        assert "podSpec.volumes[0].persistentVolumeClaim: volumes stay in the cluster" in message


async def test_backend_that_restarts_adopts_the_gang_and_starts_nothing_twice(
    core_cluster: Cluster, person: Onlooker, docker_engines: Engines, docker_options: DockerOptions
) -> None:
    settings = backend_settings(docker_options)
    async with running_operator(core_cluster):
        async with running_backend(core_cluster, BACKEND, settings):
            await person.create(pcs("w", workers(2)))
            await person.until(lambda: running(person) == 2, 60)
        before = docker_engines.containers()
        pods = {pod.metadata.uid for pod in person.all(PODS)}
        async with running_backend(core_cluster, BACKEND, settings) as again:
            await again.until_idle()
            assert docker_engines.containers() == before
            assert {pod.metadata.uid for pod in person.all(PODS)} == pods
            await until_released(core_cluster, person)
    assert docker_engines.containers() == {}


async def test_pods_on_a_frozen_host_are_unknown_and_come_back(
    core_cluster: Cluster, person: Onlooker, docker_engines: Engines, docker_options: DockerOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)),
    ):
        await person.create(pcs("w", workers(4, cpu="1")))
        await person.until(lambda: running(person) == 4, 60)
        uids = {pod.metadata.uid for pod in person.all(PODS)}
        docker_engines["h1"].freeze()
        try:
            await person.until(lambda: _ready(person) == {"True": 2, "Unknown": 2}, 60)
        finally:
            docker_engines["h1"].thaw()
        await person.until(lambda: _ready(person) == {"True": 4}, 60)
        assert {pod.metadata.uid for pod in person.all(PODS)} == uids
        await until_released(core_cluster, person)


def _programmed(person: Onlooker, gang: str) -> Any:
    return _said(person, gang, "Programmed")


def _said(person: Onlooker, gang: str, kind: str) -> Any:
    found = [item for item in person.all(GANGS) if item.metadata.name == gang]
    conditions = found[0].status.get("conditions", []) if found else []
    return next((one for one in conditions if one["type"] == kind), {})


def _ready(person: Onlooker) -> dict[str, int]:
    counts: dict[str, int] = {}
    for pod in person.all(PODS):
        for condition in pod.status.get("conditions", []):
            if condition["type"] == "Ready":
                counts[condition["status"]] = counts.get(condition["status"], 0) + 1
    return counts
