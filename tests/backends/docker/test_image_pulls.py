"""Pulls in the background: what a gang is told while it waits, and how often an engine is asked."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.docker import image_pulls
from backend_controllers.docker.engine import Engine
from backend_controllers.docker.image_pulls import ImagePulls, PullProgress
from backend_controllers.docker.options import DockerHost

IMAGE = "registry.example/team/x:1"


class SlowEngine(Engine):
    """An engine whose pull takes until the test ends it; only faults are scripted."""

    def __init__(self) -> None:
        super().__init__(DockerHost(name="h1", url="unix:///nowhere"), {})
        self.pulls = 0
        self.is_there = False
        self.end: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def has_image(self, image: str) -> bool:
        return self.is_there

    async def pull(self, image: str, report: Callable[[Mapping[str, Any]], None]) -> None:
        self.pulls += 1
        report({"id": "1", "status": "Pulling from team/x"})
        report({"id": "a", "status": "Pull complete"})
        detail = {"current": 50 * 2**20, "total": 200 * 2**20}
        report({"id": "b", "status": "Downloading", "progressDetail": detail})
        await self.end
        self.is_there = True


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_pulls, "_LOOK_AGAIN_SECONDS", 0.05)


async def test_gang_waits_with_the_progress_and_the_pull_goes_on() -> None:
    engine = SlowEngine()
    pulls = ImagePulls("h1", engine)
    for _ in range(2):
        with pytest.raises(ExecutorError) as caught:
            await pulls.ensure(IMAGE, may_pull=True)
        assert caught.value.outcome is Outcome.TRANSIENT
        assert caught.value.retry_after == 0.05
        expected = f"host h1 pulls image {IMAGE}: 1 of 2 layers, 50 of 200 MiB"
        assert str(caught.value) == expected
    assert engine.pulls == 1
    engine.end.set_result(None)
    await asyncio.sleep(0)
    await pulls.ensure(IMAGE, may_pull=True)
    assert engine.pulls == 1


async def test_pull_that_failed_is_reported_and_begins_again() -> None:
    engine = SlowEngine()
    pulls = ImagePulls("h1", engine)
    with pytest.raises(ExecutorError, match="pulls image"):
        await pulls.ensure(IMAGE, may_pull=True)
    engine.end.set_exception(ExecutorError(Outcome.INVALID, "no such image"))
    await asyncio.sleep(0)
    with pytest.raises(ExecutorError, match="no such image"):
        await pulls.ensure(IMAGE, may_pull=True)
    engine.end = asyncio.get_running_loop().create_future()
    with pytest.raises(ExecutorError, match="pulls image"):
        await pulls.ensure(IMAGE, may_pull=True)
    assert engine.pulls == 2
    pulls.cancel()


async def test_image_that_may_not_be_pulled_is_refused() -> None:
    with pytest.raises(ExecutorError, match="is not on host h1, and pullImages is false"):
        await ImagePulls("h1", SlowEngine()).ensure(IMAGE, may_pull=False)


def test_progress_without_a_layer_is_no_number() -> None:
    assert str(PullProgress()) == "no layer yet"
