"""The soak: a set that is scaled between 25 and 50 replicas, and updated in between, for long.

What must not grow is the operator's memory from round to round; what must not be left is
anything of a set that is gone; what must not be logged is an error.
"""

import asyncio
import copy
import statistics
from dataclasses import dataclass, field

from benchmarks.product.workload import workload
from core_operator.state.caches import SETS
from tests.core.kit import holds, is_ready
from tests.core.stage import is_ended, mark_of
from tests.soak.bed import Bed, say

LOW, HIGH = 25, 50
PODS = 2
NAME = "churn"
_ROUND_SECONDS = 600.0
_STEEPEST = 30.0
"""MiB an hour that the memory may seem to grow: the noise of an allocator in half an hour."""


@dataclass
class Memory:
    """The operator's memory over time."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def slope(self) -> float | None:
        """MiB an hour, after the first rounds, in which caches and pools grow to their size."""
        settled = self.samples[len(self.samples) // 3 :]
        if len(settled) < 3:
            return None
        times, sizes = zip(*settled, strict=True)
        return statistics.linear_regression(times, sizes).slope * 3600


async def soak(bed: Bed, seconds: float) -> list[str]:
    """Churn for so long; what is wrong at the end."""
    person, loop, memory = bed.person, asyncio.get_running_loop(), Memory()
    began, round_ = loop.time(), 0
    await person.create(workload(NAME, LOW, {}))
    await _until(bed, LOW, "1")
    while loop.time() - began < seconds:
        round_ += 1
        await person.scale(SETS, NAME, HIGH)
        await _until(bed, HIGH, None)
        await person.scale(SETS, NAME, LOW)
        await _until(bed, LOW, None)
        mark = str(round_ + 1)
        await person.change(SETS, NAME, {"spec": {"template": _marked(bed, mark)}})
        await _until(bed, LOW, mark)
        memory.samples.append((loop.time() - began, bed.resident()))
        say(f"round {round_} after {loop.time() - began:.0f} s: {bed.resident():.1f} MiB")
    await person.delete(person.one(SETS, NAME), SETS)
    await person.until(lambda: not person.pods and not person.all(SETS), _ROUND_SECONDS)
    return _judged(memory, await _left(bed), bed)


def _marked(bed: Bed, mark: str) -> dict[str, object]:
    cliques = copy.deepcopy(bed.person.one(SETS, NAME).spec["template"]["cliques"])
    for one in cliques:
        one["spec"]["podSpec"]["containers"][0]["image"] = f"registry.example.com/app:{mark}"
    return {"cliques": cliques}


async def _until(bed: Bed, replicas: int, mark: str | None) -> None:
    """Wait until the set is whole, and has the mark in its templates and status, if one is given."""

    def is_there() -> bool:
        found, pods = bed.person.get(SETS, NAME), bed.person.pods
        whole = len(pods) == replicas * PODS and all(map(is_ready, pods)) and holds(found, "Ready")
        if not whole or mark in (None, "1"):
            return whole
        return is_ended(found) and all(mark_of(pod) == mark for pod in pods)

    await bed.person.until(is_there, _ROUND_SECONDS)


async def _left(bed: Bed) -> list[str]:
    async with asyncio.timeout(120):
        # The garbage collector announces nothing.
        while left := await asyncio.to_thread(bed.leftovers):
            await asyncio.sleep(1)
            if all(one.startswith("service/kubernetes") for one in left):
                break
    return left


def _judged(memory: Memory, left: list[str], bed: Bed) -> list[str]:
    slope, complaints = memory.slope(), bed.complaints()
    shown = "too few rounds to measure growth" if slope is None else f"{slope:+.1f} MiB an hour"
    say(f"memory: {shown}; left over: {len(left)}; error lines: {len(complaints)}")
    problems = [f"left over: {one}" for one in left]
    problems += [f"logged: {line}" for line in complaints]
    if slope is not None and slope > _STEEPEST and len(memory.samples) >= 10:
        problems.append(f"memory grows by {slope:.1f} MiB an hour")
    return problems
