"""Every verb on a real API server: what it does, and what it refuses."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import ControlPlane
from shared_api.kube.client import Client, Patch, PatchType, Selector, WatchStart
from shared_api.kube.codec import Event, LooseObject, PartialObject, codec_for
from shared_api.kube.errors import (
    AlreadyExists,
    Conflict,
    Invalid,
    NotFound,
)
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.kube.cluster_access import Json, config_map, new_namespace

pytestmark = pytest.mark.cluster


class ConfigMap(PartialObject, frozen=True):
    data: dict[str, str] = msgspec.field(default_factory=dict)


@pytest.fixture
def server(control_plane: ControlPlane) -> Cluster:
    return control_plane("1.36")


@pytest.fixture
async def client(server: Cluster) -> AsyncIterator[Client]:
    async with Client.from_kubeconfig(server.kubeconfig) as opened:
        yield opened


@pytest.fixture
async def space(client: Client) -> str:
    return await new_namespace(client)


async def read(client: Client, namespace: str, name: str = "a") -> ConfigMap:
    return await client.get(CONFIGMAPS, name, namespace, into=ConfigMap)


async def apply(client: Client, manifest: Json, manager: str, *, force: bool = False) -> Metadata:
    applied = await client.apply(CONFIGMAPS, manifest, field_manager=manager, force=force)
    return applied.metadata


async def test_what_was_created_can_be_read_and_is_not_created_twice(
    client: Client, space: str
) -> None:
    made = await client.create(
        CONFIGMAPS, config_map(space, "a", x="1"), field_manager="test", into=ConfigMap
    )

    assert made == await read(client, space)
    assert made.data == {"x": "1"}
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, config_map(space, "a"), field_manager="t", into=ConfigMap)


async def test_metadata_alone_can_be_read(client: Client, space: str) -> None:
    await apply(client, config_map(space, "a", x="1"), "one")

    alone = await client.get(CONFIGMAPS, "a", space, into=ConfigMap, metadata_only=True)

    assert alone.metadata.name == "a"
    assert alone.data == {}


async def test_what_is_not_there_is_not_found(client: Client, space: str) -> None:
    with pytest.raises(NotFound) as caught:
        await read(client, space, "nobody")

    assert caught.value.details.name == "nobody"


async def test_an_unknown_field_is_refused(client: Client, space: str) -> None:
    manifest = config_map(space, "a") | {"dota": {}}
    with pytest.raises(Invalid, match="dota"):
        await client.create(CONFIGMAPS, manifest, field_manager="test", into=ConfigMap)


async def test_two_managers_share_an_object_and_neither_erases_the_other(
    client: Client, space: str
) -> None:
    await apply(client, config_map(space, "a", ours="1"), "one")
    await apply(client, config_map(space, "a", theirs="1"), "two")
    await apply(client, config_map(space, "a", ours="2"), "one")
    assert (await read(client, space)).data == {"ours": "2", "theirs": "1"}

    await apply(client, config_map(space, "a"), "one")
    assert (await read(client, space)).data == {"theirs": "1"}


async def test_a_field_of_another_manager_is_taken_by_force_only(
    client: Client, space: str
) -> None:
    await apply(client, config_map(space, "a", x="1"), "one")
    with pytest.raises(Conflict) as caught:
        await apply(client, config_map(space, "a", x="2"), "two")

    assert caught.value.is_field_ownership
    assert caught.value.details.causes[0].field == ".data.x"
    await apply(client, config_map(space, "a", x="2"), "two", force=True)
    assert (await read(client, space)).data == {"x": "2"}


async def test_an_apply_that_changes_nothing_keeps_the_version(client: Client, space: str) -> None:
    first = await apply(client, config_map(space, "a", x="1"), "one")
    second = await apply(client, config_map(space, "a", x="1"), "one")

    assert first.resource_version == second.resource_version


async def test_status_is_applied_apart_from_the_rest(client: Client, space: str) -> None:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    manifest: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": space},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template},
    }
    await client.apply(DEPLOYMENTS, manifest, field_manager="one")
    del manifest["spec"]
    status = manifest | {"status": {"observedGeneration": 1, "replicas": 3}}
    await client.apply(DEPLOYMENTS, status, field_manager="two", subresource="status")

    seen = await client.get(DEPLOYMENTS, "a", space, into=LooseObject)
    assert seen.status["replicas"] == 3
    assert seen.spec["replicas"] == 1


async def test_patches_change_parts(client: Client, space: str) -> None:
    await apply(client, config_map(space, "a", x="1", y="1"), "one")
    merge = Patch({"data": {"x": None}})
    await client.patch(CONFIGMAPS, "a", space, patch=merge, field_manager="two")
    assert (await read(client, space)).data == {"y": "1"}

    steps = [
        {"op": "test", "path": "/data/y", "value": "1"},
        {"op": "replace", "path": "/data/y", "value": "2"},
    ]
    tested = Patch(steps, PatchType.JSON)
    await client.patch(CONFIGMAPS, "a", space, patch=tested, field_manager="two")
    assert (await read(client, space)).data == {"y": "2"}
    with pytest.raises(Invalid):
        await client.patch(CONFIGMAPS, "a", space, patch=tested, field_manager="two")


async def test_a_reused_name_is_not_deleted(client: Client, space: str) -> None:
    old = await apply(client, config_map(space, "a"), "one")
    await client.delete(CONFIGMAPS, "a", space, uid=old.uid)
    new = await apply(client, config_map(space, "a"), "one")

    with pytest.raises(Conflict):
        await client.delete(CONFIGMAPS, "a", space, uid=old.uid)
    assert (await read(client, space)).metadata.uid == new.uid
    await client.delete(CONFIGMAPS, "a", space, uid=new.uid)
    with pytest.raises(NotFound):
        await client.delete(CONFIGMAPS, "a", space, uid=new.uid)


async def test_lists_come_in_pages_of_one_version(client: Client, space: str) -> None:
    for number in range(7):
        manifest = config_map(space, f"m{number}")
        manifest["metadata"]["labels"] = {"odd": str(number % 2)}
        await apply(client, manifest, "one")

    pages = [page async for page in client.pages(CONFIGMAPS, space, into=PartialObject, limit=3)]
    odd = Selector(labels="odd=1")
    named = Selector(fields="metadata.name=m3")

    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert len({page.resource_version for page in pages}) == 1
    assert await names(client, space, odd) == ["m1", "m3", "m5"]
    assert await names(client, space, named) == ["m3"]
    assert await names(client, space, odd, metadata_only=True) == ["m1", "m3", "m5"]


async def names(client: Client, space: str, selector: Selector, **options: bool) -> list[str]:
    pages = client.pages(CONFIGMAPS, space, into=PartialObject, selector=selector, **options)
    return [item.metadata.name async for page in pages for item in page.items]


async def test_a_watch_yields_each_change_in_order(client: Client, space: str) -> None:
    made = await apply(client, config_map(space, "a", x="1"), "one")
    await apply(client, config_map(space, "a", x="2"), "one")
    await client.delete(CONFIGMAPS, "a", space, uid=made.uid)

    start = WatchStart(made.resource_version, timeout=1)
    codec = codec_for(ConfigMap)
    batches = client.watch_batches(CONFIGMAPS, space, start=start)
    events = [codec.event(line) async for lines in batches for line in lines]

    told = [(event.type, event.object.data) for event in events if isinstance(event, Event)]
    assert told == [("MODIFIED", {"x": "2"}), ("DELETED", {"x": "2"})]
