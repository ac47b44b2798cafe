"""A gang that is not bound in time gives back its pods and waits; a whole one never does."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.bind_timeout import BindPlan, plan_binding, wait_seconds
from core_operator.plan.pods.gang_pods import GroupPods, gang_groups, has_gate
from core_operator.plan.release import WaitingFor, plan_release
from core_operator.plan.statuses.podgang import podgang_status
from shared_api.kube.pods import Pod
from shared_api.models import BindAttempt, PodGang, PodGangStatus, SchedulerBackendSpec
from tests.plan.pod_samples import BOUND, CLIQUE, GATE, GATED, NOW, READY, RELEASED, podclique
from tests.plan.release_kit import PROGRAMMED, gang_of, pods_in
from tests.plan.samples import QUICK, chosen, record

SECONDS = 300
TIMED = record("", release={"bindTimeoutSeconds": SECONDS, "surplus": "AfterScheduled"})
EARLIER, LATER = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)
STATES = st.sampled_from((GATED, RELEASED, BOUND, READY))
MOMENTS = st.sampled_from((None, EARLIER, NOW, LATER))
ATTEMPTS = st.builds(
    BindAttempt,
    failures=st.integers(0, 9),
    bound=st.sampled_from((None, 1)),
    deadline=MOMENTS,
    retry_at=MOMENTS,
)


class Case:
    """A gang of one group in some state, and what is planned for it."""

    def __init__(
        self,
        pods: list[Pod],
        minimum: int,
        attempt: BindAttempt | None = None,
        backend: SchedulerBackendSpec = TIMED,
    ) -> None:
        self.backend = backend
        self.gang = _with(gang_of(pods, minimum, PROGRAMMED), attempt)
        cliques = {CLIQUE: podclique(len(pods), minimum)}
        self.groups: tuple[GroupPods, ...] = gang_groups(self.gang, pods, cliques)

    def plan(self, now: datetime = NOW, *, may_release: bool = True) -> BindPlan:
        release = plan_release(self.gang, self.groups, self.backend)
        return plan_binding(
            self.gang, self.groups, self.backend, release, now, may_release=may_release
        )

    @property
    def is_scheduled(self) -> bool:
        return all(group.is_scheduled for group in self.groups)


def _with(gang: PodGang, attempt: BindAttempt | None) -> PodGang:
    status = gang.status or PodGangStatus()
    return gang.model_copy(update={"status": status.model_copy(update={"bind_attempt": attempt})})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    states = draw(st.lists(STATES, min_size=1, max_size=5))
    minimum = draw(st.integers(1, len(states)))
    return Case(pods_in(*states), minimum, draw(st.none() | ATTEMPTS))


@QUICK
@given(cases())
def test_a_gang_whose_minimum_is_bound_is_never_given_back(case: Case) -> None:
    if case.is_scheduled:
        assert case.plan().give_back == ()
        assert case.plan().attempt is None


@QUICK
@given(cases())
def test_a_gang_is_given_back_whole_and_nothing_of_it_is_ungated_meanwhile(case: Case) -> None:
    plan = case.plan()
    if plan.give_back:
        ungated = [p for group in case.groups for p in group.live if not has_gate(p, GATE)]
        assert list(plan.give_back) == ungated
        assert plan.release.ungate == ()
        assert plan.attempt is not None
        assert plan.attempt.retry_at is not None


@QUICK
@given(cases())
def test_nothing_is_ungated_before_its_deadline_is_stored(case: Case) -> None:
    plan, is_first = case.plan(), all(p.has_our_gate for group in case.groups for p in group.live)
    needs = sum(group.minimum for group in case.groups)
    if plan.release.ungate and is_first and needs > 1:
        assert plan.attempt is not None
        assert plan.attempt.deadline is not None
        assert NOW < plan.attempt.deadline <= NOW + timedelta(seconds=SECONDS)
        assert plan.due == plan.attempt.deadline


@QUICK
@given(cases())
def test_what_was_planned_is_planned_again_after_a_crash(case: Case) -> None:
    plan = case.plan()
    live = [p for group in case.groups for p in group.live]
    again = Case(live, case.groups[0].minimum, plan.attempt).plan()
    assert again.attempt == plan.attempt
    assert again.give_back == plan.give_back
    assert again.release.ungate == plan.release.ungate


@QUICK
@given(cases())
def test_without_a_timeout_nothing_is_different(case: Case) -> None:
    live = [p for group in case.groups for p in group.live]
    plain = Case(live, case.groups[0].minimum, BindAttempt(deadline=EARLIER), record(""))
    release = plan_release(plain.gang, plain.groups, plain.backend)
    assert plain.plan() == BindPlan(release)


@QUICK
@given(st.text(), st.integers(1, 1000), st.integers(1, 86400))
def test_a_wait_is_bounded(uid: str, failures: int, timeout: int) -> None:
    assert 0.1 * timeout <= wait_seconds(uid, failures, timeout) <= 6 * timeout


def test_waits_grow_and_those_of_two_gangs_differ() -> None:
    waits = [wait_seconds("a", failures, SECONDS) for failures in range(1, 10)]
    assert waits[4] > waits[0]
    apart = [
        abs(wait_seconds("a", failures, SECONDS) - wait_seconds("b", failures, SECONDS))
        for failures in range(1, 10)
    ]
    # Two gangs that met again and again are apart by more than a scheduler needs to bind one.
    assert max(apart) > 30


def test_a_gang_in_part_is_given_back_at_its_deadline_and_reports_the_numbers() -> None:
    pods = pods_in(BOUND, BOUND, RELEASED, RELEASED)
    starting = Case(pods, 4, BindAttempt(deadline=LATER)).plan()
    assert (starting.give_back, starting.due) == ((), LATER)
    plan = Case(pods, 4, BindAttempt(failures=1, bound=3, deadline=NOW)).plan()
    assert len(plan.give_back) == 4
    assert plan.attempt is not None
    assert (plan.attempt.failures, plan.attempt.bound, plan.attempt.deadline) == (2, 2, None)
    assert plan.release.reason is WaitingFor.BIND_TIMEOUT
    assert plan.release.message.startswith("2/4 pods bound within 300 s, given back; attempt 3 at ")
    assert "w-0: 2/4 pods bound" in plan.failure


def test_a_gang_that_gave_back_its_pods_waits_and_then_starts_with_a_new_deadline() -> None:
    pods = pods_in(GATED, GATED)
    waiting = Case(pods, 2, BindAttempt(failures=1, bound=1, retry_at=LATER)).plan()
    assert (waiting.release.ungate, waiting.due, waiting.failure) == ((), LATER, "")
    starting = Case(pods, 2, BindAttempt(failures=1, bound=1, retry_at=NOW)).plan()
    assert len(starting.release.ungate) == 2
    assert starting.attempt is not None
    assert starting.attempt.deadline == NOW + timedelta(seconds=SECONDS)
    assert (starting.attempt.failures, starting.attempt.retry_at) == (1, None)


def test_a_gang_that_may_not_be_released_has_no_deadline() -> None:
    plan = Case(pods_in(GATED, GATED), 2).plan(may_release=False)
    assert (plan.attempt, plan.due) == (None, None)


def test_a_gang_that_ran_and_lost_a_pod_keeps_the_others() -> None:
    plan = Case(pods_in(READY, READY, RELEASED), 3).plan(NOW + timedelta(days=1))
    assert (plan.give_back, plan.attempt) == ((), None)


def test_a_gang_of_one_pod_holds_no_half_and_has_no_deadline() -> None:
    plan = Case(pods_in(GATED), 1).plan()
    assert (len(plan.release.ungate), plan.attempt) == (1, None)


def test_the_status_reports_when_a_gang_is_given_back_and_until_when_it_waits() -> None:
    def released(case: Case) -> tuple[object, object, object]:
        plan = case.plan()
        choice = chosen("example", "")
        status = podgang_status(case.gang, choice, case.backend, plan.release, NOW, plan)
        conditions = status["conditions"]
        assert isinstance(conditions, list)
        (found,) = (c for c in conditions if isinstance(c, dict) and c["type"] == "Released")
        return found["status"], found["message"], status.get("bindAttempt")

    is_released, message, attempt = released(
        Case(pods_in(BOUND, RELEASED), 2, BindAttempt(deadline=LATER))
    )
    assert is_released == "True"
    assert "attempt 1: all pods are given back at 2026-03-01T12:00:01Z unless 2 are" in str(message)
    assert attempt == {"deadline": "2026-03-01T12:00:01.987654Z"}
    is_released, message, attempt = released(
        Case(pods_in(BOUND, RELEASED), 2, BindAttempt(deadline=NOW))
    )
    assert is_released == "False"
    assert str(message).startswith("1/2 pods bound within 300 s")
    assert isinstance(attempt, dict)
    assert (attempt["failures"], attempt["bound"]) == (1, 1)


def test_a_lost_record_does_not_make_core_forget_the_failures() -> None:
    case = Case(pods_in(GATED, GATED), 2, BindAttempt(failures=3, retry_at=NOW))
    status = podgang_status(case.gang, replace(chosen("x", ""), ok=False), None, None, NOW)
    attempt = status["bindAttempt"]
    assert isinstance(attempt, dict)
    assert attempt["failures"] == 3
