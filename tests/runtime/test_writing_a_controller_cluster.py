"""The example of docs/writing-a-controller.md, taken from the page and run as it stands."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from local_cluster.cluster import Cluster
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.runtime.cluster_kit import Requests, client_of

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-controller.md"
Map = Applied[PartialObject]


def example() -> str:
    block = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert block is not None
    return block[1]


def test_the_example_is_short() -> None:
    code = [line for line in example().splitlines() if line.strip()]
    imports = [line for line in code if line.startswith(("import", "from"))]
    assert len(code) - len(imports) <= 40


class Onlooker:
    """A person at the keyboard who also watches."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self.cache: Cache[Map] = Cache()
        self._changed = asyncio.Event()
        self.cache.subscribe(lambda old, new: self._changed.set())

    def kubectl(self, *arguments: str) -> str:
        return self._cluster.kubectl(*arguments, f"--namespace={self._namespace}").stdout

    def find(self, name: str) -> Map | None:
        return self.cache.get(ObjectKey(self._namespace, name))

    def text(self, name: str) -> str:
        return self.kubectl("get", f"configmap/{name}", "--output=jsonpath={.data.text}")

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await self._changed.wait()
                self._changed.clear()


@pytest.fixture
async def onlooker(cluster: Cluster, namespace: str) -> AsyncIterator[Onlooker]:
    person = Onlooker(cluster, namespace)
    source = Source(CONFIGMAPS, applied(PartialObject), namespace)
    async with client_of(cluster.kubeconfig, Requests()) as client, asyncio.TaskGroup() as group:
        watching = group.create_task(person.cache.run(Reflector(client, source)))
        await person.cache.wait_synced()
        yield person
        watching.cancel()


@pytest.fixture
async def greeter(cluster: Cluster, tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    program = tmp_path / "greeter.py"
    program.write_text(example())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        program,
        env={
            **os.environ,
            "KUBECONFIG": str(cluster.kubeconfig),
            "PYTHONPATH": str(PAGE.parents[1]),
        },
    )
    yield process
    if process.returncode is None:
        process.kill()
        await process.wait()


@pytest.mark.cluster
async def test_the_example_does_what_the_page_shows(
    onlooker: Onlooker, greeter: asyncio.subprocess.Process
) -> None:
    onlooker.kubectl("create", "configmap", "ada")
    onlooker.kubectl("label", "configmap", "ada", "greet=Hello")
    await onlooker.until(lambda: onlooker.find("ada-greeting") is not None)
    assert onlooker.text("ada-greeting") == "Hello ada"
    first = onlooker.find("ada-greeting")
    assert first is not None

    onlooker.kubectl("delete", "configmap", "ada-greeting")
    await onlooker.until(lambda: _replaced(onlooker.find("ada-greeting"), first))

    onlooker.kubectl("label", "--overwrite", "configmap", "ada", "greet=Welcome")
    await onlooker.until(lambda: onlooker.text("ada-greeting") == "Welcome ada")

    onlooker.kubectl("delete", "configmap", "ada")
    await onlooker.until(lambda: onlooker.find("ada-greeting") is None)

    greeter.send_signal(signal.SIGTERM)
    async with asyncio.timeout(10):
        assert await greeter.wait() == 0


def _replaced(now: Map | None, before: Map) -> bool:
    return now is not None and now.metadata.uid != before.metadata.uid
