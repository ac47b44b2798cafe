"""The figures with their targets, in the order in which a person asks for them."""

import statistics

from benchmarks.product.measures import write_figures
from benchmarks.product.scenario import IN_FLIGHT, Deployed, Product, Replayed, Scaled
from benchmarks.product.workload import Sizes
from benchmarks.runtime.figures import Figure

RELEASED_RATIO = "all released: product / bare client"
RESTART_WRITES = "restart with everything in place: writes"
DELETE_RATIO = "delete: product / collector alone"
_MEMORY_PER_POD = (250 - 140) / 3000
"""140 MiB for 1,000 pods, 250 for 4,000."""


def figures(product: Product, bare: Replayed, sizes: Sizes) -> list[Figure]:
    """All figures of one run."""
    return [
        *_starts(product, bare, sizes),
        *write_figures(product.deployed.writes, sizes.pods, sizes.replicas),
        Figure("core's writes that were refused", product.deployed.refused, "writes"),
        *_costs(product, bare, sizes),
        *_tiny(product),
        *_restart(product),
        *(figure for scaled in product.scaled for figure in _scaled(scaled)),
        *_deletion(product, bare),
    ]


def flatness(small: Deployed, sizes: Sizes, large: Deployed, more: Sizes) -> list[Figure]:
    """What a pod costs in a larger set, by what it costs in the smaller one."""
    share, factor = sizes.pods / more.pods, f"{more.pods:,} pods / {sizes.pods:,} pods"
    start = large.start
    return [
        Figure(f"{more.pods:,} pods in {more.replicas} gangs: all exist", start.exist, "s"),
        Figure(f"{more.pods:,} pods in {more.replicas} gangs: all released", start.released, "s"),
        Figure(f"{more.pods:,} pods in {more.replicas} gangs: all ready", start.ready, "s"),
        Figure(f"{more.pods:,} pods: core's peak memory", large.memory, "MiB", _memory(more)),
        Figure(f"core's CPU per pod, {factor}", large.cpu / small.cpu * share, "x", 1.2),
        Figure(
            f"time to released per pod, {factor}",
            start.released / small.start.released * share,
            "x",
            1.2,
        ),
    ]


def _memory(sizes: Sizes) -> float:
    return 140 + max(0, sizes.pods - 1000) * _MEMORY_PER_POD


def _starts(product: Product, bare: Replayed, sizes: Sizes) -> list[Figure]:
    ours, theirs = product.deployed.start, bare.start
    name = f"{sizes.pods:,} pods in {sizes.replicas} gangs"
    other = f"bare client, the same writes, {IN_FLIGHT} in flight"
    return [
        Figure(f"{name}: all exist", ours.exist, "s"),
        Figure(f"{name}: all released", ours.released, "s"),
        Figure(f"{name}: all ready", ours.ready, "s"),
        Figure(f"{other}: all exist", theirs.exist, "s"),
        Figure(f"{other}: all released", theirs.released, "s"),
        Figure(f"{other}: all ready", theirs.ready, "s"),
        Figure("other programs' share of the machine: product", ours.others * 100, "%"),
        Figure("other programs' share of the machine: bare client", theirs.others * 100, "%"),
        Figure(RELEASED_RATIO, ours.released / theirs.released, "x", 1.25),
    ]


def _costs(product: Product, bare: Replayed, sizes: Sizes) -> list[Figure]:
    deployed = product.deployed
    return [
        Figure("core's CPU per pod", deployed.cpu / sizes.pods * 1e3, "ms", 5),
        Figure("bare client's writes per pod", bare.writes / sizes.pods, "writes"),
        Figure("bare client's CPU per pod", bare.cpu / sizes.pods * 1e3, "ms"),
        Figure("core's peak memory", deployed.memory, "MiB", _memory(sizes)),
        Figure("API server's CPU until all released", deployed.start.server_cpu, "s"),
        Figure(
            "API server's CPU: product / bare client",
            deployed.start.server_cpu / bare.start.server_cpu,
            "x",
        ),
    ]


def _tiny(product: Product) -> list[Figure]:
    name = f"first create of 10 pods, released, {len(product.tiny)} times"
    return [
        Figure(f"{name}: p50", statistics.median(product.tiny), "s", 0.3),
        Figure(f"{name}: worst", max(product.tiny), "s", 0.6),
    ]


def _restart(product: Product) -> list[Figure]:
    restarted = product.restarted
    return [
        Figure(RESTART_WRITES, restarted.writes.total(), "writes", 0),
        Figure("restart: process start to caches filled", restarted.synced, "s"),
        Figure("restart: CPU until at rest", restarted.settled_cpu, "s"),
    ]


def _scaled(scaled: Scaled) -> list[Figure]:
    full, half = scaled.replicas, scaled.replicas // 2
    return [
        Figure(f"scale {full} -> {half} replicas: pods gone", scaled.down, "s", 0.5),
        Figure(f"scale {half} -> {full} replicas: released", scaled.up, "s", 0.8),
    ]


def _deletion(product: Product, bare: Replayed) -> list[Figure]:
    return [
        Figure("delete of the set", product.delete, "s"),
        Figure("delete: garbage collector alone", bare.delete, "s"),
        Figure(DELETE_RATIO, product.delete / bare.delete, "x", 1.1),
        Figure("delete: core's writes", product.delete_writes.total(), "writes", 0),
    ]
