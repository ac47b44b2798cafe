"""A cluster without gang scheduling: gangs are refused with a remedy, or run with a warning."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from backend_controllers.contract.declaration import Options
from backend_controllers.default import BACKEND
from backend_controllers.default.options import DefaultOptions
from backend_controllers.generic.kinds import BACKENDS, GANGS
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import running_cluster
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.backends.kit import backend_settings, running_backend
from tests.core.conftest import CRDS
from tests.core.kit import condition

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server with every gate off."""
    options = ClusterOptions(gang_scheduling=False, parts="api")
    with running_cluster(options, tmp_path_factory) as cluster:
        cluster.install_crds(CRDS)
        yield cluster


@pytest.fixture
async def client(bare: Cluster) -> AsyncIterator[Client]:
    async with Client(from_kubeconfig(bare.kubeconfig)) as opened:
        yield opened


@pytest.fixture
async def gang(client: Client) -> AsyncIterator[None]:
    """A gang that the backend is to serve."""
    manifest = {
        "apiVersion": ObservedPodGang.API_VERSION,
        "kind": ObservedPodGang.KIND,
        "metadata": {
            "name": "w",
            "namespace": "default",
            "labels": {names.LABEL_SCHEDULER_BACKEND: "default"},
        },
        "spec": {"podgroups": [{"name": "a", "minReplicas": 2, "podReferences": []}]},
    }
    made = await client.create(GANGS, manifest, field_manager="person", into=PartialObject)
    yield
    await client.delete(GANGS, "w", "default", uid=made.metadata.uid)


async def _until_said(client: Client, resource: Resource, kind: str, status: str) -> LooseObject:
    """Wait until the only object of a kind has a condition with this status."""
    found: asyncio.Queue[LooseObject] = asyncio.Queue()
    cache: Cache[LooseObject] = Cache()

    def look(_: LooseObject | None, new: LooseObject | None) -> None:
        if new is not None and condition(new, kind).get("status") == status:
            found.put_nowait(new)

    cache.subscribe(look)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        watching = group.create_task(cache.run(Reflector(client, Source(resource, LooseObject))))
        item = await found.get()
        watching.cancel()
    return item


def _options(value: str) -> Options:
    return DefaultOptions.model_validate({"withoutGangSupport": value})


async def test_record_names_the_flags_that_are_missing(bare: Cluster, client: Client) -> None:
    async with running_backend(bare, BACKEND, backend_settings(_options("Refuse"))):
        record = await _until_said(client, BACKENDS, "Ready", "False")
    message = condition(record, "Ready")["message"]
    assert "scheduling.k8s.io Workload" in message
    assert "--runtime-config=scheduling.k8s.io/v1alpha2=true" in message
    assert "PlainScheduling" in message


async def test_plain_scheduling_is_reported_in_the_record_and_on_the_gang(
    bare: Cluster, client: Client, gang: None
) -> None:
    async with running_backend(bare, BACKEND, backend_settings(_options("PlainScheduling"))):
        record = await _until_said(client, BACKENDS, "Ready", "True")
        assert "gangs are not guaranteed" in condition(record, "Ready")["message"]
        assert record.spec["capabilities"] == ["PlainScheduling"]
        told = await _until_said(client, GANGS, "Programmed", "True")
        accepted = condition(told, "Accepted")
        assert accepted["status"] == "True"
        assert "scheduled one by one and may run in part" in accepted["message"]
