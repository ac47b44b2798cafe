"""What the contract suite needs from a test of an executor: a real far side, and a way to break it.

A far side is described once for each kind of backend, in the tests of that backend. `contract` and
`faults` have the tests; they look at the far side with its own tools, never through the executor
alone. The far side must be real programs.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import (
    Executor,
    GangTag,
    LogOptions,
    Order,
    RemoteUnit,
)
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import SYSTEM, Clock

GANG = ObjectKey("team", "train")
WAIT_SECONDS = 60.0


class ProcessKilled(BaseException):
    """The process of the executor ends here; no code of it may catch this."""


class FarSide(Protocol):
    """Real hosts of one kind with a capacity of four CPUs, and what can go wrong with them."""

    grant_seconds: int
    """The shortest grant that it can enforce."""
    restarts: bool
    """Whether it starts what ended again, by the restart policy of the pod."""

    def executor(self, clock: Clock = SYSTEM) -> Executor:
        """Return an executor as a process makes it that has just started."""
        ...

    def pod(self, name: str, script: str = "sleep 600", **fields: Any) -> RemotePod:
        """Return a pod that runs a shell script. `cpu` is its request, by default `500m`."""
        ...

    def refused_pod(self, name: str) -> RemotePod:
        """Return a pod that the far side never accepts, such as one with an unknown image."""
        ...

    def exists(self) -> dict[str, str]:
        """Everything that exists for this backend, with its state, seen without the executor."""
        ...

    def foreign(self) -> contextlib.AbstractContextManager[Callable[[], bool]]:
        """Create something that is not ours; the function tells whether it is still untouched."""
        ...

    def unreachable(self) -> contextlib.AbstractContextManager[None]:
        """Make the whole far side unreachable for executors; what runs there goes on."""
        ...

    def kill_after(self, executor: Executor, calls: int) -> None:
        """Raise ProcessKilled after so many changing calls: done there, their answer never seen."""
        ...


@contextlib.asynccontextmanager
async def process(executor: Executor) -> AsyncIterator[Executor]:
    """An executor that observes its far side until the block ends, as in a process."""
    observing = asyncio.ensure_future(executor.run())
    synced = asyncio.ensure_future(executor.wait_synced())
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.wait({observing, synced}, return_when=asyncio.FIRST_COMPLETED)
        yield executor
    finally:
        for task in (synced, observing):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def until(executor: Executor, holds: Callable[[tuple[RemoteUnit, ...]], object]) -> None:
    """Wait until the units of the gang are so; each change must be announced."""
    changed = asyncio.Event()
    executor.changed.subscribe(lambda _: changed.set())
    async with asyncio.timeout(WAIT_SECONDS):
        while not holds(executor.units(GANG)):
            changed.clear()
            await changed.wait()


async def until_hosts(executor: Executor, *, reachable: bool) -> None:
    """Wait until all hosts can be reached, or none."""
    async with asyncio.timeout(WAIT_SECONDS):
        # Changes of hosts are not announced.
        while any(bool(host.problem) == reachable for host in executor.hosts()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def log_of(executor: Executor, unit: RemoteUnit, **options: Any) -> bytes:
    """The log of a unit as a whole."""
    return b"".join([piece async for piece in executor.logs(unit, LogOptions(**options))])


def order(*pods: RemotePod, gang: str = "train", attempt: int = 1, **fields: Any) -> Order:
    """An order for these pods; without `ranks` they follow the order of the pods."""
    fields.setdefault("ranks", {pod.metadata.name: rank for rank, pod in enumerate(pods)})
    tag = fields.pop("tag", None) or GangTag("team", gang, f"uid-{gang}")
    return Order(tag, attempt, pods, **fields)


def states(executor: Executor) -> list[RemoteMemberState]:
    """The states of the gang's units, by pod."""
    return [unit.state for unit in executor.units(GANG)]


def identities(executor: Executor) -> set[tuple[str, str, str]]:
    """What must not change while a gang runs: pod, host and the name on the far side."""
    return {(unit.pod, unit.host, unit.external_id) for unit in executor.units(GANG)}
