"""A pod is the user's template, Grove's promises and the backend's patch, in that order."""

import copy
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.manifests.pods import dropped_fields, pod_manifest
from core_operator.plan.pods.pod_plan import NewPod
from core_operator.plan.pods.preparation import NOT_PUBLISHED, GangRef, patch_for
from shared_api.models import (
    PLACEHOLDERS,
    JsonObject,
    PodClique,
    PodGangStatus,
    PodPatch,
    SchedulerBackendSpec,
)
from tests.plan.pod_samples import GATE, podclique, uid_of
from tests.plan.samples import JSON_OBJECTS, NAMESPACE, QUICK, pod_spec, record

GANG = GangRef(name="w-0", uid="gang-uid", namespace=NAMESPACE, backend="example")
NEW = NewPod(index=2, name="w-0-a-x7k2b")
RECORD = record("")
OURS = [
    {"name": "GROVE_PCS_NAME", "value": "w"},
    {"name": "GROVE_PCS_INDEX", "value": "0"},
    {"name": "GROVE_PCLQ_NAME", "value": "w-0-a"},
    {"name": "GROVE_HEADLESS_SERVICE", "value": "w-0.research.svc.cluster.local"},
    {
        "name": "GROVE_PCLQ_POD_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['grove.io/podclique-pod-index']"}},
    },
]


def made(clique: PodClique, patch: PodPatch | None = None) -> dict[str, Any]:
    manifest = pod_manifest(clique, NEW, GANG, RECORD, patch or PodPatch())
    return cast("dict[str, Any]", manifest)


def annotations(pod: Any) -> dict[str, str]:
    """The annotations of a pod beside those that say what it was made with and for which gang."""
    found = dict(pod["metadata"]["annotations"])
    del found["grove.io/preparation"]
    del found["grove.io/podgang-uid"]
    return found


def patched(**fields: object) -> PodPatch:
    return PodPatch.model_validate(fields)


def test_a_pod_of_a_plain_template() -> None:
    assert made(podclique()) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "w-0-a-x7k2b",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": "w",
                "app.kubernetes.io/name": "w-0-a",
                "app.kubernetes.io/component": "pcs-podclique",
                "grove.io/podcliqueset-replica-index": "0",
                "grove.io/podgang": "w-0",
                "grove.io/pod-template-hash": "hash",
                "grove.io/podclique": "w-0-a",
                "grove.io/podclique-pod-index": "2",
                "grove.io/scheduler-backend": "example",
            },
            # The digest is pinned: with another one, an upgrade would recreate gated pods.
            "annotations": {
                "grove.io/preparation": "example.com/gate:b4b8bf78e9ad",
                "grove.io/podgang-uid": "gang-uid",
            },
            "ownerReferences": [
                {
                    "apiVersion": "grove.io/v1alpha1",
                    "kind": "PodClique",
                    "name": "w-0-a",
                    "uid": uid_of("w-0-a"),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "containers": [{"name": "main", "image": "registry.example.com/app:1", "env": OURS}],
            "hostname": "w-0-a-2",
            "subdomain": "w-0",
            "schedulingGates": [{"name": GATE}],
        },
    }


def test_our_variables_come_first_and_the_users_of_these_names_are_gone() -> None:
    group = {"name": "GROVE_PCSG_NAME", "value": "w-0-s"}
    user = {"name": "MODEL", "value": "x"}
    forged = {"name": "GROVE_PCS_NAME", "value": "forged"}
    spec = pod_spec(
        containers=[{"name": "main", "env": [group, forged, user]}, {"name": "side"}],
        initContainers=[{"name": "init", "env": [user, forged]}],
    )
    pod = made(podclique(pod=spec))["spec"]
    assert pod["containers"][0]["env"] == [*OURS, group, user]
    assert pod["containers"][1]["env"] == OURS
    assert pod["initContainers"][0]["env"] == [*OURS, user]


