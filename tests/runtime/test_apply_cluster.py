"""Server-side apply on the real API server: nothing in vain, nobody's work undone."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.kube.errors import Conflict
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, OwnershipConflict, Target, Written
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import Owner
from tests.runtime.cluster_kit import TOYS, Requests, Toy, client_of, install_toys, toy_cache, until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module", autouse=True)
def toys(cluster: Cluster) -> None:
    install_toys(cluster)


@dataclass
class Process:
    """What a controller process has: a client, a cache, an engine."""

    client: Client
    cache: Cache[Toy]
    requests: Requests
    namespace: str
    behalf: Behalf
    manager: str

    def __post_init__(self) -> None:
        self.pending = PendingWrites()
        self.target = Target(TOYS, self.cache)
        self.applier = Applier(self.client, self.manager, self.pending, Telemetry())

    def toy(self, name: str, **spec: object) -> dict[str, object]:
        return {
            "apiVersion": "runtime.test/v1",
            "kind": "Toy",
            "metadata": {
                "namespace": self.namespace,
                "name": name,
                "labels": {"toys": "ours"},
                "ownerReferences": [
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "name": self.behalf.key.name,
                        "uid": self.behalf.owner.uid if self.behalf.owner else "",
                        "controller": True,
                    }
                ],
            },
            "spec": spec,
        }

    def status(self, name: str, **conditions: str) -> dict[str, object]:
        listed = [{"type": kind, "status": value} for kind, value in conditions.items()]
        return {
            "apiVersion": "runtime.test/v1",
            "kind": "Toy",
            "metadata": {"namespace": self.namespace, "name": name},
            "status": {"conditions": listed},
        }

    async def apply(self, name: str, **spec: object) -> Written:
        written = await self.applier.apply(self.target, self.toy(name, **spec), self.behalf)
        await self.settle()
        return written

    async def settle(self) -> None:
        async with asyncio.timeout(20):
            await self.pending.settled(self.behalf.key)

    def get(self, name: str) -> Toy:
        toy = self.cache.get(ObjectKey(self.namespace, name))
        assert toy is not None
        return toy


class Place:
    """A namespace with an owner in it, where processes may start."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        cluster.kubectl("create", "configmap", "owner", f"--namespace={namespace}")
        owner = Owner(namespace, "", "ConfigMap", "owner", self.show("configmap/owner")["uid"])
        self.behalf = Behalf(ObjectKey(namespace, "owner"), owner)

    def kubectl(self, *arguments: str, document: object = None) -> str:
        text = None if document is None else json.dumps(document)
        return self.cluster.kubectl(*arguments, f"--namespace={self.namespace}", input=text).stdout

    def show(self, what: str) -> dict[str, Any]:
        metadata: dict[str, Any] = json.loads(self.kubectl("get", what, "--output=json"))
        return {**metadata["metadata"], **metadata}

    @contextlib.asynccontextmanager
    async def process(self, manager: str = "us") -> AsyncIterator[Process]:
        requests = Requests()
        async with (
            client_of(self.cluster.kubeconfig, requests) as client,
            toy_cache(client, self.namespace) as cache,
        ):
            yield Process(client, cache, requests, self.namespace, self.behalf, manager)


@pytest.fixture
def place(cluster: Cluster, namespace: str) -> Place:
    return Place(cluster, namespace)


async def test_after_a_restart_with_everything_in_place_nothing_is_written(place: Place) -> None:
    async with place.process() as process:
        wanted = [process.toy(f"t{number}", size=number) for number in range(20)]
        report = await process.applier.converge(process.target, wanted, [], place.behalf)
        assert report == {Written.CREATED: 20}
        await process.settle()
        before = process.requests.writes()
        report = await process.applier.converge(
            process.target, wanted, list(process.cache), place.behalf
        )
        assert report == {Written.UNCHANGED: 20}
        assert process.requests.writes() == before == 20
    async with place.process() as restarted:
        report = await restarted.applier.converge(
            restarted.target, wanted, list(restarted.cache), place.behalf
        )
        assert report == {Written.UNCHANGED: 20}
        assert restarted.requests.writes() == 0


async def test_what_the_server_completes_is_written_once_per_process(place: Place) -> None:
    # The list is atomic for the server, so it completes what we own.
    async with place.process() as process:
        assert await process.apply("x", parts=[{"name": "left"}]) is Written.CREATED
        assert await process.apply("x", parts=[{"name": "left"}]) is Written.UNCHANGED
    async with place.process() as restarted:
        version = restarted.get("x").metadata.resource_version
        assert await restarted.apply("x", parts=[{"name": "left"}]) is Written.APPLIED
        assert place.show("toy/x")["resourceVersion"] == version
        assert await restarted.apply("x", parts=[{"name": "left"}]) is Written.UNCHANGED


