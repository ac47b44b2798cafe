"""Virtual time for the runtime's tests: the loop's clock jumps to the next timer when idle.

A test marked `virtual_time` runs for hours in milliseconds, and in an exact order. What
waits for something that cannot happen any more fails instead of hanging.
"""

import asyncio
import selectors
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
import uvloop
from pytest_asyncio.plugin import LoopFactory

from shared_api.runtime.clock import Clock

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class _Idle(selectors.DefaultSelector):
    """Advances the loop's clock where a real selector would sleep."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if timeout is None:
            raise RuntimeError("everything waits, and no timer is left that could end it")
        self.skipped += timeout
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose seconds take no time."""

    def __init__(self) -> None:
        self._idle = _Idle()
        super().__init__(self._idle)

    def time(self) -> float:
        return self._idle.skipped


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "virtual_time: the loop's clock jumps to the next timer")


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, LoopFactory] | None:
    if item.get_closest_marker("virtual_time"):
        return {"virtual": VirtualLoop}
    return {"real": uvloop.new_event_loop}


@pytest.fixture
def clock() -> Clock:
    """The clock of the loop that the test runs in."""

    def now() -> float:
        return asyncio.get_running_loop().time()

    return Clock(
        monotonic=now,
        elapsed=now,
        utc=lambda: EPOCH + timedelta(seconds=now()),
    )