@QUICK
@given(JSON_OBJECTS)
def test_what_the_user_wrote_is_kept_in_its_order(extra: JsonObject) -> None:
    container = {"name": "main", **extra, "env": []}
    spec: dict[str, object] = {**extra, "containers": [container], "zz": 1}
    pod = made(podclique(pod=spec))["spec"]
    assert [key for key in pod if key in spec] == list(spec)
    assert {key: pod[key] for key in spec if key != "containers"} == {**extra, "zz": 1}
    assert {**pod["containers"][0], "env": []} == container


@QUICK
@given(JSON_OBJECTS)
def test_making_a_pod_changes_nothing_and_is_repeatable(extra: JsonObject) -> None:
    clique = podclique(pod=cast("dict[str, object]", {**extra, "containers": [{"name": "m"}]}))
    patch = patched(labels={"l": "{gang}"}, annotations={"a": "{index}"})
    before = copy.deepcopy((clique, patch, RECORD))
    assert json.dumps(made(clique, patch)) == json.dumps(made(clique, patch))
    assert (clique, patch, RECORD) == before


def test_gates_of_others_are_kept_before_ours() -> None:
    spec = pod_spec(schedulingGates=[{"name": "a/b"}, {"name": GATE}, {"name": "c"}])
    gates = made(podclique(pod=spec))["spec"]["schedulingGates"]
    assert gates == [{"name": "a/b"}, {"name": "c"}, {"name": GATE}]


def test_the_patch_wins_over_the_template() -> None:
    clique = podclique(
        pod=pod_spec(schedulerName="users"),
        labels={"team": "user", "other": "kept"},
        annotations={"note": "user", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    )
    patch = patched(
        labels={"team": "backend"},
        annotations={"note": "backend"},
        spec={"schedulerName": "its-own", "priorityClassName": "high"},
    )
    pod = made(clique, patch)
    assert pod["metadata"]["labels"]["team"] == "backend"
    assert pod["metadata"]["labels"]["other"] == "kept"
    assert annotations(pod) == {"note": "backend"}
    assert pod["spec"]["schedulerName"] == "its-own"
    assert pod["spec"]["priorityClassName"] == "high"


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("grove.io/podclique-pod-index", "2"),
        ("grove.io/podclique", "w-0-a"),
        ("grove.io/podgang", "w-0"),
        ("grove.io/podcliqueset-replica-index", "0"),
        ("grove.io/scheduler-backend", "example"),
        ("app.kubernetes.io/managed-by", "grove-operator"),
        ("app.kubernetes.io/part-of", "w"),
    ],
)
def test_no_patch_bends_the_labels_by_which_pods_are_found(label: str, value: str) -> None:
    pod = made(podclique(), patched(labels={label: "bent"}))
    assert pod["metadata"]["labels"][label] == value


def test_placeholders_are_substituted_in_values_at_every_depth() -> None:
    every = "-".join(PLACEHOLDERS)
    patch = patched(
        labels={"{gang}": every},
        annotations={"a": every},
        spec={
            "schedulerName": "s-{index}",
            "schedulingGroup": {"podGroupName": "{gang}"},
            "workloadRef": {"name": "{gang}", "podGroup": "{group}"},
        },
    )
    pod = made(podclique(), patch)
    assert pod["metadata"]["labels"]["{gang}"] == "research-w-0-gang-uid-0-w-0-a-2"
    assert pod["metadata"]["annotations"]["a"] == "research-w-0-gang-uid-0-w-0-a-2"
    assert pod["spec"]["schedulerName"] == "s-2"
    assert pod["spec"]["schedulingGroup"] == {"podGroupName": "w-0"}
    assert pod["spec"]["workloadRef"] == {"name": "w-0", "podGroup": "w-0-a"}


@QUICK
@given(st.text("{}gangidexuUID \"':,[]", max_size=30))
def test_every_other_brace_stands_for_itself(text: str) -> None:
    expected = text
    for token, value in zip(
        PLACEHOLDERS, (NAMESPACE, "w-0", "gang-uid", "0", "w-0-a", "2"), strict=True
    ):
        expected = expected.replace(token, value)
    assert annotations(made(podclique(), patched(annotations={"a": text}))) == {"a": expected}