async def test_a_change_by_another_client_is_put_right(place: Place) -> None:
    async with place.process() as process:
        await process.apply("x", size=1)
        place.kubectl("patch", "toy/x", "--type=merge", '--patch={"spec":{"size":9}}')
        await until(process.cache, lambda: process.get("x").object.spec["size"] == 9)
        assert await process.apply("x", size=1) is Written.APPLIED
        assert process.get("x").object.spec["size"] == 1


async def test_fields_that_others_add_are_left_alone_and_cause_no_write(place: Place) -> None:
    async with place.process() as process:
        await process.apply("x", size=1)
        place.kubectl("patch", "toy/x", "--type=merge", '--patch={"spec":{"note":"mine"}}')
        place.kubectl("label", "toy/x", "team=red")
        await until(process.cache, lambda: "team" in process.get("x").metadata.labels)
        assert await process.apply("x", size=1) is Written.UNCHANGED
        await process.apply("x", size=2)
        assert process.get("x").object.spec == {"size": 2, "note": "mine", "mode": "calm"}


async def test_what_is_no_longer_wanted_goes_away(place: Place) -> None:
    async with place.process() as process:
        await process.apply("x", size=1, note="once")
        assert await process.apply("x", size=1) is Written.APPLIED
        assert process.get("x").object.spec == {"size": 1, "mode": "calm"}


async def test_two_managers_of_one_status_never_erase_each_other(place: Place) -> None:
    async with place.process("core") as core, place.process("backend") as backend:
        await core.apply("x", size=1)
        await until(backend.cache, lambda: ObjectKey(place.namespace, "x") in backend.cache)
        for process, conditions in (
            (core, {"Initialized": "False"}),
            (backend, {"Accepted": "True", "Programmed": "True"}),
            (core, {"Initialized": "True"}),
        ):
            await process.applier.apply_status(
                process.target, process.status("x", **conditions), Behalf(place.behalf.key)
            )
            await process.settle()
        conditions = place.show("toy/x")["status"]["conditions"]
        assert {one["type"]: one["status"] for one in conditions} == {
            "Initialized": "True",
            "Accepted": "True",
            "Programmed": "True",
        }
        same = backend.status("x", Accepted="True", Programmed="True")
        written = await backend.applier.apply_status(backend.target, same, Behalf(place.behalf.key))
        assert written is Written.UNCHANGED


async def test_a_foreign_object_is_never_merged_into(place: Place) -> None:
    async with place.process() as process:
        # The cache is behind: the toy is not in it when the decision is made.
        blind = Target(TOYS, Cache[Toy]())
        place.kubectl("create", "--filename=-", document=_bare("x", note="theirs"))
        before = place.show("toy/x")
        with pytest.raises(Conflict):
            await process.applier.apply(blind, process.toy("x", size=1), place.behalf)
        assert place.show("toy/x") == before


async def test_an_object_that_took_over_the_name_is_not_written(place: Place) -> None:
    async with place.process() as process:
        await process.apply("x", size=1)
        frozen: Cache[Toy] = Cache()
        frozen._put(process.get("x"))
        place.kubectl("delete", "toy/x")
        for document in (None, _bare("x", note="theirs")):
            if document is not None:
                place.kubectl("create", "--filename=-", document=document)
            with pytest.raises((WaitForEvent, Conflict)):
                await process.applier.apply(
                    Target(TOYS, frozen), process.toy("x", size=2), place.behalf
                )
        assert place.show("toy/x")["spec"]["note"] == "theirs"
        assert "size" not in place.show("toy/x")["spec"]


async def test_only_vanished_children_of_this_owner_are_deleted(place: Place) -> None:
    async with place.process() as process:
        for name in ("keep", "vanished"):
            await process.apply(name, size=1)
        place.kubectl("create", "--filename=-", document=_bare("stranger", note="theirs"))
        await until(process.cache, lambda: len(process.cache) == 3)
        report = await process.applier.converge(
            process.target, [process.toy("keep", size=1)], list(process.cache), place.behalf
        )
        assert report == {Written.UNCHANGED: 1, Written.DELETED: 1}
        await process.settle()
        assert sorted(toy.metadata.name for toy in process.cache) == ["keep", "stranger"]


async def test_a_conflict_without_force_names_field_and_owner(place: Place) -> None:
    place.kubectl("create", "--filename=-", document=_bare("x", size=5))
    async with place.process() as process:
        bare = {**_bare("x", size=6)}
        bare["metadata"] = {"namespace": place.namespace, "name": "x"}
        with pytest.raises(OwnershipConflict) as caught:
            await process.applier.apply(process.target, bare, Behalf(place.behalf.key))
        ((field, owner),) = caught.value.owners.items()
        assert field == ".spec.size"
        assert owner.startswith("kubectl")


def _bare(name: str, **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "runtime.test/v1",
        "kind": "Toy",
        "metadata": {"name": name},
        "spec": spec,
    }
