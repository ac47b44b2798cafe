"""Slow start for many similar calls: one first, and more only while they succeed.

Each success admits two more calls, up to a limit. A request that the server always refuses (quota,
a broken template) is refused once, not a thousand times. After a failure no call begins, but
running calls may finish: after a cut it is unknown whether the write happened. An item is taken
from the iterator only when its turn comes, so thousands of manifests are never in memory at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Generic, TypeVar

from shared_api.kube.errors import KubeError
from shared_api.runtime.reconciling.outcome import Retry, Terminal, WaitForEvent

T = TypeVar("T")


async def slow_start(
    items: Iterable[T],
    call: Callable[[T], Awaitable[object]],
    *,
    limit: int,
    first: int = 1,
) -> None:
    """Call for every item; raise the error, or a group of the errors.

    `first` is how many calls begin at once.
    """
    left = iter(items)
    few = list(islice(left, 2))
    if len(few) <= 1:
        # Most often there is at most one item, which needs no task of its own.
        for item in few:
            await call(item)
        return
    async with asyncio.TaskGroup() as group:
        calls = _Calls(chain(few, left), call, limit, group)
        calls.admit(first)
    errors = calls.errors
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup(f"{len(errors)} of {calls.begun} writes failed", errors)


class _Calls(Generic[T]):
    """The calls that run. Closures that refer to each other would be a cycle and outlive the work."""

    def __init__(
        self,
        left: Iterator[T],
        call: Callable[[T], Awaitable[object]],
        limit: int,
        group: asyncio.TaskGroup,
    ) -> None:
        self.errors: list[Exception] = []
        self.begun = 0
        self._left = left
        self._call = call
        self._limit = limit
        self._group = group
        self._running = 0

    def admit(self, count: int) -> None:
        """Begin so many more calls, unless one failed."""
        while count and not self.errors and self._running < self._limit:
            try:
                item = next(self._left)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 - raised when the running calls have ended
                self.errors.append(error)
                return
            self._running += 1
            self.begun += 1
            count -= 1
            self._group.create_task(self._run(item))

    async def _run(self, item: T) -> None:
        try:
            await self._call(item)
        except (KubeError, Retry, Terminal, WaitForEvent) as error:
            self.errors.append(error)
        finally:
            self._running -= 1
        self.admit(2)
