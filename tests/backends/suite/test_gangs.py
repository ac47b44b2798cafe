"""From a PodCliqueSet to ready pods, on every scheduler in every version that is served."""

import pytest

from tests.backends.suite import scenarios
from tests.backends.suite.bed import capabilities
from tests.backends.suite.interruptions import nobody
from tests.backends.suite.stage import Stage

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


async def test_a_gang_that_fits_is_bound_whole(stage: Stage) -> None:
    await scenarios.fits(stage, nobody)


async def test_a_gang_that_does_not_fit_binds_nothing_and_reports_why_until_it_does(
    stage: Stage,
) -> None:
    await scenarios.waits_for_room(stage, nobody)


async def test_of_two_gangs_with_capacity_for_one_exactly_one_runs(stage: Stage) -> None:
    await scenarios.competes(stage, nobody)


async def test_a_set_is_scaled_out_and_in_and_its_deletion_leaves_nothing(stage: Stage) -> None:
    await scenarios.is_resized(stage, nobody)


async def test_a_preempted_gang_reports_it_and_comes_back_when_there_is_capacity(
    stage: Stage,
) -> None:
    await scenarios.is_preempted(stage, nobody)


async def test_a_gang_that_somebody_deletes_while_its_pods_wait_starts_whole(
    stage: Stage,
) -> None:
    await scenarios.loses_its_gang(stage, nobody)


async def test_the_record_has_the_capabilities_that_were_found(stage: Stage) -> None:
    assert capabilities(await stage.record()) == stage.contender.topology
