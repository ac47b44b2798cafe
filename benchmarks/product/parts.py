"""The parts of the benchmark. Each does one thing on a site and returns its result."""

import asyncio
from collections import Counter
from dataclasses import dataclass

from benchmarks.product.machine import Usage, others_share, usage
from benchmarks.product.measures import Writes, gangs_counted, refused, writes
from benchmarks.product.onlooker import EXIST, READY, RELEASED
from benchmarks.product.processes import ControllerProcess
from benchmarks.product.results import (
    Awaited,
    Burst,
    Deleted,
    Deployed,
    OneByOne,
    RestartResults,
    Scaled,
    ServingResults,
    Start,
    Used,
)
from benchmarks.product.site import Site, now
from benchmarks.product.workload import PODS_PER_GANG
from shared_api import names

BIG = "scale"
_INTERVAL = 0.4
"""Seconds between two gangs that come one by one: the API server then has time to spare."""
_REPORTED = (names.CONDITION_SCHEDULED, names.CONDITION_READY)


@dataclass(frozen=True, slots=True)
class Before:
    """The clocks before a set was created."""

    time: float
    server_cpu: float
    usage: Usage
    cluster_cpu: dict[str, float]

    @classmethod
    def of(cls, site: Site) -> "Before":
        """As they are now."""
        return cls(now(), site.server_cpu(), usage(), site.cluster_cpu())


async def started(site: Site, before: Before) -> Start:
    """Wait until the big set has come up."""
    onlooker, pods = site.onlooker, site.sizes.pods
    exist = await onlooker.until(lambda: onlooker.counts[EXIST] == pods)
    released = await onlooker.until(lambda: onlooker.counts[RELEASED] == pods)
    used = site.server_cpu() - before.server_cpu
    ready = await onlooker.until(lambda: onlooker.counts[READY] == pods)
    others = others_share(before.usage, usage())
    took = {name: cpu - before.cluster_cpu[name] for name, cpu in site.cluster_cpu().items()}
    began = before.time
    return Start(began, exist - began, released - began, ready - began, used, others, took)


@dataclass(frozen=True, slots=True)
class _Watched:
    """A controller and what it had done before."""

    controller: ControllerProcess
    writes: Writes
    cpu: float

    @classmethod
    async def of(cls, controller: ControllerProcess) -> "_Watched":
        await controller.until_settled()
        written = await controller.writes()
        return cls(controller, written, controller.cpu_seconds())

    async def used(self) -> Used:
        """What it used, once it is idle."""
        cpu = await self.controller.until_settled()
        page = await self.controller.page()
        done, memory = writes(page) - self.writes, self.controller.peak_memory()
        return Used(done, refused(page), cpu - self.cpu, memory)


async def deploy(
    site: Site, core: ControllerProcess, backend: ControllerProcess | None
) -> Deployed:
    """The big set."""
    onlooker, replicas = site.onlooker, site.sizes.replicas
    serving = await _Watched.of(backend) if backend is not None else None
    working = await _Watched.of(core)
    await site.until_idle()
    onlooker.start_over()
    before = Before.of(site)
    uid = await onlooker.create(site.workload(BIG, replicas))
    start = await started(site, before)
    served = None
    if serving is not None:
        reported = await onlooker.until_reported(replicas, *_REPORTED) - before.time
        delays = onlooker.sightings.delays()
        # The backend first: its late writes are changes for core.
        served = ServingResults(await serving.used(), reported, delays)
    await onlooker.until(lambda: onlooker.is_content(BIG), seconds=120)
    return Deployed(start, uid, await working.used(), served)


async def settled(core: ControllerProcess, began: float) -> RestartResults:
    """An operator that was started at this time, once it has nothing to do."""
    synced = now() - began
    used = await core.until_settled()
    return RestartResults(synced, used, await core.writes())


async def caught_up(site: Site, backend: ControllerProcess, began: float) -> RestartResults:
    """A backend that was started at this time beside the big set."""
    synced = now() - began
    gangs = site.sizes.replicas
    looked = await backend.until_page(lambda page: gangs_counted(page, "Running") == gangs)
    used = await backend.until_settled()
    return RestartResults(synced, used, await backend.writes(), looked - began)


async def delete(site: Site, core: ControllerProcess, backend: ControllerProcess | None) -> Deleted:
    """Delete the big set."""
    running = [core, backend] if backend is not None else [core]
    before = [await one.writes() for one in running]
    seconds = await site.onlooker.delete(BIG)
    done = []
    for one, written in zip(running, before, strict=True):
        await one.until_settled()
        done.append(await one.writes() - written)
    return Deleted(seconds, done[0], done[1] if backend is not None else Counter())


async def scale(site: Site, core: ControllerProcess, name: str, replicas: int) -> Scaled:
    """A set, halved and doubled again."""
    onlooker, pods = site.onlooker, replicas * PODS_PER_GANG
    uid = await onlooker.create(site.workload(name, replicas))
    await onlooker.until(lambda: onlooker.is_content(name))
    await core.until_settled()
    began = now()
    await onlooker.scale(name, replicas // 2)
    down = await onlooker.until(lambda: onlooker.counts[EXIST] == pods // 2) - began
    await onlooker.until(lambda: onlooker.is_content(name))
    await core.until_settled()
    began = now()
    await onlooker.scale(name, replicas)
    up = await onlooker.until(lambda: onlooker.counts[RELEASED] == pods) - began
    await onlooker.until(lambda: onlooker.is_content(name))
    await core.until_settled()
    await onlooker.delete(name)
    await core.until_settled()
    return Scaled(replicas, down, Burst(name, uid, replicas, pods - pods // 2, began, up))


async def one_by_one(site: Site) -> OneByOne:
    """Sets of one gang, at a steady rate."""
    onlooker, gangs = site.onlooker, site.sizes.singles
    sets = [f"single-{number}" for number in range(gangs)]
    await site.until_idle()
    onlooker.start_over()
    began, cpu = now(), site.server_cpu()
    for number, name in enumerate(sets):
        await onlooker.create(site.workload(name, 1))
        # The rate is what makes this a measurement without a queue.
        await asyncio.sleep(began + (number + 1) * _INTERVAL - now())
    share = (site.server_cpu() - cpu) / (now() - began)
    await onlooker.until_reported(gangs, *_REPORTED)
    delays = onlooker.sightings.delays()
    await onlooker.delete(*sets)
    return OneByOne(gangs, delays, share)


async def awaited(site: Site, core: ControllerProcess) -> Awaited:
    """Gangs that are made while no backend runs; then one is started."""
    onlooker, gangs, name = site.onlooker, site.sizes.replicas, "awaited"
    await onlooker.create(site.workload(name, gangs))
    await onlooker.until(lambda: onlooker.counts[EXIST] == site.sizes.pods)
    await onlooker.until_reported(gangs, names.CONDITION_INITIALIZED)
    await core.until_settled()
    await site.until_idle()
    began = now()
    async with site.backend():
        with site.phases.phase("gangs that waited for a backend"):
            programmed = await onlooker.until_reported(gangs, names.CONDITION_PROGRAMMED) - began
            ready = await onlooker.until_reported(gangs, *_REPORTED) - began
        await onlooker.delete(name)
    return Awaited(gangs, programmed, ready)
