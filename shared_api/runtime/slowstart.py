"""Many similar calls, carefully: one first, and more only as they succeed.

Each success admits two more, up to a limit, so a request that the server always refuses
(quota, a broken template) is refused once and not a thousand times. After a failure nothing
new is begun, but what runs may finish: a write that is cut off leaves us not knowing
whether it happened.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from shared_api.kube.errors import KubeError
from shared_api.runtime.outcome import Retry, Terminal, WaitForEvent

T = TypeVar("T")


async def slow_start(
    items: Iterable[T],
    call: Callable[[T], Awaitable[object]],
    *,
    limit: int,
    first: int = 1,
) -> None:
    """Call for every item, or raise what went wrong: one error, or a group of them.

    `first` is how many begin at once, for calls that are known to be welcome.
    """
    left = deque(items)
    total = len(left)
    if total <= 1:
        # Most often there is nothing to do, or one thing, which needs no task of its own.
        for item in left:
            await call(item)
        return
    errors: list[Exception] = []
    running = 0

    async def run(item: T, group: asyncio.TaskGroup) -> None:
        nonlocal running
        try:
            await call(item)
        except (KubeError, Retry, Terminal, WaitForEvent) as error:
            errors.append(error)
        finally:
            running -= 1
        admit(2, group)

    def admit(count: int, group: asyncio.TaskGroup) -> None:
        nonlocal running
        while count and left and not errors and running < limit:
            running += 1
            count -= 1
            group.create_task(run(left.popleft(), group))

    async with asyncio.TaskGroup() as group:
        admit(first, group)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup(f"{len(errors)} of {total} writes failed", errors)
