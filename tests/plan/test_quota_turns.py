"""Under a quota gangs take turns in a fair order; as many run as fit, and nobody holds in vain."""

import heapq
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.quota_turns import (
    IDLE_AFTER,
    RESERVED_FOR,
    SECONDS_PER_POD,
    SETTLED_AFTER,
    QuotaGang,
    QuotaState,
    TurnPriority,
    plan_step,
    turn_order,
)
from shared_api.kube.metadata import ObjectKey
from tests.plan.samples import QUICK

NEW, RUNS, BELOW = TurnPriority.NOT_STARTED, TurnPriority.LACKS_SURPLUS, TurnPriority.BELOW_MINIMUM
SAID = "compute, requested: pods=1, used: pods=8, limited: pods=8"


def key(name: str) -> ObjectKey:
    return ObjectKey("n", name)


def contender(
    name: str,
    priority: TurnPriority = NEW,
    *,
    of: tuple[str, str] = ("2026-01-01", "w"),
    at: int = 0,
    gated: int = 0,
    missing: int = 4,
    asks: bool = True,
    base_lacks: bool = False,
) -> QuotaGang:
    shape = (of, priority, gated + missing)
    return QuotaGang(key(name), of, at, shape, priority, gated, missing, asks, base_lacks)


def named(gangs: list[QuotaGang]) -> list[str]:
    return [gang.key.name for gang in gangs]


def test_a_running_gang_below_its_minimum_is_first_and_surplus_is_last() -> None:
    gangs = [contender("surplus", RUNS), contender("new", at=1), contender("below", BELOW, at=2)]
    assert named(turn_order(gangs)) == ["below", "new", "surplus"]


def test_sets_take_turns_by_what_they_have_and_the_older_set_begins() -> None:
    old, young = ("2026-01-01", "z"), ("2026-01-02", "a")
    gangs = [
        contender("z-0", RUNS, of=old, at=0, missing=0, asks=False),
        *(contender(f"z-{at}", of=old, at=at) for at in (1, 2, 3)),
        *(contender(f"a-{at}", of=young, at=at) for at in (0, 1)),
    ]
    assert named(turn_order(gangs)) == ["a-0", "z-1", "a-1", "z-2", "z-3"]


def test_a_thousand_gangs_of_one_set_do_not_keep_another_waiting() -> None:
    many = [contender(f"m-{at}", of=("1", "m"), at=at) for at in range(1000)]
    few = [contender(f"f-{at}", of=("2", "f"), at=at) for at in range(2)]
    assert named(turn_order([*many, *few]))[:4] == ["m-0", "f-0", "m-1", "f-1"]


def test_only_gated_gangs_that_are_incomplete_or_wait_for_their_base_give_back() -> None:
    gangs = [
        contender("turn"),
        contender("part", at=1, gated=2, missing=2),
        contender("whole", at=2, gated=4, missing=0, asks=False),
        contender("runs", RUNS, at=3, missing=1),
        contender("below", RUNS, at=4, missing=3, asks=False),
        contender("scaled", at=5, gated=4, missing=0, asks=False, base_lacks=True),
    ]
    step = plan_step(QuotaState(SAID), gangs, now=0.0)
    assert step.state is not None
    assert step.state.turn == key("turn")
    assert step.give_back == {key("part"), key("scaled")}


def test_nobody_starts_while_a_pod_of_a_running_gang_is_about_to_be_replaced() -> None:
    runs, new = contender("runs", RUNS, missing=0, asks=False), contender("new", at=1)
    state = QuotaState(SAID, turn=key("new"), missing=4).reserve_for(key("runs"), now=0.0)
    step = plan_step(state, [runs, new], now=1.0)
    assert step.state is not None
    assert step.state.turn is None
    below = replace(runs, priority=BELOW, missing=1, asks=True)
    step = plan_step(step.state, [below, new], now=2.0)
    assert step.state is not None
    assert step.state.turn == key("runs")
    step = plan_step(state, [runs, new], now=SETTLED_AFTER)
    assert step.state is not None
    assert step.state.turn == key("new")


def test_a_scaled_gang_has_no_turn_before_its_base_gang() -> None:
    step = plan_step(QuotaState(SAID), [contender("scaled", base_lacks=True)], now=0.0)
    assert step.state is not None
    assert step.state.turn is None


def test_what_a_running_gang_lost_goes_to_nobody_else_before_it_asks() -> None:
    waits, lost = contender("waits"), contender("lost", BELOW, at=1, missing=1, asks=False)
    kept = plan_step(QuotaState(SAID), [waits, lost], now=0.0)
    assert kept.state is not None
    assert kept.state.turn is None
    assert kept.again_in == RESERVED_FOR
    asked = plan_step(kept.state, [waits, replace(lost, asks=True)], now=1.0)
    assert asked.state is not None
    assert asked.state.turn == key("lost")
    silent = plan_step(kept.state, [waits, lost], now=RESERVED_FOR)
    assert silent.state is not None
    assert silent.state.turn == key("waits")


