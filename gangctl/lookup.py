"""Reads one set and what belongs to it: its revisions, its pods, and its changes while they happen.

It owns the selectors by which the parts of a set are found. Nothing here writes to the cluster. A
set that does not exist is None, not an error: the verbs word that.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from gangctl.reading import CommandTarget, NotServedError
from gangctl.reports.rollout import ListedRevision
from gangctl.snapshot import SETS, ListedPod
from shared_api import names
from shared_api.kube.client import Client, Selector
from shared_api.kube.codec import LooseObject
from shared_api.kube.errors import NotFound
from shared_api.kube.resources import CONTROLLER_REVISIONS, PODS

if TYPE_CHECKING:
    from shared_api.runtime.watching.reflector import Source


async def read_set(client: Client, target: CommandTarget, name: str) -> LooseObject | None:
    """Return a set; None if it does not exist."""
    try:
        return await client.get(SETS, name, target.home, into=LooseObject)
    except NotFound as error:
        # The server answers in words about an object, and without any about a kind.
        if not error.reason:
            raise NotServedError(SETS) from error
        return None


async def read_revisions(client: Client, target: CommandTarget, name: str) -> list[ListedRevision]:
    """Return the stored versions of a set's templates."""
    selector = Selector(f"{names.LABEL_MANAGED_BY}={names.MANAGED_BY},{names.LABEL_PART_OF}={name}")
    pages = client.pages(CONTROLLER_REVISIONS, target.home, into=ListedRevision, selector=selector)
    return [item async for page in pages for item in page.items]


def pods_of(target: CommandTarget, name: str) -> "Source[ListedPod]":
    """Return the pods of a set, as a collection that can be read and watched."""
    # Imported here and below: watches take a fifth of the start time of verbs that only read.
    from shared_api.runtime.watching.reflector import Source

    selector = Selector(f"{names.LABEL_PODGANG},{names.LABEL_PART_OF}={name}")
    return Source(PODS, ListedPod, target.home, selector)


async def follow_set(
    client: Client, target: CommandTarget, name: str, is_done: Callable[[LooseObject | None], bool]
) -> None:
    """Call a function with a set now and after each change, until it returns True.

    It is called with None if the set does not exist.
    """
    from shared_api.runtime.watching.cache import Cache
    from shared_api.runtime.watching.reflector import Reflector, Source

    cache: Cache[LooseObject] = Cache()
    changes: asyncio.Queue[LooseObject | None] = asyncio.Queue()
    cache.subscribe(lambda _, new: changes.put_nowait(new))
    source = Source(SETS, LooseObject, target.home, Selector(fields=f"metadata.name={name}"))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(cache.run(Reflector(client, source)))
        await cache.wait_synced()
        if not len(cache):
            changes.put_nowait(None)
        while not is_done(await changes.get()):
            pass
        running.cancel()
