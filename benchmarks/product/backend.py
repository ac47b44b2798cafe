"""The stand-in backend as a process: `backend KUBECONFIG`. It prints `ready` and exits at a signal.

It marks each gang as accepted and programmed, once, in one write, and does nothing else. It
writes many gangs at a time: otherwise the stand-in itself would be measured.
"""

import asyncio
import contextlib
import signal
import sys

from core_operator.state.caches import GANGS
from shared_api import names
from shared_api.kube.client import Client, Selector
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import Conflict, NotFound
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source
from tests.core.stand_in import StandIn, programmed

NAME = "default"
_AT_ONCE = 16
_MANAGER = f"{names.FIELD_MANAGER_BACKEND_PREFIX}{NAME}"
_STATUS = programmed(LooseObject())


async def main(kubeconfig: str) -> None:
    """Serve until a signal."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Client.from_kubeconfig(kubeconfig, user_agent=_MANAGER) as client:
        await StandIn(client, NAME).register()
        new: asyncio.Queue[PartialObject] = asyncio.Queue()
        cache: Cache[PartialObject] = Cache()
        cache.subscribe(lambda old, gang: new.put_nowait(gang) if gang and not old else None)
        selector = Selector(f"{names.LABEL_SCHEDULER_BACKEND}={NAME}")
        gangs = Reflector(client, Source(GANGS, PartialObject, selector=selector))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(cache.run(gangs))]
            tasks += [group.create_task(_answer(client, new)) for _ in range(_AT_ONCE)]
            await cache.wait_synced()
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await stop.wait()
            for task in tasks:
                task.cancel()


async def _answer(client: Client, new: "asyncio.Queue[PartialObject]") -> None:
    while True:
        metadata = (await new.get()).metadata
        identity = {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
        manifest = {
            "apiVersion": GANGS.api_version,
            "kind": GANGS.kind,
            "metadata": identity,
            "status": _STATUS,
        }
        # It may be deleted, or belong to another backend by now.
        with contextlib.suppress(NotFound, Conflict):
            await client.apply(
                GANGS, manifest, field_manager=_MANAGER, force=True, subresource="status"
            )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
