"""Measures the update of a set: time, cost and unavailable pods.

One replica is updated at a time, so the time is the sum of many small replacements, most of it for
the scheduler and the nodes. Unavailable pods are reported for the worst moment.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.product.choices import BackendUnderTest
from benchmarks.product.clusters import fresh_cluster
from benchmarks.product.onlooker import READY
from benchmarks.product.site import Site, furnished, now
from benchmarks.product.workload import PODS_PER_GANG, Sizes
from benchmarks.runtime.figures import Figure

GANGS = 200
_NAME = "updated"
_IMAGE = "registry.example.com/app:2"
# One pod of the one replica whose turn it is.
_AWAY = 1.0


@dataclass(frozen=True, slots=True)
class Updated:
    """What one update took."""

    seconds: float
    writes: int
    away: int
    """The most pods that were not ready at once."""


async def update(site: Site) -> Updated:
    """Bring a set up, change its template, and wait until all pods are of the new one."""
    onlooker, gangs = site.onlooker, site.sizes.replicas
    pods, worst = gangs * PODS_PER_GANG, 0
    async with site.backend_if_real(), site.core() as core:
        await onlooker.create(site.workload(_NAME, gangs))
        await onlooker.until(lambda: onlooker.is_content(_NAME))
        await core.until_settled()
        before, began = await core.writes(), now()

        def note(*_: object) -> None:
            nonlocal worst
            worst = max(worst, pods - onlooker.counts[READY])

        onlooker.follow_pods(note)
        await onlooker.change_image(_NAME, _IMAGE)
        ended = await onlooker.until(lambda: onlooker.is_updated(_NAME, _IMAGE), seconds=1800)
        await core.until_settled()
        written = (await core.writes() - before).total()
        away = worst
        await onlooker.delete(_NAME)
    return Updated(ended - began, written, away)


def update_figures(choice: BackendUnderTest, sizes: Sizes, directory: Path) -> list[Figure]:
    """The figures, on a cluster of their own."""
    chosen = replace(sizes, replicas=min(GANGS, sizes.replicas))

    async def measured() -> Updated:
        async with furnished(cluster, choice, chosen, directory) as site:
            return await update(site)

    with fresh_cluster(chosen.nodes, choice) as cluster:
        found = asyncio.run(measured())
    pods, name = chosen.pods, f"update of {chosen.replicas} gangs"
    return [
        Figure(f"{name}: all updated", found.seconds, "s"),
        Figure(f"{name}: writes of core per pod", found.writes / pods, ""),
        Figure(f"{name}: pods unavailable at worst", found.away, "pods", _AWAY),
    ]
