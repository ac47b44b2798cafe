"""The figures with their targets, the most important first."""

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.product.bare import IN_FLIGHT
from benchmarks.product.choices import BackendUnderTest
from benchmarks.product.measures import core_budget, unwanted, write_figures
from benchmarks.product.report_backend import CPU_IN_WRITES, backend_figures
from benchmarks.product.results import Deployed, Life, Product, Replayed, RestartResults, Scaled
from benchmarks.product.workload import PODS_PER_GANG, Sizes
from benchmarks.runtime.figures import Figure

RELEASED_RATIO = "all released: product / bare client"
READY_RATIO = "all ready: product / bare client"
RESTART_WRITES = "restart of core with everything in place: writes"
DELETE_RATIO = "delete: product / collector alone"
_RATIO = 1.25
_NOTHING = 0.5
"""CPU seconds below which a part of the control plane is idle during the start."""
_SCALED_PODS = 100
"""Grove's soak test scales between this number of pods and half of it."""
_MEMORY_PER_POD = (250 - 140) / 3000
"""140 MiB for 1,000 pods, 250 for 4,000."""


def figures(
    product: Product, bare: Replayed, choice: BackendUnderTest, sizes: Sizes
) -> list[Figure]:
    """All figures of one run."""
    return [
        *_starts(product.deployed, bare, choice, sizes),
        *_core_writes(product.deployed, sizes),
        *_costs(product.deployed, bare, sizes),
        *_tiny(product.life, bare),
        *_restart(product.restarted),
        *_scalings(product.life, bare),
        *_deletion(product, choice),
        *backend_figures(product, bare, choice, sizes),
        *_others(product, bare),
    ]


def flatness(small: Deployed, sizes: Sizes, large: Deployed, more: Sizes) -> list[Figure]:
    """Cost of a pod in a larger set divided by that in a smaller set."""
    share, factor = sizes.pods / more.pods, f"{more.pods:,} pods / {sizes.pods:,} pods"
    start, name = large.start, f"{more.pods:,} pods in {more.replicas} gangs"
    return [
        *_stations(name, large),
        Figure(f"{more.pods:,} pods: core's peak memory", large.core.memory, "MiB", _memory(more)),
        Figure(f"core's CPU per pod, {factor}", large.core.cpu / small.core.cpu * share, "x", 1.2),
        Figure(
            f"time to released per pod, {factor}",
            start.released / small.start.released * share,
            "x",
            1.2,
        ),
        *(
            Figure(
                f"{name}: CPU per pod, {factor}", large.start.cluster_cpu[name] / cpu * share, "x"
            )
            for name, cpu in small.start.cluster_cpu.items()
            if cpu > _NOTHING
        ),
    ]


def _memory(sizes: Sizes) -> float:
    return 140 + max(0, sizes.pods - 1000) * _MEMORY_PER_POD


def _stations(name: str, deployed: Deployed) -> list[Figure]:
    start, backend = deployed.start, deployed.backend
    rows = [
        Figure(f"{name}: all exist", start.exist, "s"),
        Figure(f"{name}: all released", start.released, "s"),
        Figure(f"{name}: all ready", start.ready, "s"),
    ]
    if backend is not None:
        rows.append(Figure(f"{name}: all gangs report Scheduled and Ready", backend.reported, "s"))
    return rows


def _starts(
    deployed: Deployed, bare: Replayed, choice: BackendUnderTest, sizes: Sizes
) -> list[Figure]:
    ours, theirs = deployed.start, bare.start
    name = f"{sizes.pods:,} pods in {sizes.replicas} gangs"
    other = f"bare client, the same writes, {IN_FLIGHT} in flight"
    # Compare the last state up to which all writes are recorded.
    released, ready = (None, _RATIO) if choice.is_real else (_RATIO, None)
    return [
        *_stations(name, deployed),
        Figure(f"{other}: all exist", theirs.exist, "s"),
        Figure(f"{other}: all released", theirs.released, "s"),
        Figure(f"{other}: all ready", theirs.ready, "s"),
        Figure(RELEASED_RATIO, ours.released / theirs.released, "x", released),
        Figure(READY_RATIO, ours.ready / theirs.ready, "x", ready),
    ]


