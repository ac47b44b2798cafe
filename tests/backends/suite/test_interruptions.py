"""The backend or the scheduler goes in the middle of everything, and comes back."""

import asyncio

import pytest

from tests.backends.suite.bed import Bed
from tests.backends.suite.contender import WHOLE, listed
from tests.backends.suite.interruptions import (
    Away,
    Interruption,
    Killed,
    ScaledToZero,
    SchedulerRestarted,
    Together,
)
from tests.backends.suite.scenarios import SCENARIOS, Scenario
from tests.backends.suite.stage import staged

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]


async def _play(bed: Bed, scenario: Scenario, away: Away) -> None:
    async with staged(bed) as stage:
        await scenario(stage, away)


async def _play_all(bed: Bed, interruption: Interruption) -> None:
    """Every scenario at once, with one interruption in the middle of them all."""
    together = Together(bed, interruption, len(SCENARIOS))
    try:
        async with asyncio.TaskGroup() as group:
            for scenario in SCENARIOS:
                group.create_task(_play(bed, scenario, together.away))
    finally:
        await together.end()


async def test_the_scheduler_is_restarted_in_the_middle_of_everything(bed: Bed) -> None:
    await _play_all(bed, SchedulerRestarted())


@pytest.mark.parametrize("contender", listed(WHOLE), indirect=True)
@pytest.mark.parametrize("interruption", [ScaledToZero(), Killed()], ids=["scaled", "killed"])
async def test_the_backend_goes_and_comes_back_in_the_middle_of_everything(
    bed: Bed, interruption: Interruption
) -> None:
    await _play_all(bed, interruption)
