"""The endpoint for `kubectl logs`: who may read, and that a log is streamed. No API server runs here."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import (
    ExecutorError,
    GangTag,
    LogOptions,
    Outcome,
    RemoteUnit,
)
from backend_controllers.remote.kubelet_endpoint import KubeletEndpoint
from backend_controllers.settings import BackendLogs
from local_cluster.certificates import Authority
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM
from shared_api.runtime.serving.reviews import SUBJECT_ACCESS_REVIEWS

PATH = "/containerLogs/team/train-0/main"


class Cluster:
    """What the endpoint asks the API server, with its answers."""

    def __init__(self, authority: Path) -> None:
        self._authority = authority
        self.reviews: list[dict[str, Any]] = []

    async def get(self, resource: Any, name: str, namespace: str, *, into: Any) -> Any:
        assert (resource.plural, namespace, name) == (
            "configmaps",
            "kube-system",
            "extension-apiserver-authentication",
        )
        data = {"client-ca-file": self._authority.read_text()}
        return msgspec.convert({"data": data}, into)

    async def create(self, resource: Any, manifest: Any, *, field_manager: str, into: Any) -> Any:
        assert resource is SUBJECT_ACCESS_REVIEWS
        self.reviews.append(manifest["spec"])
        allowed = manifest["spec"]["groups"][0] == "system:masters"
        return msgspec.convert({"status": {"allowed": allowed}}, into)


class Hosts:
    """A far side with one running pod."""

    def __init__(self) -> None:
        self.asked: list[LogOptions] = []
        self.more = asyncio.Event()
        self.closed = asyncio.Event()
        self.problem = ""

    def units(self, gang: ObjectKey) -> tuple[RemoteUnit, ...]:
        tag = GangTag(gang.namespace, gang.name, "u")
        return (RemoteUnit(tag, "train-0", "uid-0", "h1", "c0"),)

    async def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        self.asked.append(options)
        try:
            yield b"first\n"
            if self.problem:
                raise ExecutorError(Outcome.TRANSIENT, self.problem)
            if options.follow:
                await self.more.wait()
            yield b"second\n"
        finally:
            self.closed.set()


class Served:
    """An endpoint that serves, its far side, and clients of the cluster."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = Authority(directory / "pki")
        self.cluster, self.hosts = Cluster(self.authority.pair.certificate), Hosts()
        labels = {names.LABEL_PODGANG: "train"}
        pod = {
            "metadata": {"name": "train-0", "namespace": "team", "uid": "uid-0", "labels": labels},
            "spec": {"containers": [{"name": "main"}], "nodeName": "docker"},
        }
        pods = {ObjectKey("team", "train-0"): msgspec.convert(pod, RemotePod)}
        context: Any = SimpleNamespace(
            client=self.cluster,
            backend=SimpleNamespace(name="docker"),
            settings=SimpleNamespace(server=SimpleNamespace(host="127.0.0.1")),
            field_manager="backend-docker",
            now=SYSTEM.utc,
        )
        settings, caches = BackendLogs(port=0), SimpleNamespace(get=pods.get)
        far_side: Any = self.hosts
        cache: Any = caches
        self.endpoint = KubeletEndpoint(context, settings, far_side, cache)

    @contextlib.asynccontextmanager
    async def asked(
        self, target: str = PATH, user: str = "api", group: str = "system:masters", **files: Any
    ) -> AsyncIterator[asyncio.StreamReader]:
        """Send a request as a user; without a group, without a certificate."""
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if group:
            pair = files.get("pair") or self.authority.client(user, group)
            tls.load_cert_chain(pair.certificate, pair.key)
        address = self.endpoint.address()
        assert address is not None
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls)
        try:
            writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            yield reader
        finally:
            writer.transport.abort()

    async def answer(self, target: str = PATH, **who: Any) -> tuple[int, bytes]:
        """Return the status code, and everything after the headers."""
        async with self.asked(target, **who) as reader, asyncio.timeout(20):
            head = await reader.readuntil(b"\r\n\r\n")
            return int(head.split()[1]), await reader.read()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    found = Served(tmp_path)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(found.endpoint.run())
        await found.endpoint.wait_tried()
        yield found
        serving.cancel()
    assert found.endpoint.address() is None


async def test_the_log_of_a_pod_is_answered_with_the_options(served: Served) -> None:
    status, text = await served.answer(f"{PATH}?tailLines=3&timestamps=true")
    assert status == 200
    assert b"first\n" in text
    assert b"second\n" in text
    assert served.hosts.asked == [LogOptions(tail=3, timestamps=True)]
    (review,) = served.cluster.reviews
    assert (review["user"], review["groups"]) == ("api", ["system:masters", "system:authenticated"])
    assert review["resourceAttributes"]["name"] == "docker"


async def test_a_follower_gets_lines_as_they_come_and_may_leave(served: Served) -> None:
    async with served.asked(f"{PATH}?follow=true") as reader, asyncio.timeout(20):
        await reader.readuntil(b"first\n")
        served.hosts.more.set()
        await reader.readuntil(b"second\n")
    served.hosts.more.clear()
    served.hosts.closed.clear()
    async with served.asked(f"{PATH}?follow=true") as reader, asyncio.timeout(20):
        await reader.readuntil(b"first\n")
    async with asyncio.timeout(20):
        await served.hosts.closed.wait()


async def test_a_limit_ends_the_log(served: Served) -> None:
    _, text = await served.answer(f"{PATH}?limitBytes=8")
    assert b"first\n" in text
    assert b"se" in text
    assert b"sec" not in text


async def test_a_user_who_may_not_reach_the_node_reads_nothing(served: Served) -> None:
    assert await served.answer(user="somebody", group="developers") == (403, b"Forbidden\n")
    assert served.hosts.asked == []


async def test_a_caller_without_a_certificate_of_the_cluster_is_not_connected(
    served: Served, tmp_path: Path
) -> None:
    foreign = Authority(tmp_path / "foreign").client("api", "system:masters")
    for who in ({"group": ""}, {"pair": foreign}):
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await served.answer(**who)
    assert served.cluster.reviews == []


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/containerLogs/team/other-0/main", 404),
        ("/containerLogs/team/train-0/sidecar", 404),
        (f"{PATH}?previous=true", 400),
        ("/exec/team/train-0/main", 404),
        ("/pods", 404),
    ],
)
async def test_nothing_else_is_answered(served: Served, target: str, status: int) -> None:
    assert (await served.answer(target))[0] == status


async def test_a_host_that_is_lost_ends_the_log_with_a_message(served: Served) -> None:
    served.hosts.problem = "host h1 is gone"
    _, text = await served.answer()
    assert b"cannot read the log: host h1 is gone\n" in text
