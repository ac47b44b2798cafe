"""Backends that are killed, engines that end, and gangs that go to the next backend in between.

The backend is a process of its own, which gets SIGKILL between the steps of a gang's life.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from backend_controllers.default import BACKEND as DEFAULT
from backend_controllers.docker import BACKEND
from backend_controllers.docker.options import DockerOptions
from core_operator.state.caches import GANGS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.resources import PODS
from tests.backends.docker.engines import Engines
from tests.backends.docker.test_gangs_cluster import running, until_released, workers
from tests.backends.kit import (
    backend_settings,
    forget_backends,
    running_backend,
    until_known,
)
from tests.core.kit import Onlooker, pcs, running_operator
from tests.core.test_placement_walk import backend_of, create_policy, policy

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]

_SECONDS = 60


class KilledBackend:
    """A backend as a process that is killed as soon as something is true."""

    def __init__(self, cluster: Cluster, config: Path) -> None:
        self._cluster = cluster
        self._environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
        self._command = [sys.executable, "-m", "backend_controllers", "--backend", "docker"]
        self._command += ["--config", str(config)]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        # Nobody gives up the Lease of a killed process, and its expiry is not the subject here.
        lease = ("delete", "lease", "backend-docker", "-n", "default", "--ignore-not-found")
        await asyncio.to_thread(self._cluster.kubectl, *lease)
        process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.kill()
            await process.wait()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with self.running():
            await _until(holds)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_SECONDS):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - engines are only looked at
            await asyncio.sleep(0.01)


def _config(options: DockerOptions, path: Path) -> Path:
    settings: dict[str, Any] = {
        "leaderElection": {"namespace": "default"},
        "server": {"host": "127.0.0.1", "port": 0},
        "logs": {"enabled": False},
        "options": options.model_dump(mode="json", by_alias=True, exclude_none=True),
    }
    file = path / "backend.yaml"
    file.write_text(json.dumps(settings))
    return file


async def test_backend_that_is_killed_between_all_steps_runs_nothing_twice_and_leaks_nothing(
    core_cluster: Cluster,
    person: Onlooker,
    docker_engines: Engines,
    docker_options: DockerOptions,
    tmp_path: Path,
) -> None:
    backend = KilledBackend(core_cluster, _config(docker_options, tmp_path))

    def states() -> list[str]:
        return sorted(docker_engines.containers().values())

    def phase() -> str:
        found = core_cluster.kubectl(
            "get", "remotegangs", "-n", person.namespace, "-o", "jsonpath={.items[*].status.phase}"
        )
        return found.stdout

    def nodes() -> int:
        return sum(bool(pod.spec.get("nodeName")) for pod in person.all(PODS))

    async with running_operator(core_cluster):
        await person.create(pcs("w", workers(4)))
        await backend.until(lambda: phase() != "")
        await backend.until(lambda: len(states()) >= 1)
        await backend.until(lambda: len(states()) == 4)
        await backend.until(lambda: phase() in ("Granted", "Started"))
        await backend.until(lambda: nodes() >= 1)
        await backend.until(lambda: "running" in states())
        await backend.until(lambda: states() == ["running"] * 4)
        uids = {pod.metadata.uid for pod in person.all(PODS)}
        await backend.until(lambda: running(person) == 4)
        assert states() == ["running"] * 4
        assert {pod.metadata.uid for pod in person.all(PODS)} == uids
        for host in docker_engines.hosts.values():
            if listed := list(host.containers()):
                assert set(host.docker("inspect", "-f", "{{.RestartCount}}", *listed).split()) == {
                    "0"
                }
        deleting = asyncio.ensure_future(until_released(core_cluster, person))
        await backend.until(lambda: len(states()) < 4)
        await backend.until(lambda: not states())
        async with backend.running():
            await deleting
    assert docker_engines.containers() == {}


async def test_engine_that_is_killed_keeps_its_pods_which_are_unknown_until_it_is_back(
    core_cluster: Cluster, person: Onlooker, docker_engines: Engines, docker_options: DockerOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)),
    ):
        await person.create(pcs("w", workers(4, cpu="1")))
        await person.until(lambda: running(person) == 4, 60)
        uids = {pod.metadata.uid for pod in person.all(PODS)}
        before = docker_engines.containers()
        docker_engines["h1"].kill()
        try:
            await person.until(lambda: _ready(person).count("Unknown") == 2, 30)
        finally:
            await asyncio.to_thread(docker_engines["h1"].start)
        await person.until(lambda: _ready(person) == ["True"] * 4, 60)
        assert {pod.metadata.uid for pod in person.all(PODS)} == uids
        assert docker_engines.containers() == before
        await until_released(core_cluster, person)


async def test_gang_that_is_too_big_is_refused_with_numbers_and_the_next_backend_has_it(
    core_cluster: Cluster, person: Onlooker, docker_engines: Engines, docker_options: DockerOptions
) -> None:
    # One that was down in an earlier test is second for half a minute.
    await forget_backends(person.client, "docker", "default")
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)) as docker,
        running_backend(core_cluster, DEFAULT) as default,
    ):
        await docker.until_idle()
        await default.until_idle()
        # One of two hosts is full, so the shapes fit and the gang does not.
        await person.create(pcs("busy", workers(1, cpu="2")))
        await person.until(lambda: running(person) == 1, 60)
        await until_known(person, "docker", "default")
        preferred = [{"name": "docker", "weight": 10}, {"name": "default", "weight": 5}]
        await create_policy(person, policy(candidates={"preferred": preferred}))
        clique = workers(2, cpu="2")
        del clique["spec"]["podSpec"]["schedulerName"]
        body = pcs("w", clique)
        body["metadata"]["annotations"] = {names.ANNOTATION_PLACEMENT_POLICY: "p"}
        loop = asyncio.get_running_loop()
        began = loop.time()
        await person.create(body)
        await person.until(lambda: backend_of(person) == "default", 30)
        took = loop.time() - began
        print(f"refused and moved in {took:.2f} s")  # noqa: T201
        # The gang of the next backend is another object, which gets the attempts of the first.
        await person.until(lambda: "needs 4 cpu (2 free)" in _status(person, "w-0"), 30)
        assert len(docker_engines.containers()) == 1
        await until_released(core_cluster, person)


async def test_job_restarts_as_a_whole_and_completes_and_scales(
    core_cluster: Cluster, person: Onlooker, docker_engines: Engines, docker_options: DockerOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)),
    ):
        fails = pcs("bad", workers(2, "exit 3", cpu="100m", restartPolicy="Never"))
        fails["spec"]["policy"] = {"completion": {"failure": {"maxRestarts": 1}}}
        await person.create(fails)
        await person.until(lambda: _phases(person) == ["Failed"], 90)
        codes = {
            status["state"]["terminated"]["exitCode"]
            for pod in person.all(PODS)
            for status in pod.status.get("containerStatuses", [])
        }
        assert codes == {3}
        events = await asyncio.to_thread(
            core_cluster.kubectl,
            "get",
            "events",
            "-n",
            person.namespace,
            "-o",
            "name",
            "--field-selector=reason=GangRestartTriggered",
        )
        assert len(events.stdout.split()) == 1
        await until_released(core_cluster, person)
        await person.create(pcs("w", workers(2, cpu="100m")))
        await person.until(lambda: running(person) == 2, 60)
        scale = ("scale", "podcliqueset/w", "-n", person.namespace)
        await asyncio.to_thread(core_cluster.kubectl, *scale, "--replicas=2")
        await person.until(lambda: running(person) == 4, 60)
        await asyncio.to_thread(core_cluster.kubectl, *scale, "--replicas=1")
        await _until(lambda: len(docker_engines.containers()) == 2)
        await until_released(core_cluster, person)
    assert docker_engines.containers() == {}


def _ready(person: Onlooker) -> list[str]:
    return [
        condition["status"]
        for pod in person.all(PODS)
        for condition in pod.status.get("conditions", [])
        if condition["type"] == "Ready"
    ]


def _status(person: Onlooker, gang: str) -> str:
    found = person.get(GANGS, gang)
    return json.dumps(found.status) if found is not None else ""


def _phases(person: Onlooker) -> list[str]:
    return [str(gang.status.get("phase")) for gang in person.all(GANGS)]
