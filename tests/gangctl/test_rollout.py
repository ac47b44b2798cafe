"""How far an update is, and which patch restarts a set or brings back a revision."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from gangctl.reports.rollout import (
    RESTARTED,
    ListedRevision,
    NoRevisionError,
    restart_patch,
    rollout_report,
    undo_patch,
    wanted_revision,
)
from gangctl.reports.view import Verdict
from shared_api.kube.codec import LooseObject
from tests.gangctl.scene import NOW, made, metadata


def template(image: str, **more: Any) -> dict[str, Any]:
    return {"podSpec": {"containers": [{"name": "main", "image": image}]}, **more}


def revision(number: int, **data: Any) -> ListedRevision:
    hashes = json.dumps({"": f"hash-{number}"})
    found: ListedRevision = made(
        ListedRevision,
        metadata=metadata(f"w-{number}", annotations={"grove.io/pod-template-hashes": hashes}),
        revision=number,
        data={"cliques": {"a": template(f"app:{number}")}, **data},
    )
    return found


def a_set(current: int = 2, **status: Any) -> Any:
    clique = {
        "name": "a",
        "annotations": {"grove.io/mnnvl-group": "none", "team": "x"},
        "spec": {"replicas": 2, "podSpec": template(f"app:{current}")["podSpec"]},
    }
    return made(
        LooseObject,
        metadata=metadata("w", generation=5, resourceVersion="7"),
        spec={"replicas": 3, "template": {"cliques": [clique]}},
        status={
            "observedGeneration": 5,
            "updatedReplicas": 3,
            "currentGenerationHash": f"hash-{current}",
            **status,
        },
    )


REVISIONS = [revision(1), revision(2), revision(3)]


def progress(**status: Any) -> tuple[Verdict, str]:
    report = rollout_report(a_set(**status), REVISIONS, NOW)
    return report.verdict, report.message


def test_an_update_is_complete_when_all_replicas_are_updated_and_available() -> None:
    assert progress() == (Verdict.FINE, "3/3 replicas updated and available")


def test_a_change_that_the_operator_has_not_seen_is_not_complete() -> None:
    assert progress(observedGeneration=4)[0] is Verdict.WAITING


def test_an_update_in_progress_shows_the_condition_of_the_set() -> None:
    updating = {"type": "Updating", "status": "True", "reason": "Updating", "message": "1/3"}
    assert progress(conditions=[updating], updatedReplicas=1) == (Verdict.WAITING, "1/3")
    late = {**updating, "reason": "ProgressDeadlineExceeded"}
    assert progress(conditions=[late], updatedReplicas=1)[0] is Verdict.MANUAL_ACTION


def test_the_current_revision_is_the_one_that_the_status_names() -> None:
    report = rollout_report(a_set(2), REVISIONS, NOW)
    assert [(row.number, row.current) for row in report.revisions] == [
        (3, False),
        (2, True),
        (1, False),
    ]


def test_undo_goes_to_the_revision_before_the_current_one_never_forward() -> None:
    assert wanted_revision(a_set(3), REVISIONS, None).revision == 2
    assert wanted_revision(a_set(2), REVISIONS, None).revision == 1
    assert wanted_revision(a_set(1), REVISIONS, 3).revision == 3
    with pytest.raises(NoRevisionError, match="stored revisions: 1, 2, 3"):
        wanted_revision(a_set(1), REVISIONS, None)


def test_undo_changes_templates_and_keeps_sizes_and_keys_of_the_product() -> None:
    operations, cliques = undo_patch(a_set(2), revision(1))
    assert cliques == ["a"]
    assert {str(operation["path"]): operation.get("value") for operation in operations} == {
        "/spec/template/cliques/0/spec/podSpec": template("app:1")["podSpec"],
        "/spec/template/cliques/0/annotations": {"grove.io/mnnvl-group": "none"},
    }


def test_undo_brings_back_the_priority_class_and_its_absence() -> None:
    operations, _ = undo_patch(a_set(2), revision(1, priorityClassName="high"))
    assert operations[-1]["value"] == "high"
    item = a_set(2)
    item.spec["template"]["priorityClassName"] = "high"
    operations, _ = undo_patch(item, revision(1))
    assert operations[-1] == {"op": "remove", "path": "/spec/template/priorityClassName"}


def test_undo_to_the_present_templates_changes_nothing() -> None:
    item = a_set(2)
    item.spec["template"]["cliques"][0]["annotations"] = {}
    assert undo_patch(item, revision(2)) == ([], [])


def test_a_revision_with_other_cliques_is_refused() -> None:
    other = revision(1, cliques={"b": template("app:1")})
    with pytest.raises(NoRevisionError, match="other cliques than the set: a, b"):
        undo_patch(a_set(2), other)


def test_restart_marks_the_templates_and_keeps_other_annotations() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    (operation,) = restart_patch(a_set(), (), moment)
    assert operation["value"] == {
        "grove.io/mnnvl-group": "none",
        "team": "x",
        RESTARTED: "2026-01-01T00:00:00+00:00",
    }
    assert restart_patch(a_set(), ["b"], moment) == []
