"""Events about children have Grove's reasons, also for what the server refuses."""

from types import SimpleNamespace
from typing import Any

import pytest

from core_operator.controllers.statuses import has_lost_all
from core_operator.writes.child_events import ChildEvents
from shared_api.kube.errors import ApiError, Status, StatusCause, StatusDetails, from_status
from tests.plan.pod_samples import podclique

ABOUT = podclique()
DENIED = from_status(Status(code=403, reason="Forbidden", message="policy x denies it"))
INVALID = from_status(Status(code=422, reason="Invalid", message="spec is wrong"))
OVER_QUOTA = from_status(Status(code=403, reason="Forbidden", message="exceeded quota: pods"))
ENDING = from_status(
    Status(
        code=403,
        reason="Forbidden",
        message="the namespace is being terminated",
        details=StatusDetails(causes=(StatusCause(reason="NamespaceTerminating"),)),
    )
)
CONFLICT = from_status(Status(code=409, reason="Conflict", message="changed meanwhile"))


class Told:
    """Keeps the Events that are recorded."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def record_event(self, _: Any, reason: str, note: str, *, warning: bool = False) -> None:
        self.events.append((reason, f"warning: {note}" if warning else note))

    def after(self, events: ChildEvents, owner: str = "") -> list[tuple[str, str]]:
        context: Any = self
        events.record(context, ABOUT, owner=owner)
        return self.events


def refused(child: str, error: ApiError, *, deletion: bool = False) -> ChildEvents:
    events = ChildEvents()
    doing = events.deleting if deletion else events.writing
    with pytest.raises(ApiError), doing(child):
        raise error
    return events


@pytest.mark.parametrize(
    ("child", "owner", "created", "write_refused", "deletion_refused"),
    [
        ("Pod p", "PodClique", "PodCreateSuccessful", "PodCreateFailed", "PodDeleteFailed"),
        (
            "PodClique c",
            "PodCliqueSet",
            "PodCliqueCreateOrUpdateSuccessful",
            "PodCliqueCreateOrUpdateFailed",
            "PodCliqueDeleteFailed",
        ),
        (
            "PodClique c",
            "PodCliqueScalingGroup",
            "PodCliqueCreateSuccessful",
            "PodCliqueCreateFailed",
            "PodCliqueDeleteFailed",
        ),
        (
            "PodCliqueScalingGroup g",
            "PodCliqueSet",
            "PodCliqueScalingGroupCreateSuccessful",
            "PodCliqueScalingGroupCreateOrUpdateFailed",
            "PodCliqueScalingGroupDeleteFailed",
        ),
        (
            "PodGang g",
            "PodCliqueSet",
            "PodGangCreateOrUpdateSuccessful",
            "PodGangCreateOrUpdateFailed",
            "PodGangDeleteFailed",
        ),
        (
            "ComputeDomain d",
            "PodCliqueSet",
            "ComputeDomainCreateSuccessful",
            "ComputeDomainCreateFailed",
            "ComputeDomainDeleteFailed",
        ),
    ],
)
def test_reasons_are_those_of_grove(
    child: str, owner: str, created: str, write_refused: str, deletion_refused: str
) -> None:
    done = ChildEvents()
    with done.writing(child):
        pass
    done.created(child)
    assert Told().after(done, owner) == [(created, f"Created {child}")]
    for error in (DENIED, INVALID):
        told = Told().after(refused(child, error), owner)
        assert told == [(write_refused, f"warning: {child} is refused: {error}")]
    told = Told().after(refused(child, DENIED, deletion=True), owner)
    assert told == [(deletion_refused, f"warning: deletion of {child} is refused: {DENIED}")]


@pytest.mark.parametrize("error", [OVER_QUOTA, ENDING, CONFLICT])
def test_what_ends_by_itself_is_no_failure(error: ApiError) -> None:
    assert Told().after(refused("Pod p", error)) == []


def test_what_was_recorded_is_not_recorded_again() -> None:
    events, told = refused("PodGang g", DENIED), Told()
    events.created("PodGang h")
    assert len(told.after(events)) == 2
    assert len(told.after(events)) == 2


def test_kinds_for_which_grove_has_no_reason_have_no_event() -> None:
    assert Told().after(refused("Service s", DENIED)) == []


@pytest.mark.parametrize(
    ("before", "after", "replicas", "lost"),
    [(2, 0, 2, True), (2, 1, 2, False), (0, 0, 2, False), (2, 0, 0, False), (None, 0, 2, False)],
)
def test_scheduled_replicas_are_lost_when_none_is_left(
    before: int | None, after: int, replicas: int, *, lost: bool
) -> None:
    status = None if before is None else SimpleNamespace(scheduled_replicas=before)
    about: Any = SimpleNamespace(status=status, spec=SimpleNamespace(replicas=replicas))
    assert has_lost_all(about, {"scheduledReplicas": after}) is lost
