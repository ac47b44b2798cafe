"""Follows sets, gangs and pods by watches, and calls back with a new `Snapshot` when they change.

It owns the caches of a verb that stays open. Kinds that the user may not list are read as absent,
as in `reading`. Changes that come together cause one call; without changes there is one call every
ten intervals, because ages grow. While a watch is broken, the snapshot names it in `unread`: what it shows is old.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from gangctl.reading import CommandTarget, read
from gangctl.snapshot import GANGS, SETS, ListedPod, Snapshot
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS, Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source

_KINDS: dict[str, tuple[Resource, type[Any]]] = {
    "sets": (SETS, LooseObject),
    "gangs": (GANGS, LooseObject),
    "pods": (PODS, ListedPod),
}


async def follow(
    client: Client, target: CommandTarget, interval: float, show: Callable[[Snapshot], None]
) -> None:
    """Call a function with the state of the sets, at most once per interval, until cancelled."""
    unread = (await read(client, target, frozenset())).unread
    changed = asyncio.Event()
    caches: dict[str, Cache[Any]] = {}
    reflectors: dict[str, Reflector[Any]] = {}
    async with asyncio.TaskGroup() as group:
        for name, (resource, into) in _KINDS.items():
            cache: Cache[Any] = Cache()
            caches[name] = cache
            if resource.plural not in unread:
                cache.subscribe(lambda _, __: changed.set())
                source: Source[Any] = Source(resource, into, target.scope)
                reflectors[resource.plural] = Reflector(client, source)
                group.create_task(cache.run(reflectors[resource.plural]))
                await cache.wait_synced()
        while True:
            sets, gangs, pods = (list(caches[name]) for name in _KINDS)
            broken = {
                plural: f"not followed at the moment, what is shown may be old: {found.last_error}"
                for plural, found in reflectors.items()
                if found.last_error is not None
            }
            show(
                Snapshot(
                    target.clock.utc(),
                    sets=sets,
                    gangs=gangs,
                    pods=pods,
                    unread={**unread, **broken},
                )
            )
            changed.clear()
            await asyncio.sleep(interval)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(10 * interval):
                    await changed.wait()
