"""Whatever is stored, every controller survives it, and sets that are fine become ready beside it."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.cases import trials
from tests.fuzz.damage import VICTIM, Damage, damages
from tests.fuzz.poison import Poison, objects
from tests.fuzz.world import SCHEDULERS, World, running, sources_of

CHILDREN = (
    "PodCliqueSet",
    "PodClique",
    "PodCliqueScalingGroup",
    "PodGang",
    "PodGroup",
    "Workload",
    "Pod",
    "ControllerRevision",
)
Case = tuple[list[Poison], list[Damage], list[Poison]]


def _cases_of(name: str) -> st.SearchStrategy[Case]:
    sources = sources_of(SCHEDULERS[name])
    poisons = st.one_of([objects(source, name) for source in sources])
    children = [source for source in sources if source.resource.kind in CHILDREN]
    damage = st.one_of([damages(source) for source in children])
    few = st.lists(poisons, max_size=2)
    return st.tuples(few, st.lists(damage, max_size=6), few)


async def live(
    name: str, before: Sequence[Poison], damage: Sequence[Damage], after: Sequence[Poison]
) -> None:
    def stored(world: World) -> None:
        for poison in before:
            world.put(poison)
        for fine in ("good", VICTIM):
            world.put_good_set(fine)

    async with running(SCHEDULERS[name], stored) as world:
        # When there are PodCliques and gangs, and when there are pods and what schedulers need.
        for turn in (0, 1):
            await world.step()
            for done in damage[turn::2]:
                done.apply(world.shelf)
        for poison in after:
            world.put(poison)
        world.put_good_set("late")
        await world.run_until_ready("good", "late")
        for poison in (*before, *after):
            world.take_away(poison)
        await world.step()


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_sets_that_are_fine_become_ready_whatever_is_stored_beside_them(name: str) -> None:
    @trials(4, 600)
    @given(_cases_of(name))
    def survive(case: Case) -> None:
        asyncio.run(live(name, *case))

    survive()
