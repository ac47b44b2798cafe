"""A backend that is scaled to nothing, or to two: what runs stays, what is new waits, one leads."""

import pytest

from tests.backends.suite.bed import Bed
from tests.backends.suite.contender import WHOLE, listed
from tests.backends.suite.leftovers import owned_by
from tests.backends.suite.stage import Stage

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("contender", listed(WHOLE), indirect=True),
]


async def test_scaled_to_zero_touches_nothing_and_new_gangs_wait_for_it(
    bed: Bed, stage: Stage
) -> None:
    await stage.add_nodes(1)
    cliques = [stage.clique("a", 2, cpu="1")]
    await stage.create_of("old", cliques)
    await stage.until_runs("old")
    before = await _state(stage, "old-0")
    async with bed.scaled_to_zero():
        await stage.create_of("new", cliques)
        await stage.until_unavailable("new")
        assert stage.bound("new-0") == []
        assert stage.runs("old")
        assert await _state(stage, "old-0") == before
    await stage.until_runs("new")
    assert stage.runs("old")
    assert await _state(stage, "old-0") == before


async def test_of_two_replicas_one_leads_and_the_other_follows_it(bed: Bed, stage: Stage) -> None:
    await stage.add_nodes(1)
    first = await bed.leader()
    await bed.scale(2)
    await bed.until_ready(2)
    assert await bed.leader() == first
    await bed.delete_leader(force=False)
    assert await bed.leader(other_than=first) != first
    await stage.create_of("w", [stage.clique("a", 2, cpu="1")])
    await stage.until_runs("w")
    await bed.scale(1)
    await bed.until_ready(1)


async def _state(stage: Stage, gang: str) -> dict[str, str]:
    """The pods of a gang and what its backend wrote for it."""
    pods = {pod.metadata.name: pod.metadata.uid for pod in stage.pods(gang)}
    return {**pods, **await owned_by(stage, gang)}
