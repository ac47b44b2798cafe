"""Gangs that are to stay together: required and preferred, and refused where nobody can do it."""

import pytest

from core_operator.state.caches import SETS
from shared_api import names
from tests.backends.suite.contender import CONTENDERS, GANG, GROUP, PREFERRED_GANG, listed
from tests.backends.suite.stage import SECONDS, Stage
from tests.core.kit import Object, condition

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

RACK = "example.com/rack"


def _those(*capabilities: str, can: bool) -> pytest.MarkDecorator:
    """Contenders that can do all of it, or that cannot."""
    found = [c for c in CONTENDERS if c.topology.issuperset(capabilities) is can]
    return pytest.mark.parametrize("contender", listed(found), indirect=True)


def _packed(topology: str, **pack: str) -> Object:
    return {"topologyConstraint": {"topologyName": topology, "pack": pack}}


async def _racks(stage: Stage, **sizes: int) -> tuple[str, dict[str, str]]:
    """A topology of racks with so many nodes each; its name, and the rack of every node."""
    topology = await stage.binding(rack=RACK)
    rack_of = {}
    for rack, size in sizes.items():
        await stage.domain(RACK, rack)
        for node in await stage.add_nodes(size, **{RACK: rack}):
            rack_of[node] = rack
    return topology, rack_of


@_those(GANG, can=True)
async def test_a_gang_is_scheduled_in_the_one_rack_that_has_capacity_for_it(stage: Stage) -> None:
    topology, rack_of = await _racks(stage, one=1, two=2, three=1)
    await stage.create("w", {"a": 1, "b": 1}, **_packed(topology, required="rack"))
    await stage.until_runs("w")
    assert [rack_of[node] for node in stage.bound("w-0")] == ["two", "two"]


@_those(GANG, can=True)
async def test_a_gang_that_no_rack_has_capacity_for_binds_nothing_until_one_has(
    stage: Stage,
) -> None:
    topology, rack_of = await _racks(stage, one=1, two=1)
    await stage.create("w", {"a": 2}, **_packed(topology, required="rack"))
    await stage.person.until(
        lambda: stage.contender.cramped in stage.said("w-0", "Scheduled").get("message", ""),
        SECONDS,
    )
    assert stage.bound("w-0") == []
    (more,) = await stage.add_nodes(1, **{RACK: "two"})
    rack_of[more] = "two"
    await stage.until_runs("w")
    assert [rack_of[node] for node in stage.bound("w-0")] == ["two", "two"]


@_those(GROUP, can=True)
async def test_a_clique_keeps_together_within_a_gang_that_does_not(stage: Stage) -> None:
    topology, rack_of = await _racks(stage, one=1, two=2)
    workers = {**stage.clique("a", 2), **_packed(topology, required="rack")}
    await stage.create_of("w", [workers, stage.clique("b", 1)])
    await stage.until_runs("w")
    by_role = {
        role: sorted(
            rack_of[pod.spec["nodeName"]] for pod in stage.person.pods_of(f"w-0-{role}").values()
        )
        for role in ("a", "b")
    }
    assert by_role == {"a": ["two", "two"], "b": ["one"]}


@_those(PREFERRED_GANG, can=True)
async def test_what_is_preferred_is_done_where_it_can_be(stage: Stage) -> None:
    topology, rack_of = await _racks(stage, one=1, two=2, three=1)
    await stage.create("w", {"a": 2}, **_packed(topology, preferred="rack"))
    await stage.until_runs("w")
    assert [rack_of[node] for node in stage.bound("w-0")] == ["two", "two"]


async def test_what_is_preferred_never_keeps_a_gang_waiting(stage: Stage) -> None:
    topology, _ = await _racks(stage, one=1, two=1)
    await stage.create("w", {"a": 2}, **_packed(topology, preferred="rack"))
    await stage.until_runs("w")
    assert len(set(stage.bound("w-0"))) == 2
    # Where nobody looks at it, that is said.
    selected = stage.said("w-0", names.CONDITION_BACKEND_SELECTED)["message"]
    is_ignored = PREFERRED_GANG not in stage.contender.topology
    assert ("ignores preferences: TopologyPreferredGang" in selected) is is_ignored


@_those(GANG, can=False)
async def test_a_rack_required_of_a_gang_is_refused_where_nobody_can_promise_it(
    stage: Stage,
) -> None:
    topology, _ = await _racks(stage, two=2)
    await stage.create("w", {"a": 2}, **_packed(topology, required="rack"))
    await _until_refused(stage, GANG)


@_those(GROUP, can=False)
async def test_a_rack_required_of_a_clique_is_refused_where_nobody_can_promise_it(
    stage: Stage,
) -> None:
    topology, _ = await _racks(stage, two=3)
    workers = {**stage.clique("a", 2), **_packed(topology, required="rack")}
    await stage.create_of("w", [workers, stage.clique("b", 1)])
    await _until_refused(stage, GROUP)


async def _until_refused(stage: Stage, capability: str) -> None:
    """Wait until the gang and its set say what cannot be done; nothing may run."""
    message = f"backend '{stage.contender.backend}' does not support: {capability}"

    def is_said() -> bool:
        gang = stage.said("w-0", names.CONDITION_BACKEND_SELECTED)
        whole = condition(stage.person.get(SETS, "w"), "Ready")
        reasons = {gang.get("reason"), whole.get("reason")}
        told = message in gang.get("message", "") and message in whole.get("message", "")
        return reasons == {names.REASON_UNSUPPORTED} and told

    await stage.person.until(is_said, SECONDS)
    assert stage.bound("w-0") == []
