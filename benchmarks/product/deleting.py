"""Measures the deletion of a set with the product, and with the garbage collector alone, in turns.

All turns use one cluster, because two API servers differ by more than the effect. Each turn creates
the set again. For turns with the collector alone, the product's processes are stopped first.
"""

from benchmarks.product.results import InTurns
from benchmarks.product.site import Site

_NAME = "deleted"


async def in_turns(site: Site) -> InTurns:
    """The times of both, turn by turn."""
    watched: list[float] = []
    alone: list[float] = []
    for _ in range(site.sizes.turns):
        watched.append(await _seconds(site, is_watched=True))
        alone.append(await _seconds(site, is_watched=False))
    return InTurns(site.sizes.turn_replicas, tuple(watched), tuple(alone))


async def _seconds(site: Site, *, is_watched: bool) -> float:
    onlooker = site.onlooker
    async with site.backend_if_real(), site.core() as core:
        await onlooker.create(site.workload(_NAME, site.sizes.turn_replicas))
        await onlooker.until(lambda: onlooker.is_content(_NAME))
        await core.until_settled()
        if is_watched:
            await site.until_idle()
            return await onlooker.delete(_NAME)
    await site.until_idle()
    return await onlooker.delete(_NAME)
