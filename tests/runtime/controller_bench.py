"""A controller whose reconciler plays a script, for tests of what happens around a reconcile."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.reconciling.controller import Controller, ControllerOptions
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry

OPTIONS = ControllerOptions(
    workers=3, deadline=30, recheck=60, backoff=Backoff(base=1, cap=8, jitter=0)
)


class Bench:
    """A controller whose reconciler plays a script, and what it did when."""

    def __init__(self, clock: Clock) -> None:
        self.telemetry = Telemetry()
        self.calls: list[tuple[str, float]] = []
        self.script: Callable[[ObjectKey, int], Awaitable[Result | None]] = self.nothing
        self.pending = PendingWrites()
        self.controller = Controller(
            "toy", self, self.pending, self.telemetry, options=OPTIONS, clock=clock
        )

    async def nothing(self, key: ObjectKey, call: int) -> Result | None:
        return None

    async def reconcile(self, key: ObjectKey) -> Result | None:
        self.calls.append((key.name, asyncio.get_running_loop().time()))
        return await self.script(key, len(self.calls))

    def fail_with(self, *errors: Exception) -> None:
        """Raise each once, then succeed."""

        async def script(key: ObjectKey, call: int) -> Result | None:
            if call <= len(errors):
                raise errors[call - 1]
            return None

        self.script = script

    def times(self, name: str = "x") -> list[float]:
        return [when for called, when in self.calls if called == name]

    def metric(self, name: str, **labels: str) -> float:
        value = self.telemetry.registry.get_sample_value(name, {"controller": "toy", **labels})
        return value or 0.0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.controller.run())
            try:
                yield
            finally:
                task.cancel()
