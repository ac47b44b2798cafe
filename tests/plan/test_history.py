"""Pods are compared with stored revisions, so that an upgrade of the program replaces none."""

from typing import Any, cast

import pytest

from core_operator.plan.layout.history import (
    KEPT_REVISIONS,
    StoredRevision,
    expired_revisions,
    hashes_annotation,
    set_hash,
    stored_revision,
    template_hashes,
)
from core_operator.plan.layout.revisions import revision_manifest, template_hash
from shared_api import names
from shared_api.models import PodCliqueSet
from tests.plan.samples import clique, group, pod_clique_set, pod_spec


def workload(a: int = 1, b: int = 1) -> PodCliqueSet:
    return pod_clique_set(
        clique("a", pod=pod_spec(version=a)),
        clique("b", pod=pod_spec(version=b)),
        clique("c"),
        groups=(group("s", "b", "c"),),
        priorityClassName="high",
    )


def stored(pcs: PodCliqueSet, number: int = 1, annotation: str = "") -> StoredRevision:
    manifest = cast("dict[str, Any]", revision_manifest(pcs, number, annotation))
    annotations = manifest["metadata"].get("annotations", {})
    return stored_revision(number, annotations, manifest["data"])


def test_templates_that_a_stored_revision_has_keep_the_hashes_that_they_were_given() -> None:
    older = hashes_annotation("set-1", {"a": "a-1", "b": "b-1", "c": "c-1"})
    history = [stored(workload(), annotation=older)]
    assert template_hashes(workload(), history) == {"a": "a-1", "b": "b-1", "c": "c-1"}
    assert set_hash(workload(), history) == "set-1"


def test_only_what_changed_gets_a_new_hash() -> None:
    older = hashes_annotation("set-1", {"a": "a-1", "b": "b-1", "c": "c-1"})
    history = [stored(workload(), annotation=older)]
    changed = template_hashes(workload(a=2), history)
    assert (changed["b"], changed["c"]) == ("b-1", "c-1")
    assert changed["a"] not in ("a-1", "")
    assert set_hash(workload(a=2), history) != "set-1"


def test_the_cliques_of_a_group_are_updated_together() -> None:
    before, after = template_hashes(workload(), ()), template_hashes(workload(b=2), ())
    assert before["a"] == after["a"]
    assert before["b"] != after["b"]
    assert before["c"] != after["c"]


def test_going_back_to_a_stored_revision_gives_its_hashes_again() -> None:
    first = stored(workload(), 1)
    second = stored(workload(a=2), 2)
    assert template_hashes(workload(), [second, first])["a"] == first.hashes["a"]


def test_a_revision_from_before_hashes_were_stored_has_those_of_that_time() -> None:
    history = [stored(workload())]
    template = workload().spec.template
    assert template_hashes(workload(), history) == {
        one.name: template_hash(one, template.priority_class_name) for one in template.cliques
    }


@pytest.mark.parametrize("annotation", ["", "nonsense", "[]", '{"a": 1}'])
def test_an_annotation_that_somebody_broke_is_as_good_as_none(annotation: str) -> None:
    manifest = cast("dict[str, Any]", revision_manifest(workload()))
    broken = {names.ANNOTATION_TEMPLATE_HASHES: annotation}
    found = stored_revision(1, broken, manifest["data"])
    assert found.hashes == found.digests
    assert found.set_hash == set_hash(workload(), ())


def test_old_revisions_go_and_the_current_one_never_does() -> None:
    history = {f"r{number}": StoredRevision(number) for number in range(KEPT_REVISIONS + 3)}
    assert expired_revisions(history, "r0") == ("r2", "r1")
