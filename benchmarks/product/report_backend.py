"""The figures of a real backend, with their targets."""

from benchmarks.product.choices import BackendUnderTest
from benchmarks.product.measures import backend_budget, unwanted, write_figures
from benchmarks.product.results import (
    Awaited,
    OneByOne,
    Product,
    Replayed,
    RestartResults,
    ServingResults,
)
from benchmarks.product.sightings import Delays, percentile
from benchmarks.product.workload import FULL, Sizes
from benchmarks.runtime.figures import Figure

BACKEND_WRITES = "backend's writes per gang"
BACKEND_RESTART_WRITES = "restart of the backend with everything in place: writes"
CAUGHT_UP = "gangs that waited for a backend: programmed, per 1,000"
_WRITTEN = "PodGang created -> scheduler's object written"
_REPORTED = "pod changed -> PodGang's status reports it"
_WRITTEN_MS, _REPORTED_MS = 100.0, 200.0
_CPU_MS = 5.0
CPU_IN_WRITES = _CPU_MS / 0.35
"""The same target in writes of a bare client. Those took 0.35 ms where the target was set; what a
millisecond of CPU is worth differs between machines, and from hour to hour on a shared one."""
_MEMORY = 100.0
_FLAT = 1.2


def backend_figures(
    product: Product, bare: Replayed, choice: BackendUnderTest, sizes: Sizes
) -> list[Figure]:
    """Return the figures of the backend; none for the stand-in."""
    served, shown = product.deployed.backend, product.backend
    if served is None or shown is None:
        return []
    return [
        *_cost(served, bare, choice, sizes),
        *_delays(served, shown.one_by_one, sizes),
        *_restart(shown.restarted),
        *_awaited(shown.awaited),
    ]


def backend_flatness(
    small: ServingResults, sizes: Sizes, large: ServingResults, more: Sizes
) -> list[Figure]:
    """Cost of a gang among many divided by that among few."""
    share, factor = sizes.replicas / more.replicas, f"{more.replicas:,} / {sizes.replicas:,} gangs"
    ratio = large.used.cpu / small.used.cpu * share
    return [
        Figure(f"{more.replicas:,} gangs: backend's peak memory", large.used.memory, "MiB"),
        Figure(f"backend's CPU per gang, {factor}", ratio, "x", _FLAT),
        Figure(
            f"backend's writes per gang, {factor}",
            large.used.writes.total() / small.used.writes.total() * share,
            "x",
            _FLAT,
        ),
    ]


def _cost(
    served: ServingResults, bare: Replayed, choice: BackendUnderTest, sizes: Sizes
) -> list[Figure]:
    used, gangs = served.used, sizes.replicas
    memory = _MEMORY if gangs <= FULL else None
    budget = backend_budget([resource.plural for resource in choice.objects])
    return [
        *write_figures(used.writes, gangs, budget),
        Figure("backend's writes that were refused", used.refused, "writes"),
        Figure("backend's CPU per gang", used.cpu / gangs * 1e3, "ms", _CPU_MS),
        Figure(
            "backend's CPU per gang / bare client's CPU per write",
            used.cpu / gangs / bare.cpu_per_write,
            "x",
            CPU_IN_WRITES,
        ),
        Figure("backend's peak memory", used.memory, "MiB", memory),
    ]


def _delays(served: ServingResults, singles: OneByOne, sizes: Sizes) -> list[Figure]:
    """Under full load without a target; with targets one by one, where nothing queues."""
    at_once, apart = f"{sizes.replicas} gangs at once", f"{singles.gangs} gangs one by one"
    return [
        *_percentiles(at_once, served.delays),
        *_percentiles(apart, singles.delays, _WRITTEN_MS, _REPORTED_MS),
        Figure(f"API server's CPU, {apart}", singles.server_share * 100, "% of a core"),
    ]


def _percentiles(
    when: str, delays: Delays, written: float | None = None, reported: float | None = None
) -> list[Figure]:
    rows = []
    for name, values, target in (
        (_WRITTEN, delays.written, written),
        (_REPORTED, delays.reported, reported),
    ):
        rows += [
            Figure(f"{name}, {when}: p50", percentile(values, 0.5) * 1e3, "ms"),
            Figure(f"{name}, {when}: p99", percentile(values, 0.99) * 1e3, "ms", target),
        ]
    return rows


def _restart(restarted: RestartResults) -> list[Figure]:
    return [
        *unwanted(BACKEND_RESTART_WRITES, restarted.writes),
        Figure("restart of the backend: process start to caches filled", restarted.synced, "s"),
        Figure("restart of the backend: all gangs looked at", restarted.caught_up, "s", 5),
        Figure("restart of the backend: CPU until at rest", restarted.settled_cpu, "s"),
    ]


def _awaited(awaited: Awaited) -> list[Figure]:
    name, gangs = "gangs that waited for a backend", awaited.gangs
    # With few gangs the start of the process dominates.
    target = 10 if gangs >= FULL else None
    return [
        Figure(CAUGHT_UP, awaited.programmed / gangs * 1e3, "s", target),
        Figure(f"{gangs} {name}: all programmed", awaited.programmed, "s"),
        Figure(f"{gangs} {name}: all report Scheduled and Ready", awaited.ready, "s"),
    ]