def _core_writes(deployed: Deployed, sizes: Sizes) -> list[Figure]:
    done, budget = deployed.core.writes, core_budget(PODS_PER_GANG)
    return [
        Figure("core's writes per pod", done.total() / sizes.pods, "writes"),
        *write_figures(done, sizes.replicas, budget),
        Figure("core's writes that were refused", deployed.core.refused, "writes"),
    ]


def _costs(deployed: Deployed, bare: Replayed, sizes: Sizes) -> list[Figure]:
    return [
        Figure("core's CPU per pod", deployed.core.cpu / sizes.pods * 1e3, "ms", 5),
        Figure("bare client's writes per pod", bare.writes / sizes.pods, "writes"),
        Figure("bare client's CPU per pod", bare.cpu / sizes.pods * 1e3, "ms"),
        Figure(
            "core's CPU per pod / bare client's CPU per write",
            deployed.core.cpu / sizes.pods / bare.cpu_per_write,
            "x",
            CPU_IN_WRITES,
        ),
        Figure("core's peak memory", deployed.core.memory, "MiB", _memory(sizes)),
        Figure("API server's CPU until all released", deployed.start.server_cpu, "s"),
        Figure(
            "API server's CPU: product / bare client",
            deployed.start.server_cpu / bare.start.server_cpu,
            "x",
        ),
    ]


def _tiny(life: Life, bare: Replayed) -> list[Figure]:
    name = f"first create of 10 pods, released, {len(life.tiny)} times"
    times = [tiny.seconds for tiny in life.tiny]
    theirs = [bare.bursts[tiny.name] for tiny in life.tiny if tiny.name in bare.bursts]
    return [
        Figure(f"{name}: p50", statistics.median(times), "s", 0.3),
        Figure(f"{name}: worst", max(times), "s", 0.6),
        Figure(f"{name}: bare client, {len(theirs)} times: p50", statistics.median(theirs), "s"),
    ]


def _restart(restarted: RestartResults) -> list[Figure]:
    return [
        *unwanted(RESTART_WRITES, restarted.writes),
        Figure("restart of core: process start to caches filled", restarted.synced, "s"),
        Figure("restart of core: CPU until at rest", restarted.settled_cpu, "s"),
    ]


def _scalings(life: Life, bare: Replayed) -> Iterator[Figure]:
    for replicas in dict.fromkeys(scaled.replicas for scaled in life.scaled):
        yield from _scaled([one for one in life.scaled if one.replicas == replicas], bare)


def _scaled(scaled: Sequence[Scaled], bare: Replayed) -> list[Figure]:
    """The medians of sets of one size."""
    full = scaled[0].replicas * PODS_PER_GANG
    half = full // 2
    down, up = (0.5, 0.8) if full == _SCALED_PODS else (None, None)
    ours = statistics.median(one.up.seconds for one in scaled)
    theirs = statistics.median(bare.bursts[one.up.name] for one in scaled)
    times = f", {len(scaled)} times: p50" if len(scaled) > 1 else ""
    gone, name = f"scale {full} -> {half} pods: gone", f"scale {half} -> {full} pods: released"
    return [
        Figure(f"{gone}{times}", statistics.median(one.down for one in scaled), "s", down),
        Figure(f"{name}{times}", ours, "s", up),
        Figure(f"{name}, bare client{times}", theirs, "s"),
        Figure(f"{name}, product / bare client{times}", ours / theirs, "x"),
    ]


def _deletion(product: Product, choice: BackendUnderTest) -> list[Figure]:
    deleted, turns = product.life.deleted, product.deleted_in_turns
    watched, alone = statistics.median(turns.watched), statistics.median(turns.alone)
    name = f"delete of {turns.replicas} gangs, median of {len(turns.alone)}"
    rows = [
        Figure("delete of the set", deleted.seconds, "s"),
        Figure(name, watched, "s"),
        Figure(f"{name}: garbage collector alone", alone, "s"),
        Figure(DELETE_RATIO, watched / alone, "x", 1.1),
        *unwanted("delete: core's writes", deleted.core),
    ]
    if choice.is_real:
        rows += unwanted("delete: backend's writes", deleted.backend)
    return rows


def _others(product: Product, bare: Replayed) -> list[Figure]:
    phases = {
        "product": product.deployed.start.others,
        "bare client": bare.start.others,
        **product.others,
    }
    name = "other programs' share of the machine"
    return [Figure(f"{name}: {phase}", share * 100, "%") for phase, share in phases.items()]
