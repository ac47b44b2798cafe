"""What every backend must do, from a PodCliqueSet to bound, ready pods; each with a middle.

In the middle something may be away. What happens then, and what is true at the end, is the same
as if nothing had been.
"""

import contextlib
from collections.abc import Awaitable, Callable

from core_operator.state.caches import GANGS, GROUPS, SETS
from local_cluster.simulation.stages import TERMINATES_AFTER
from shared_api import names
from shared_api.kube.errors import NotFound
from shared_api.kube.resources import PODS
from tests.backends.suite.interruptions import Away
from tests.backends.suite.leftovers import until_nothing_is_left
from tests.backends.suite.stage import SECONDS, Stage
from tests.core.kit import gates

Scenario = Callable[[Stage, Away], Awaitable[None]]


async def fits(stage: Stage, away: Away) -> None:
    """A gang that there is room for is bound whole."""
    await stage.add_nodes(3)
    async with away() as unserved:
        await stage.create("w", {"a": 2, "b": 1})
        if unserved:
            await stage.until_unavailable("w")
            assert stage.bound("w-0") == []
    await stage.until_runs("w")
    assert len(set(stage.bound("w-0"))) == 3
    assert stage.said("w-0", "Scheduled")["message"] == "3/3 pods scheduled"
    assert not any(map(gates, stage.pods("w-0")))


async def waits_for_room(stage: Stage, away: Away) -> None:
    """A gang that does not fit binds nothing and says why, until there is room."""
    await stage.add_nodes(2)
    await stage.create("w", {"a": 3})
    await stage.until_short("w", nodes=2, fits=2, of=3)
    assert stage.bound("w-0") == []
    async with away():
        await stage.add_nodes(1)
    await stage.until_runs("w")
    assert len(set(stage.bound("w-0"))) == 3


async def competes(stage: Stage, away: Away) -> None:
    """Of two gangs with room for one, exactly one runs; the other follows when that goes."""
    await stage.add_nodes(3)
    for name in ("v", "w"):
        await stage.create(name, {"a": 2})

    def is_decided() -> bool:
        running = [name for name in ("v", "w") if stage.runs(name)]
        short = [name for name in ("v", "w") if stage.is_short(name, nodes=3, fits=1, of=2)]
        return len(running) == len(short) == 1

    await stage.person.until(is_decided, SECONDS)
    winner, loser = ("v", "w") if stage.runs("v") else ("w", "v")
    assert stage.bound(f"{loser}-0") == []
    async with away():
        await stage.delete(winner)
    await stage.until_runs(loser)


async def is_resized(stage: Stage, away: Away) -> None:
    """Scaled out, in, and deleted: new gangs run, and of those that go nothing is left."""
    await stage.add_nodes(1)
    cliques = [stage.clique(role, 1, cpu="1") for role in ("a", "b")]
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}
    await stage.create_of("w", cliques, podCliqueScalingGroups=[group])
    await stage.until_runs("w")
    person = stage.person
    await person.scale(GROUPS, "w-0-s", 2)
    await stage.until_runs("w", "w-0", "w-0-s-0")
    async with away():
        await person.scale(SETS, "w", 2)
    await stage.until_runs("w", "w-0", "w-0-s-0", "w-1")
    assert len(person.pods) == 5
    await person.scale(SETS, "w", 1)
    await person.scale(GROUPS, "w-0-s", 1)
    await person.until(lambda: len(person.pods) == 2, SECONDS)
    await stage.until_runs("w")
    await stage.delete("w")
    await until_nothing_is_left(stage)


async def is_preempted(stage: Stage, away: Away) -> None:
    """A gang of higher priority takes the room; the other says so, and comes back after it."""
    await stage.add_nodes(2)
    low, high = [await stage.priority_class(value) for value in (10, 90)]
    # As programs do that finish what they are at.
    victims = stage.clique("a", 2, podSpec={"terminationGracePeriodSeconds": 30})
    victims["annotations"] = {TERMINATES_AFTER: stage.contender.farewell}
    await stage.create_of("low", [victims], priorityClassName=low, **stage.rank(10))
    await stage.until_runs("low")
    await stage.create("high", {"a": 2}, priorityClassName=high, **stage.rank(90))

    def is_told() -> bool:
        target = stage.said("low-0", names.CONDITION_DISRUPTION_TARGET)
        return bool(target.get("status") == "True" and target["message"])

    await stage.person.until(is_told, SECONDS)
    await stage.until_runs("high")
    await stage.person.until(
        lambda: stage.said("low-0", "Scheduled").get("status") == "False", SECONDS
    )
    assert stage.bound("low-0") == []
    async with away():
        await stage.delete("high")
    await stage.until_runs("low")
    await stage.person.until(lambda: not is_told(), SECONDS)


async def loses_its_gang(stage: Stage, away: Away) -> None:
    """A gang that is deleted while its pods wait for nodes starts whole, and not before."""
    person = stage.person
    await stage.add_nodes(1)
    await stage.create("w", {"a": 2, "b": 3})

    def waits() -> bool:
        pods, said = stage.pods("w-0"), stage.said("w-0", "Scheduled")
        is_told = said.get("message", "").startswith("0/5 pods scheduled (a 0/2, b 0/3): ")
        return len(pods) == 5 and not any(map(gates, pods)) and is_told

    await person.until(waits, SECONDS)
    first, lost = person.one(GANGS, "w-0"), stage.pods("w-0")[0]
    async with away():
        await person.delete(first, GANGS)
        # Core may have been faster: it recreates all pods that wait.
        with contextlib.suppress(NotFound):
            await person.delete(lost, PODS)

    def waits_again() -> bool:
        gang = person.get(GANGS, "w-0")
        return gang is not None and gang.metadata.uid != first.metadata.uid and waits()

    await person.until(waits_again, SECONDS)
    assert stage.bound("w-0") == []
    await stage.add_nodes(4)
    await stage.until_runs("w")
    assert len(set(stage.bound("w-0"))) == 5


SCENARIOS: tuple[Scenario, ...] = (fits, waits_for_room, competes, is_resized, is_preempted)