@pytest.mark.parametrize("text", ["{name}", "{Gang}", "{ gang }", "{}", "{gang", "gang}", "$gang"])
def test_what_only_looks_like_a_placeholder_stays(text: str) -> None:
    pod = made(podclique(), patched(annotations={"a": text}))
    assert annotations(pod) == {"a": text}


def test_json_in_an_annotation_survives() -> None:
    groups = [{"name": "{group}", "minMember": 2, "minResource": {"cpu": "1"}, "labels": {}}]
    pod = made(podclique(), patched(annotations={"task-groups": json.dumps(groups)}))
    assert json.loads(pod["metadata"]["annotations"]["task-groups"]) == [
        {"name": "w-0-a", "minMember": 2, "minResource": {"cpu": "1"}, "labels": {}}
    ]


def test_what_a_placeholder_stands_for_is_not_substituted_again() -> None:
    odd = GangRef(name="{index}", uid="u", namespace=NAMESPACE, backend="example")
    pod = pod_manifest(podclique(), NEW, odd, RECORD, patched(annotations={"a": "{gang}"}))
    assert annotations(pod) == {"a": "{index}"}


STATIC = record(
    "", preparation={"mode": "Static", "members": {"labels": {"m": "1"}}, "surplus": {}}
)
PER_GANG = record("", preparation={"mode": "PerGang"})
PUBLISHED = PodGangStatus.model_validate(
    {"podPreparations": [{"name": "w-0-a", "members": {"labels": {"example.com/p": "1"}}}]}
)


@pytest.mark.parametrize(
    ("backend", "status", "index", "expected"),
    [
        (STATIC, None, 1, patched(labels={"m": "1"})),
        (STATIC, None, 2, PodPatch()),
        (RECORD, None, 0, PodPatch()),
        (PER_GANG, None, 0, NOT_PUBLISHED),
        (PER_GANG, PodGangStatus(), 0, NOT_PUBLISHED),
        (PER_GANG, PUBLISHED, 0, patched(labels={"example.com/p": "1"})),
        (PER_GANG, PUBLISHED, 5, patched(labels={"example.com/p": "1"})),
    ],
)
def test_the_patch_comes_from_the_record_or_from_the_gang(
    backend: SchedulerBackendSpec, status: PodGangStatus | None, index: int, expected: object
) -> None:
    assert patch_for(backend, status, "w-0-a", index, 2) == expected


def test_a_group_that_is_not_published_yet_is_waited_for() -> None:
    assert patch_for(PER_GANG, PUBLISHED, "w-0-b", 0, 2) is NOT_PUBLISHED


@pytest.mark.parametrize(
    ("stored", "dropped"),
    [
        ({"schedulingGroup": {"podGroupName": "w-0"}, "workloadRef": {"name": "w-0"}}, ()),
        ({"workloadRef": {"name": "w-0"}}, ("spec.schedulingGroup",)),
        (
            {"schedulingGroup": {}, "workloadRef": {"name": "other"}},
            ("spec.workloadRef.name", "spec.schedulingGroup.podGroupName"),
        ),
        ({}, ("spec.workloadRef", "spec.schedulingGroup")),
    ],
)
def test_prepared_fields_that_the_server_dropped_are_named(
    stored: dict[str, object], dropped: tuple[str, ...]
) -> None:
    sent: JsonObject = {
        "spec": {
            "schedulingGroup": {"podGroupName": "w-0"},
            "workloadRef": {"name": "w-0"},
            "unknownToTheServer": True,
        }
    }
    assert dropped_fields(sent, {"spec": {**stored, "nodeName": ""}}) == dropped


def test_a_pod_without_prepared_fields_loses_none() -> None:
    assert dropped_fields({"spec": {"containers": []}}, {}) == ()
