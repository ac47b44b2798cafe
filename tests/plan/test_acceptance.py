"""Which records and patches core uses, and what it says about the others."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core_operator.plan.placement.acceptance import patch_refusal, record_refusal
from core_operator.plan.placement.backends import RegisteredBackend, outranked
from core_operator.plan.pods.preparation import NOT_PUBLISHED, patch_for, preparation_refusal
from shared_api.models import PodGangStatus, PodPatch
from tests.plan.samples import record
from tests.plan.test_backends import chosen, workload

LEASE = {"namespace": "n", "name": "heart"}
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def patched(**fields: object) -> PodPatch:
    return PodPatch.model_validate(fields)


@pytest.mark.parametrize(
    "key",
    [
        "app",
        "app.kubernetes.io/name",
        "kubernetes.io/x",
        "container.apparmor.security.beta.kubernetes.io/main",
        "node.k8s.io/x",
        "grove.io/podgang",
        "evil.grove.io/x",
    ],
)
@pytest.mark.parametrize("kind", ["labels", "annotations"])
def test_keys_that_are_not_for_schedulers_are_refused(key: str, kind: str) -> None:
    patch = patched(**{kind: {key: "x"}})
    assert patch_refusal(patch, None) == f"it sets reserved keys on pods: {key}"


@pytest.mark.parametrize(
    "key",
    [
        "kai.scheduler/queue",
        "pod-group-name",
        "pod-group.scheduling.sigs.k8s.io",
        "scheduler.grove.io/scheduling-group",
        "scheduling.k8s.io/group-name",
        "example.com/gang",
        "not-kubernetes.io/x",
    ],
)
def test_keys_of_schedulers_are_accepted(key: str) -> None:
    assert patch_refusal(patched(labels={key: "x"}), None) == ""


def test_a_record_that_lists_its_keys_is_kept_to_them() -> None:
    patch = patched(labels={"a.example/x": "1"}, annotations={"b": "2", "c.example/y": "3"})
    assert patch_refusal(patched(labels={"a.example/x": "1"}), ("a.example/",)) == ""
    assert patch_refusal(patched(labels={"a.example/x": "1"}), ("a.example/x",)) == ""
    assert patch_refusal(patched(labels={"a.example/xy": "1"}), ("a.example/x",)) == (
        "it sets a.example/xy on pods, which spec.podKeys of its record does not list"
    )
    assert patch_refusal(patched(labels={"a.example/x": "1"}), ()) != ""
    assert "it sets reserved keys on pods: b" in patch_refusal(patch, ("a.example/", "b"))


def test_a_class_of_the_system_is_refused() -> None:
    patch = patched(spec={"priorityClassName": "system-node-critical"})
    assert "system-node-critical" in patch_refusal(patch, None)
    assert patch_refusal(patched(spec={"priorityClassName": "high"}), None) == ""


@pytest.mark.parametrize(
    ("spec", "accepted", "expected"),
    [
        ({"lease": LEASE}, (), ""),
        ({"lease": LEASE}, ("kai", "b"), ""),
        ({"lease": LEASE}, ("kai",), "core accepts kai; add b to its setting backends.accepted"),
        ({}, (), "it has no Lease; set spec.lease to the Lease that the backend renews"),
        (
            {"lease": LEASE, "release": {"afterBound": {"dropAnnotations": ["note"]}}},
            (),
            "it sets reserved keys on pods: note",
        ),
        (
            {
                "lease": LEASE,
                "preparation": {"mode": "Static", "members": {}, "surplus": {"labels": {"a": "b"}}},
            },
            (),
            "it sets reserved keys on pods: a",
        ),
    ],
)
def test_a_record_is_used_only_if_it_is_sound_and_accepted(
    spec: dict[str, Any], accepted: tuple[str, ...], expected: str
) -> None:
    assert record_refusal("b", record("b", **spec), accepted) == expected


def test_what_is_published_for_a_gang_is_kept_to_the_keys_of_the_record() -> None:
    backend = record("", preparation={"mode": "PerGang"}, podKeys=["a.example/"])
    preparations = [
        {"name": "good", "members": {"labels": {"a.example/x": "1"}}},
        {"name": "bad", "members": {}, "surplus": {"annotations": {"iam.example/role": "x"}}},
    ]
    status = PodGangStatus.model_validate({"podPreparations": preparations})
    assert patch_for(backend, status, "good", 0, 1) == patched(labels={"a.example/x": "1"})
    assert patch_for(backend, status, "bad", 0, 1) is NOT_PUBLISHED
    assert preparation_refusal(backend, status, "good") == ""
    assert "iam.example/role" in preparation_refusal(backend, status, "bad")


def _registered(name: str, hours: int, *schedulers: str, refusal: str = "") -> RegisteredBackend:
    created = NOON + timedelta(hours=hours)
    return RegisteredBackend(name, record(*schedulers), True, "", refusal, created)


def test_a_later_record_takes_no_scheduler_names_over() -> None:
    known = {
        "aaa": _registered("aaa", 1, "kai-scheduler", "own"),
        "kai": _registered("kai", 0, "kai-scheduler"),
    }
    assert chosen(workload("kai-scheduler"), known).backend == "kai"
    assert outranked("aaa", known) == "kai-scheduler (kai)"
    assert outranked("kai", known) == ""


def test_a_record_that_is_not_accepted_is_never_chosen() -> None:
    known = {
        "aaa": _registered("aaa", 0, "kai-scheduler", refusal="it has no Lease"),
        "kai": _registered("kai", 1, "kai-scheduler"),
    }
    assert chosen(workload("kai-scheduler"), known).backend == "kai"
    choice = chosen(workload(annotation="aaa"), known)
    assert (choice.backend, choice.ok, choice.reason) == (None, False, "BackendUnknown")
    assert choice.message == "backend 'aaa' is not accepted: it has no Lease"
    fallback = chosen(workload(annotation="aaa,kai"), known)
    assert fallback.backend == "kai"
    assert "passed over: backend 'aaa' is not accepted" in fallback.message
