"""What the cluster serves: asked, probed, and noticed when it changes."""

import asyncio
import json
from dataclasses import replace

import pytest

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Options,
    Probe,
    Questions,
    Served,
)
from backend_controllers.generic.discovery import Discovery, Found
from backend_controllers.generic.kinds import BACKENDS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.kube.resources import CONFIGMAPS
from shared_api.models import PodPreparationSpec, PreparationMode
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes, gang, until_programmed
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker, condition

pytestmark = pytest.mark.cluster


def by_group(birds: Birds) -> Backend:
    """The example, which asks for the group instead of watching the definition."""
    return replace(birds.backend, questions=Questions(groups=(birds.group,)))


@pytest.mark.parametrize("way", ["definition", "group"])
async def test_a_scheduler_that_is_absent_is_waited_for(
    core_cluster: Cluster, person: Onlooker, way: str
) -> None:
    birds = Birds(f"{way}.example.com")
    backend = birds.backend if way == "definition" else by_group(birds)
    records = Eyes(person.client, BACKENDS, "")

    def ready() -> tuple[str, str, str]:
        said = condition(records.get(birds.name), "Ready")
        return said.get("status", ""), said.get("reason", ""), said.get("message", "")

    try:
        async with records.watching(), running_backend(core_cluster, backend) as flock:
            missing = f"missing: {birds.kind} in v1; install the bird scheduler"
            await records.until(lambda: ready() == ("False", "SchedulerApiMissing", missing))
            assert records.one(birds.name).spec["capabilities"] == ["Gang"]
            await person.create(gang("g", birds.name))
            assert flock.total("backend_dialect_info") == 0

            await asyncio.to_thread(
                core_cluster.kubectl, "apply", "-f", "-", input=json.dumps(birds.definition)
            )
            uses = f"uses {birds.kind.api_version}"
            await records.until(lambda: ready() == ("True", "SchedulerApiFound", uses))
            await until_programmed(person, "g")
            status = records.one(birds.name).status
            assert status["apiVersions"] == [birds.kind.api_version]
            assert status["dialect"] == birds.kind.api_version
            assert flock.total("backend_dialect_info") == 1

            await asyncio.to_thread(
                core_cluster.kubectl, "delete", "crd", f"flocks.{birds.group}", "--wait=false"
            )
            await records.until(lambda: ready()[:2] == ("False", "SchedulerApiMissing"))
    finally:
        for kind, name in (("crd", f"flocks.{birds.group}"), ("schedulerbackend", birds.name)):
            await asyncio.to_thread(
                core_cluster.kubectl, "delete", kind, name, "--ignore-not-found", "--wait=false"
            )


async def test_probes_tell_which_fields_the_server_keeps(client: Client) -> None:
    def probe(name: str, *path: str, **content: object) -> Probe:
        metadata = {"name": "a-probe", "namespace": "default"}
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}
        return Probe(name, CONFIGMAPS, manifest, path)  # type: ignore[arg-type]

    asked = Questions(
        groups=("apps", "nobody.example.com"),
        definitions=("podgangs.scheduler.grove.io",),
        probes=lambda served: (
            probe("kept", "data", "a", data={"a": "b"}),
            probe("elsewhere", "data", "c", data={"a": "b"}),
            probe("unknown", "feathers", feathers=1),
        ),
    )

    seen: list[Served] = []

    def remember(served: Served, options: Options) -> Dialect | Absent:
        seen.append(served)
        return Absent("a", "b", PodPreparationSpec(mode=PreparationMode.STATIC))

    backend = Backend("asks", ("asks",), "example.com/asks", asked, remember)
    discovery = Discovery(client, backend, Options(), Telemetry())
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(discovery.run())
        await discovery.other_than(None)
        asking.cancel()
    served = seen[0]
    assert served.kept == {"kept"}
    assert ("apps", "v1", "deployments") in served.resources
    assert not any("/" in plural for _, _, plural in served.resources)
    gangs = ("scheduler.grove.io", "v1alpha1", "podgangs")
    assert gangs in served.resources
    assert "spec" in served.schemas[gangs]["properties"]  # type: ignore[operator]
    assert served.kubernetes.startswith("v1.")
    assert discovery.problem() is None


async def test_a_service_shows_a_scheduler_that_has_no_api(
    client: Client, core_cluster: Cluster, person: Onlooker
) -> None:
    name = f"sched-{person.namespace}"[:60]

    def detect(served: Served, options: Options) -> Dialect | Absent:
        there = "there" if name in served.services else "not there"
        return Absent(there, "b", PodPreparationSpec(mode=PreparationMode.STATIC))

    asked = Questions(services=(name,))
    backend = Backend("seeks", ("seeks",), "example.com/seeks", asked, detect)
    discovery = Discovery(client, backend, Options(), Telemetry())

    async def until(known: Found | None, expected: str) -> Found:
        found = await discovery.other_than(known)
        assert isinstance(found.answer, Absent)
        assert found.answer.missing == expected
        return found

    service = ("service", "clusterip", name, f"-n{person.namespace}", "--tcp=1")
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        seeking = group.create_task(discovery.run())
        absent = await until(None, "not there")
        await asyncio.to_thread(core_cluster.kubectl, "create", *service)
        found = await until(absent, "there")
        gone = ("delete", "service", name, f"-n{person.namespace}")
        await asyncio.to_thread(core_cluster.kubectl, *gone)
        await until(found, "not there")
        seeking.cancel()
