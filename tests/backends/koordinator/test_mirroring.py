"""What a gang says in Koordinator's name, and when it says nothing."""

from backend_controllers.contract.declaration import Report
from backend_controllers.koordinator.api import KEY_QUOTA
from backend_controllers.koordinator.installation import KoordinatorFeatures
from backend_controllers.koordinator.mirroring import NOT_TRIED, mirror
from tests.backends.koordinator.kit import (
    Known,
    gang,
    installed,
    members,
    pod,
    quotas,
    unschedulable,
    written,
)

GANG = gang()
FULL = unschedulable(
    'GangGroup "t/a,t/b" gets rejected due to member Pod "t/p" is unschedulable with reason'
    ' "0/2 nodes are available: 2 Insufficient cpu.", alreadyWaitForBound: 2.'
)


def test_a_gang_that_is_scheduled_reports_nothing() -> None:
    assert mirror(installed(), GANG, Known(members(GANG, node="n"), (), written(GANG))) == Report()


def test_a_gang_without_capacity_reports_how_much_of_it_fits() -> None:
    facts = Known(members(GANG, told=FULL), (), written(GANG))
    said = mirror(installed(), GANG, facts)
    assert said.reason == "Unschedulable"
    assert said.message == "fits 2 of 3: 0/2 nodes are available: 2 Insufficient cpu"


def test_what_was_reported_before_is_not_repeated_of_members_that_are_gated() -> None:
    gated = unschedulable(
        "Scheduling is blocked due to non-empty scheduling gates", "SchedulingGated"
    )
    for told in (FULL, gated):
        facts = Known(members(GANG, gated=True, told=told), (), written(GANG))
        assert mirror(installed(), GANG, facts) == Report()
    assert mirror(installed(), GANG, Known(members(GANG, told=FULL))) == Report()


def test_silence_of_the_scheduler_is_reported_without_a_reason() -> None:
    said = mirror(installed(), GANG, Known(members(GANG), (), written(GANG)))
    assert (said.reason, said.message) == ("", NOT_TRIED)


def test_an_error_of_the_scheduler_is_passed_on() -> None:
    told = unschedulable("binding rejected: pod is gated.", "SchedulerError")
    said = mirror(installed(), GANG, Known(members(GANG, told=told), (), written(GANG)))
    assert (said.reason, said.message) == ("SchedulerError", "binding rejected: pod is gated")


def test_surplus_that_finds_no_capacity_reports_nothing_about_the_gang() -> None:
    of = gang({"w-0-a": 1}, pods=2)
    pods = (pod(of, "w-0-a", 0, node="n"), pod(of, "w-0-a", 1, told=FULL))
    assert mirror(installed(), of, Known(pods, (), written(of))) == Report()


def test_a_quota_that_does_not_exist_is_remarked_on_until_it_does() -> None:
    pods = members(GANG, node="n", labels={KEY_QUOTA: "red"})
    said = mirror(installed(), GANG, Known(pods, (), {**written(GANG), **quotas("blue")}))
    assert said.remarks[0].startswith("ElasticQuota 'red' does not exist")
    assert (
        mirror(installed(), GANG, Known(pods, (), {**written(GANG), **quotas("red")})) == Report()
    )
    without = installed(KoordinatorFeatures(quotas=False))
    assert mirror(without, GANG, Known(pods, (), written(GANG))) == Report()
