"""Deleting a set while the product watches, and while only the garbage collector does, in turns.

Turns on one cluster, because two servers of one run differ by more than what is asked for. Each
turn makes the set anew; where the collector is alone, the processes have ended before.
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