def test_a_running_gang_below_its_minimum_takes_the_turn_until_it_was_refused() -> None:
    first = plan_step(QuotaState(SAID), [contender("new", gated=2, missing=2)], now=0.0)
    assert first.state is not None
    gangs = [contender("new", gated=2, missing=2), contender("below", BELOW, at=1, missing=1)]
    taken = plan_step(first.state, gangs, now=1.0)
    assert taken.state is not None
    assert taken.state.turn == key("below")
    assert taken.give_back == {key("new")}
    refused = taken.state.refused(key("below"), SAID, now=7.0)
    back = plan_step(refused, gangs, now=7.0)
    assert back.state is not None
    assert back.state.turn == key("new")
    assert plan_step(back.state, gangs, now=9.0).state == back.state


def test_a_refusal_is_final_only_when_no_pod_has_gone_lately() -> None:
    gangs = [contender("a", gated=2, missing=2), contender("b", at=1, missing=3)]
    first = plan_step(QuotaState(SAID).freed(0.0, given_back=True), gangs, now=0.0)
    assert first.state is not None
    assert first.opened
    state = first.state.refused(key("a"), SAID, now=0.1)
    assert not state.may_create(key("a"))
    paused = plan_step(state, gangs, now=0.1)
    assert not paused.opened
    assert paused.again_in == pytest.approx(0.25)
    retried = plan_step(state, gangs, now=SETTLED_AFTER)
    assert retried.opened
    assert retried.state is not None
    state = retried.state.refused(key("a"), SAID, now=SETTLED_AFTER)
    final = plan_step(state, gangs, now=SETTLED_AFTER)
    assert final.state is not None
    assert final.state.turn == key("b")
    assert final.give_back == {key("a")}


def test_a_gang_without_progress_loses_its_turn_and_others_of_its_kind_may_try() -> None:
    gangs = [contender("a", gated=1, missing=3), contender("b", at=1)]
    first = plan_step(QuotaState(SAID), gangs, now=0.0)
    assert first.state is not None
    held = [replace(gangs[0], gated=2, missing=2), gangs[1]]
    moved = plan_step(first.state, held, now=IDLE_AFTER)
    assert moved.state is not None
    assert moved.state.turn == key("a")
    idle = plan_step(moved.state, held, now=2 * IDLE_AFTER)
    assert idle.state is not None
    assert idle.state.turn == key("b")


def test_a_pod_that_went_ends_the_wait_but_not_what_many_deletions_cost() -> None:
    gangs = [contender("a", gated=8, missing=1)]
    first = plan_step(QuotaState(SAID), gangs, now=0.0)
    assert first.state is not None
    refused = plan_step(first.state.refused(key("a"), SAID, now=0.0), gangs, now=0.0)
    assert refused.state is not None
    gone = [contender("a", missing=9)]
    state = refused.state.freed(1.0, given_back=False)
    assert not plan_step(state, gone, now=1.0).opened
    assert plan_step(state, gone, now=8 * SECONDS_PER_POD).opened


def test_a_namespace_where_nobody_asks_is_not_constrained() -> None:
    step = plan_step(QuotaState(SAID), [contender("a", RUNS, missing=1, asks=False)], now=0.0)
    assert step.state is None


def test_a_waiting_gang_reports_the_numbers_and_its_place_unless_it_is_far_back() -> None:
    gangs = [contender(f"w-{at}", at=at) for at in range(14)]
    waits = plan_step(QuotaState(SAID), gangs, now=0.0).waits
    assert waits[0].message == (
        f"gang w-1 waits for ResourceQuota {SAID}. 1 gang is before it."
        " Raise the quota or delete pods"
    )
    far = "gang w-13 waits for quota after more than 10 other gangs. Raise the quota or delete pods"
    assert waits[-1].message == far


@dataclass
class Gang:
    """A gang of the simulation."""

    of: str
    at: int
    size: int
    pods: int = 0
    runs: bool = False


