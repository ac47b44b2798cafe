"""What users read has Kubernetes' words: the words that we avoid do not come back."""

import pytest

from tests.docs.language import (
    AREAS,
    CHECKED,
    RULES,
    all_text,
    literals,
    offences,
    prose,
    remarks,
    script_text,
)


def broken(text: str) -> list[str]:
    """The rules that a text breaks, by what they propose."""
    return [rule.instead for rule in RULES if any(rule.found_in(text))]


def test_no_text_has_a_word_that_we_avoid() -> None:
    found = [str(offence) for offence in offences() if offence.text.area in CHECKED]
    assert not found, "\n" + "\n".join(found)


def test_no_docstring_or_comment_has_a_word_that_we_avoid() -> None:
    found = [str(offence) for offence in offences(inner=True) if offence.text.area in CHECKED]
    assert not found, "\n" + "\n".join(found)


def test_docstrings_and_comments_are_read() -> None:
    source = '"""A docstring."""\n\nVALUE = 1  # A comment.\n"""Of a field."""\n'
    assert [text for _, text in remarks(source)] == ["A docstring.", "Of a field.", "# A comment."]


def test_only_areas_that_exist_are_checked() -> None:
    assert set(AREAS) >= CHECKED
    assert {text.area for text in all_text()} <= set(AREAS)


@pytest.mark.parametrize(
    "text",
    [
        "2/3 copies available",
        "each copy of the group",
        "3/4 pods held",
        "no member is held by its gate",
        "the gate is lifted",
        "its pods are let go",
        "no domain has room for 4 pods",
        "the tidings of a scheduler",
        "KAI's own words",
        "the gang was placed",
        "KAI cannot place the gang",
        "every pod has its nodes",
        "delete the pods for them to be made anew",
        "2 pods are being taken away",
        "the pods were taken for a reason",
        "the object is a stranger's",
        "it belongs to somebody else",
        "this waits for a person",
        "the scheduler cannot be had",
        "speaks v1alpha2",
        "the scheduler is told of the gang",
        "it can tell whether the gang fits",
        "the condition says why",
        "writes are paced",
        "left undone: priority",
        "a change wakes the controller",
        "it feeds the queue",
        "the workshop of a controller",
        "that was our own doing",
        "whoever leads writes",
        "no retry can mend it",
        "the object was bent",
        "somebody must approve it",
        "it waits for ever",
        "'12x' is no quantity",
    ],
)
def test_each_word_that_we_avoid_is_found(text: str) -> None:
    assert broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "copy the file to every node, or copy it from the image",
        "the Lease is held by core-0",
        "namespaces and their replicas",
        "mushrooms, headroom, settings, the rest of the pods",
        "node affinity terms",
        "placement is fixed when the gang is released",
        "it takes 5 s; the standby takes over; gangs take turns",
        "an update takes effect when the gang is created",
        "pods are taken over from Grove",
        "personal data",
        "Tell whether the pod is bound.",
        "Tell a missing kind from a broken watch.",
        "awake",
        "recreate the pods; the members are deleted again",
    ],
)
def test_other_uses_of_the_same_letters_are_fine(text: str) -> None:
    assert broken(text) == []


def test_messages_are_read_where_modules_make_them() -> None:
    source = '''
"""A docstring that says something."""
import re

PATTERN = re.compile(r"has room for (\\\\d+)")
NAME = "held"

def report(log, count):
    """Say it."""
    log.warning("there is no room", pods=count)
    return Blocked(message=f"{count} pods held " "by a gate")
'''
    assert [text for _, text in literals(source)] == ["there is no room", "{} pods held by a gate"]


def test_a_phrase_is_found_on_two_lines() -> None:
    assert broken("its pods are let\ngo")


def test_names_in_pages_are_no_prose() -> None:
    page = "Alert `PodgangGangsHeld` [is](runbooks/held.md) `gangs held back`"
    assert prose(page) == "Alert `` [is]() `gangs held back`"


def test_scripts_of_the_dashboard_are_read_without_their_names() -> None:
    source = 'const texts = told(room); // The room.\nshow(`no ${room} for pods`, "it says so");'
    assert script_text(source).split("\n") == ["// The room.", "`no {} for pods`", '"it says so"']


def test_every_kind_of_text_is_covered() -> None:
    paths = {text.path for text in all_text()}
    for path in (
        "README.md",
        "CONTRIBUTING.md",
        "Makefile",
        "docs/concepts.md",
        "docs/reference/settings.md",
        "docs/runbooks/PodgangGangsHeld.md",
        "core_operator/metrics.py",
        "core_operator/plan/statuses/podgang.py",
        "core_operator/__main__.py",
        "backend_controllers/generic/metrics.py",
        "monitoring/alerts.py",
        "local_cluster/cli.py",
        "deploy/policies/managed-pods.yaml",
        "CHANGELOG.md",
        "SECURITY.md",
        "releasing/checks.py",
        "chartgen/values.py",
        "gangctl/dashboard/page/app.js",
    ):
        assert path in paths, path
    assert any(path.startswith("crds/") for path in paths)
