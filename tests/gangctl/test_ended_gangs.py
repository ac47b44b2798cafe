"""What the verbs report about sets whose jobs have ended."""

from gangctl.rendering import plain
from gangctl.reports.status import status_report, status_view
from gangctl.reports.view import Verdict
from gangctl.reports.why import why_report, why_view
from gangctl.snapshot import Snapshot
from shared_api.kube.codec import LooseObject
from tests.gangctl.scene import PASSED, a_gang, a_set, conditions, snapshot

FAILURE = "replica 0 failed after 3 restarts, maxRestarts is 3: pod x failed: main exited with 1"


def ended(item: LooseObject, kind: str, message: str) -> LooseObject:
    """The object with a condition that it has ended."""
    entry = {"type": kind, "status": "True", "reason": "X", "message": message}
    moment = {"lastTransitionTime": "2026-03-01T12:00:00Z"}
    found = [*item.status["conditions"], {**entry, **moment}]
    item.status["conditions"] = found
    return item


def completed() -> Snapshot:
    ready = {**conditions("Ready")[0], "reason": "Completed", "message": "1/1 replicas completed"}
    gang = ended(a_gang("training", 12, "Succeeded", conditions(*PASSED)), "Completed", "done")
    return snapshot(sets=[a_set("training", [ready], 1)], gangs=[gang])


def failed() -> Snapshot:
    found = conditions("Stalled", Ready=("JobFailed", FAILURE))
    gang = ended(a_gang("training", 12, "Failed", conditions(*PASSED)), "Failed", FAILURE)
    return snapshot(sets=[a_set("training", found, 0)], gangs=[gang])


def why(found: Snapshot) -> tuple[str, Verdict]:
    report = why_report(found, "default", "training")
    assert report is not None
    return plain(why_view(report)), report.verdict


def test_a_set_that_is_completed_is_fine_and_shown_as_such() -> None:
    report = status_report(completed())
    assert report.verdict is Verdict.FINE
    assert "1/1 replicas completed" in plain(status_view(report, all_namespaces=False))
    text, verdict = why(completed())
    assert verdict is Verdict.FINE
    assert text.startswith("training-0  Succeeded")
    assert "✗" not in text, "no stage is shown as one that it waits for"


def test_a_set_that_failed_requires_manual_action_and_has_the_cause() -> None:
    report = status_report(failed())
    assert report.verdict is Verdict.MANUAL_ACTION
    assert FAILURE in plain(status_view(report, all_namespaces=False))
    text, verdict = why(failed())
    assert verdict is Verdict.MANUAL_ACTION
    assert text.startswith("training-0  Failed")
    assert FAILURE in text