@dataclass
class World:
    """A namespace with a quota whose usage is lowered only some time after pods are gone."""

    quota: int
    lag: float
    gangs: list[Gang]
    now: float = 0.0
    used: int = 0
    writes: int = 0
    state: QuotaState | None = None
    _timers: list[tuple[float, int, int]] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    def create(self, gang: Gang, at_most: int) -> None:
        """Create what is missing, as far as it is wanted and as the quota goes."""
        for _ in range(min(at_most, gang.size - gang.pods)):
            if self.used >= self.quota:
                state = self.state or QuotaState(SAID)
                self.state = state.refused(self.key(gang), SAID, self.now)
                return
            gang.pods += 1
            self.used += 1
            self.writes += 1
        gang.runs = gang.runs or gang.pods == gang.size

    def delete(self, gang: Gang, *, given_back: bool) -> None:
        """Delete all pods of a gang; the quota hears of it later."""
        heapq.heappush(self._timers, (self.now + self.lag, next(self._numbers), gang.pods))
        self.writes += gang.pods
        gang.pods, gang.runs = 0, False
        if self.state is not None:
            self.state = self.state.freed(self.now, given_back=given_back)

    def key(self, gang: Gang) -> ObjectKey:
        return key(f"{gang.of}-{gang.at}")

    def step(self) -> float:
        """One look at the namespace; how long until the next."""
        assert self.state is not None
        step = plan_step(self.state, [self._contender(gang) for gang in self.gangs], self.now)
        self.state = step.state
        by_key = {self.key(gang): gang for gang in self.gangs}
        for gang in map(by_key.__getitem__, step.give_back):
            assert not gang.runs
            self.delete(gang, given_back=True)
        if step.state is not None and step.opened and step.state.turn is not None:
            self.create(by_key[step.state.turn], at_most=self.quota + 1)
            return 0.0
        return step.again_in

    def passes(self, seconds: float) -> None:
        self.now += seconds
        while self._timers and self._timers[0][0] <= self.now:
            self.used -= heapq.heappop(self._timers)[2]

    def lives(self, seconds: float) -> None:
        """Let turns be taken for so long, or until nobody asks."""
        end = self.now + seconds
        while self.state is not None and self.now < end:
            self.passes(max(0.01, self.step()))

    def _contender(self, gang: Gang) -> QuotaGang:
        missing = gang.size - gang.pods
        return contender(
            self.key(gang).name,
            RUNS if gang.runs else NEW,
            of=("1", gang.of),
            at=gang.at,
            gated=0 if gang.runs else gang.pods,
            missing=missing,
            asks=missing > 0,
        )

    @property
    def running(self) -> Counter[str]:
        return Counter(gang.of for gang in self.gangs if gang.runs)

    def assert_nothing_is_held_in_vain(self) -> None:
        turn = self.state.turn if self.state is not None else None
        idle = [gang for gang in self.gangs if not gang.runs and self.key(gang) != turn]
        assert all(gang.pods == 0 for gang in idle)


def sets(**sizes: tuple[int, int]) -> list[Gang]:
    """So many gangs of so many pods of each set."""
    return [Gang(of, at, size) for of, (many, size) in sizes.items() for at in range(many)]


@QUICK
@given(
    size=st.integers(1, 6),
    many=st.integers(1, 8),
    others=st.integers(0, 8),
    quota=st.integers(0, 40),
    lag=st.floats(0, 3),
    spread=st.lists(st.integers(0, 6), min_size=16, max_size=16),
)
def test_as_many_gangs_run_as_fit_from_however_the_quota_was_spread(
    size: int, many: int, others: int, quota: int, lag: float, spread: list[int]
) -> None:
    world = World(quota, lag, sets(a=(many, size), b=(others, size)))
    for gang, most in zip(world.gangs, spread, strict=False):
        world.create(gang, most)
    world.state = world.state or QuotaState(SAID)
    at_first = world.running
    world.lives(300)
    fits = min(quota // size, many + others)
    assert world.running.total() == fits
    world.assert_nothing_is_held_in_vain()
    if not at_first:
        fair = world.running["a"] - world.running["b"]
        assert fair in (0, 1) or world.running["b"] == others or world.running["a"] == many
    # What was spread is given back once, each gang is made once, and a shape that does not fit is
    # tried twelve times in this time.
    assert world.writes <= 2 * quota + size * (many + others) + 2 * 12 * 2 * size


@QUICK
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    quota=st.integers(1, 30),
    lag=st.floats(0, 3),
)
def test_no_gang_waits_that_would_fit_beside_those_that_run(
    sizes: list[int], quota: int, lag: float
) -> None:
    world = World(quota, lag, [Gang(f"s{at}", 0, size) for at, size in enumerate(sizes)])
    for gang in world.gangs:
        world.create(gang, 2)
    world.state = world.state or QuotaState(SAID)
    world.lives(600)
    free = quota - sum(gang.size for gang in world.gangs if gang.runs)
    assert all(gang.runs or gang.size > free for gang in world.gangs)
    world.assert_nothing_is_held_in_vain()


@QUICK
@given(gone=st.lists(st.integers(0, 5), min_size=1, max_size=12), lag=st.floats(0, 2))
def test_what_running_gangs_leave_goes_to_those_that_wait(gone: list[int], lag: float) -> None:
    world = World(12, lag, sets(a=(6, 4), b=(6, 4)))
    world.state = QuotaState(SAID)
    world.lives(60)
    assert world.running == {"a": 2, "b": 1}
    for which in gone:
        ended = [gang for gang in world.gangs if gang.runs][which % 3]
        world.delete(ended, given_back=False)
        world.gangs.remove(ended)
        world.gangs.append(Gang(ended.of, ended.at + 100, 4))
        world.lives(30)
        assert world.running.total() == 3
        assert abs(world.running["a"] - world.running["b"]) == 1
        world.assert_nothing_is_held_in_vain()


def test_a_gang_that_never_fits_costs_little() -> None:
    world = World(900, 1.0, sets(a=(1, 1000)))
    world.create(world.gangs[0], 1000)
    world.lives(7200)
    assert world.running.total() == 0
    assert world.writes <= 900 + 7200 * 4
