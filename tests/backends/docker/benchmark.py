"""`python -m tests.backends.docker.benchmark`: 100 gangs of two containers on two real engines.

The executor reserves and starts all gangs, 24 at a time as its controller does. A bare client then
makes the same calls of the engine's API for the same containers with as many in flight, without packing,
claims and watching. Both are timed until all containers run.
"""

import asyncio
import resource
import sys
import time
from collections.abc import Awaitable, Callable

from backend_controllers.docker.containers import container_body, container_name
from backend_controllers.docker.engine import Engine
from backend_controllers.docker.executor import DockerExecutor
from backend_controllers.docker.options import DockerHost, DockerOptions
from backend_controllers.hosts.packing import demand_of
from backend_controllers.hosts.places import Place
from shared_api.kube.metadata import ObjectKey
from tests.backends.docker.engines import Engines
from tests.backends.docker.pods import remote_pod
from tests.backends.remote.far_side import order, process

GANGS, SIZE, AT_ONCE = 100, 2, 24


async def main() -> None:
    """Print both times and their ratio."""
    with Engines("h1", "h2") as engines:
        options = DockerOptions(
            hosts=tuple(
                DockerHost(name=name, url=host.url, cpu="200", memory="64Gi")
                for name, host in engines.hosts.items()
            ),
            cluster="benchmark",
            image_prefixes=("local/",),
            pull_images=False,
        )
        # The first containers also warm the engines.
        await _bare(options, 5)
        ours = await _product(options)
        sys.stdout.write(f"executor {ours:.1f} s\n")
        bare = await _bare(options)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sys.stdout.write(
            f"{GANGS} gangs of {SIZE}: executor {ours:.1f} s, bare client {bare:.1f} s,"
            f" ratio {ours / bare:.2f}; memory of this process {memory:.0f} MiB\n"
        )


async def _product(options: DockerOptions) -> float:
    async with process(DockerExecutor(options, "docker")) as executor:

        async def run(number: int) -> None:
            pods = (remote_pod(f"p{number}-{rank}", cpu="10m") for rank in range(SIZE))
            gang = f"gang-{number}"
            await executor.reserve(order(*pods, gang=gang))
            await executor.start(executor.units(ObjectKey("team", gang)))

        took = await _timed(run)
        gangs = executor.gangs()
        for first in range(0, len(gangs), 4):
            some = gangs[first : first + 4]
            await executor.release(tuple(unit for gang in some for unit in executor.units(gang)))
    return took


async def _bare(options: DockerOptions, gangs: int = GANGS) -> float:
    hosts = [Engine(host, {"benchmark": "bare"}) for host in options.hosts]
    for host in hosts:
        await host.__aenter__()
    made: list[tuple[Engine, str]] = []

    async def run(number: int) -> None:
        host = hosts[number % len(hosts)]
        pods = [remote_pod(f"p{number}-{rank}", cpu="10m") for rank in range(SIZE)]
        await host.has_image(pods[0].spec.containers[0].image)
        for pod in pods:
            place = Place(pod, demand_of(pod), 0, ["127.0.0.1"] * SIZE)
            name = container_name(pod)
            await host.create(name, container_body(place, {"benchmark": "bare"}))
            made.append((host, name))

        async def start(pod_name: str) -> None:
            await host.start(pod_name)
            await host.container(pod_name)

        async with asyncio.TaskGroup() as group:
            for pod in pods:
                group.create_task(start(container_name(pod)))

    took = await _timed(run, gangs)
    ending = asyncio.Semaphore(8)

    async def remove(host: Engine, name: str) -> None:
        async with ending:
            await host.remove(name, 0)

    async with asyncio.TaskGroup() as group:
        for host, name in made:
            group.create_task(remove(host, name))
    for host in hosts:
        await host.__aexit__()
    return took


async def _timed(run: Callable[[int], Awaitable[None]], gangs: int = GANGS) -> float:
    free = asyncio.Semaphore(AT_ONCE)

    async def bounded(number: int) -> None:
        async with free:
            await run(number)

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(gangs):
            group.create_task(bounded(number))
    return time.monotonic() - began


if __name__ == "__main__":
    asyncio.run(main())
