"""No plan ever releases a part of a gang, from whatever state it starts."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.pods.gang_pods import BaseState, GroupPods, gang_groups, has_gate
from core_operator.plan.release import Release, plan_release
from shared_api.kube.pods import Pod
from shared_api.models import PodGang, SchedulerBackendSpec
from tests.plan.pod_samples import (
    BOUND,
    FAILED,
    GATE,
    GATED,
    READY,
    RELEASED,
    PodState,
    condition,
    gang,
    going,
    pod,
    podclique,
)
from tests.plan.samples import QUICK, record

STATES = st.sampled_from(
    (
        GATED,
        GATED,
        RELEASED,
        BOUND,
        READY,
        FAILED,
        going(GATED),
        going(READY),
        replace(GATED, gates=("quota", GATE)),
        replace(GATED, gates=("quota",)),
        replace(GATED, backend="other"),
    )
)
CONDITIONS = st.lists(
    st.builds(
        condition,
        st.sampled_from(["Programmed", "Accepted", "Initialized", "Released"]),
        st.sampled_from(["True", "False", "Unknown"]),
    ),
    max_size=4,
)
RECORDS = st.builds(
    lambda surplus, programs, lost: record(
        "", release={"surplus": surplus, "programs": programs, "memberLost": lost}
    ),
    st.sampled_from(["WithMembers", "AfterScheduled"]),
    st.sampled_from(["BeforeRelease", "AfterRelease"]),
    st.sampled_from(["Replace", "RecreateGang"]),
)
BASES = st.sampled_from(
    (None, BaseState("b", 1, 2, is_scheduled=False), BaseState("b", 2, 2, is_scheduled=True))
)


@dataclass(frozen=True)
class Case:
    """A gang in some state, and what is planned for it."""

    gang: PodGang
    groups: tuple[GroupPods, ...]
    record: SchedulerBackendSpec
    base: BaseState | None

    @property
    def plan(self) -> Release:
        return plan_release(self.gang, self.groups, self.record, self.base)

    @property
    def live(self) -> list[Pod]:
        return [p for group in self.groups for p in group.live]

    @property
    def members(self) -> list[Pod]:
        return [p for group in self.groups for p in group.live if group.is_member(p)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = ["w-0-a", "w-0-b"][: draw(st.integers(1, 2))]
    pods: list[Pod] = []
    groups: list[tuple[str, int, list[str]]] = []
    for name in names:
        states: list[PodState] = draw(st.lists(STATES, max_size=4))
        own = [pod(index, state, clique=name) for index, state in enumerate(states)]
        whole = draw(st.booleans())
        referenced = [p.metadata.name for p in own if whole or draw(st.booleans())]
        groups.append((name, draw(st.integers(0, 3)), referenced))
        pods += own
    cliques = {
        name: podclique(draw(st.integers(1, 4)), name=name)
        for name in names
        if draw(st.integers(0, 9))
    }
    of = gang(*groups, conditions=draw(CONDITIONS))
    return Case(of, gang_groups(of, pods, cliques), draw(RECORDS), draw(BASES))


@QUICK
@given(cases())
def test_all_existing_members_go_or_none(case: Case) -> None:
    going_now = {p.metadata.uid for p in case.plan.ungate}
    if going_now:
        still_held = [
            p for p in case.members if has_gate(p, GATE) and p.metadata.uid not in going_now
        ]
        assert still_held == []


@QUICK
@given(cases())
def test_only_pods_of_the_gang_that_carry_our_gate_are_released(case: Case) -> None:
    live = {p.metadata.uid for p in case.live}
    for released in case.plan.ungate:
        assert has_gate(released, GATE)
        assert released.metadata.uid in live


@QUICK
@given(cases())
def test_the_first_release_needs_the_whole_gang_its_backend_and_its_base(case: Case) -> None:
    begun = any(not has_gate(p, GATE) for p in case.live)
    if not case.plan.ungate or begun:
        return
    assert case.gang.status is not None
    true = {c.type for c in case.gang.status.conditions if c.status == "True"}
    after = case.record.release.programs == "AfterRelease"
    assert ("Accepted" if after else "Programmed") in true
    assert case.base is None or case.base.is_scheduled
    for group in case.groups:
        assert group.wanted is not None
        assert len(group.live) >= group.wanted
        assert {p.metadata.name for p in group.live} <= group.referenced


@QUICK
@given(cases())
def test_a_scheduler_that_sees_gangs_after_the_release_knows_no_gang_that_begins(
    case: Case,
) -> None:
    if case.record.release.programs != "AfterRelease" or any(
        p.spec.node_name for p in case.members
    ):
        return
    assert case.gang.status is not None
    true = {c.type for c in case.gang.status.conditions if c.status == "True"}
    released = {p.metadata.uid for p in case.plan.ungate}
    if released & {p.metadata.uid for p in case.members}:
        assert "Programmed" not in true or sum(group.minimum for group in case.groups) == 1


@QUICK
@given(cases())
def test_surplus_that_is_to_wait_is_not_released_before_the_minimum_is_bound(case: Case) -> None:
    if case.record.release.surplus == "WithMembers":
        return
    if not all(group.is_scheduled for group in case.groups):
        members = {p.metadata.uid for p in case.members}
        assert {p.metadata.uid for p in case.plan.ungate} <= members


@QUICK
@given(cases())
def test_whatever_stays_gated_reports_what_it_waits_for(case: Case) -> None:
    plan = case.plan
    held = [p for p in case.live if has_gate(p, GATE)]
    assert bool(plan.message) == bool(plan.reason)
    if len(plan.ungate) < len(held):
        assert plan.message


@QUICK
@given(cases())
def test_no_bound_pod_is_recreated(case: Case) -> None:
    for gone in case.plan.recreate:
        assert gone.spec.node_name == ""
        assert case.record.release.member_lost == "RecreateGang"
