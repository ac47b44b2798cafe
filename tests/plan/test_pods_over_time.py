"""Whatever happens to pods, their PodClique has the right number of them, each with its index."""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.pods.pod_plan import PodPlan, plan_pods
from core_operator.plan.pods.preparation import Preparation
from shared_api.kube.pods import Pod
from tests.plan.pod_samples import (
    BACKEND,
    BOUND,
    FAILED,
    GATED,
    READY,
    RELEASED,
    SUCCEEDED,
    PodState,
    going,
    pod,
    podclique,
)
from tests.plan.samples import QUICK

STATES = (GATED, RELEASED, BOUND, READY, FAILED, SUCCEEDED)
EVENTS = st.one_of(
    st.tuples(st.sampled_from(["become"]), st.integers(0, 7), st.sampled_from(STATES)),
    st.tuples(st.sampled_from(["evict", "vanish"]), st.integers(0, 7), st.none()),
    st.tuples(st.just("scale"), st.integers(1, 7), st.none()),
    st.tuples(st.just("move"), st.integers(0, 1), st.none()),
)
Event = tuple[str, int, PodState | None]


@dataclass
class World:
    """The pods of one PodClique, and a stranger beside them."""

    replicas: int
    minimum: int
    backend: str = BACKEND
    pods: dict[str, tuple[int, PodState]] = field(default_factory=dict)
    stranger: Pod = field(default_factory=lambda: pod(0, FAILED, name="odd", owner="else"))

    def observed(self) -> list[Pod]:
        own = [pod(index, state, name=name) for name, (index, state) in self.pods.items()]
        return [self.stranger, *own]

    def plan(self) -> PodPlan:
        return plan_pods(
            podclique(self.replicas),
            self.observed(),
            min(self.minimum, self.replicas),
            Preparation(self.backend),
        )

    def carry_out(self, plan: PodPlan) -> None:
        for gone in plan.delete:
            index, state = self.pods[gone.metadata.name]
            self.pods[gone.metadata.name] = (index, going(state))
        for new in plan.create:
            assert new.name not in self.pods, "the name of a pod that still exists"
            self.pods[new.name] = (new.index, replace(GATED, backend=self.backend))

    def happen(self, event: Event) -> None:
        what, number, state = event
        if what == "scale":
            self.replicas = number
        elif what == "move":
            self.backend = f"backend-{number}"
        elif self.pods:
            name = sorted(self.pods)[number % len(self.pods)]
            index, current = self.pods[name]
            if what == "vanish":
                del self.pods[name]
            elif what == "evict":
                self.pods[name] = (index, going(current))
            elif state is not None and not current.terminating:
                self.pods[name] = (index, replace(state, backend=current.backend))

    def live(self) -> list[Pod]:
        return [p for p in self.observed() if p is not self.stranger and p.is_live]


WORLDS = st.builds(World, replicas=st.integers(1, 7), minimum=st.integers(1, 7))


@QUICK
@given(WORLDS, st.lists(st.lists(EVENTS, max_size=4), max_size=8))
def test_one_step_always_leads_to_the_right_pods(world: World, rounds: list[list[Event]]) -> None:
    for events in [[], *rounds]:
        for event in events:
            world.happen(event)
        plan = world.plan()
        kept = {p.index: p.metadata.uid for p in plan.keep}
        assert world.stranger not in plan.delete
        world.carry_out(plan)
        live = world.live()
        indexes = [p.index for p in live]
        members = min(world.minimum, world.replicas)
        assert set(range(members)) <= set(indexes)
        assert len(live) >= world.replicas
        if len(live) > world.replicas:
            # Only for as long as the minimum would not be there without them.
            bound, ready = sum(pod.is_bound for pod in live), sum(p.is_ready for p in live)
            assert min(bound, ready) <= members
        assert len(set(indexes)) == len(indexes), "two live pods with one index"
        assert kept.items() <= {p.index: p.metadata.uid for p in live}.items()
        again = world.plan()
        assert (again.create, again.delete) == ((), ())


@QUICK
@given(WORLDS, st.lists(EVENTS, max_size=12))
def test_scaling_in_never_breaks_the_minimum(world: World, events: list[Event]) -> None:
    world.carry_out(world.plan())
    for event in events:
        world.happen(event)
    before = world.live()
    minimum = min(world.minimum, world.replicas)
    world.carry_out(world.plan())
    after = world.live()
    for is_so in (lambda p: p.is_bound, lambda p: p.is_ready):
        assert sum(map(is_so, after)) >= min(minimum, sum(map(is_so, before)))


@QUICK
@given(WORLDS, st.lists(EVENTS, max_size=12))
def test_equal_pods_in_any_order_give_equal_plans(world: World, events: list[Event]) -> None:
    world.carry_out(world.plan())
    for event in events:
        world.happen(event)
    minimum = min(world.minimum, world.replicas)
    there = world.observed()
    plans = [
        plan_pods(podclique(world.replicas), pods, minimum, Preparation(world.backend))
        for pods in (there, there[::-1])
    ]
    assert plans[0].create == plans[1].create
    assert plans[0].keep == plans[1].keep
    assert {p.metadata.uid for p in plans[0].delete} == {p.metadata.uid for p in plans[1].delete}
