"""Whether applying a manifest would change anything, judged from the live object alone."""

import itertools
import json
from collections.abc import Mapping, Sequence

import pytest

from shared_api.kube.codec import PartialObject, codec_for
from shared_api.runtime.applying.applied_fields import (
    Applied,
    applied,
    extract,
    fingerprint,
    lost_its_owner,
)
from shared_api.runtime.watching.owners import Owner

MANIFEST: dict[str, object] = {
    "apiVersion": "v1",
    "kind": "Thing",
    "metadata": {
        "name": "x",
        "namespace": "a",
        "labels": {"app": "x"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "u0"}],
    },
    "spec": {
        "size": 3,
        "args": ["b", "a"],
        "groups": [{"name": "one", "min": 1}, {"name": "two", "min": 2}],
    },
}
FIELDS = {
    "f:metadata": {
        "f:labels": {"f:app": {}},
        "f:ownerReferences": {'k:{"uid":"u0"}': {}},
    },
    "f:spec": {
        "f:size": {},
        "f:args": {},
        "f:groups": {
            'k:{"name":"one"}': {".": {}, "f:name": {}, "f:min": {}},
            'k:{"name":"two"}': {".": {}, "f:name": {}, "f:min": {}},
        },
    },
}


# A version of an object never changes.
VERSIONS = itertools.count(9)


def live(
    manager: str = "us",
    operation: str = "Apply",
    api_version: str = "v1",
    owners: Sequence[Mapping[str, object]] | None = None,
    **changes: object,
) -> Applied[PartialObject]:
    """The object of the manifest as the server shows it, with things of others in it."""
    tree = json.loads(json.dumps(MANIFEST))
    tree["metadata"] |= {"uid": "u1", "resourceVersion": str(next(VERSIONS)), "generation": 1}
    tree["metadata"]["labels"]["theirs"] = "y"
    if owners is not None:
        tree["metadata"]["ownerReferences"] = [*owners]
    tree["spec"]["defaulted"] = True
    tree["spec"]["groups"].append({"name": "three", "min": 3})
    tree["spec"]["groups"][0]["max"] = 10
    tree["status"] = {"phase": "Fine"}
    tree["spec"] |= changes
    tree["metadata"]["managedFields"] = [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": FIELDS,
        },
        {
            "manager": "us",
            "operation": "Apply",
            "apiVersion": "v1",
            "subresource": "status",
            "fieldsV1": {"f:status": {"f:phase": {}}},
        },
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:defaulted": {}}}},
    ]
    return codec_for(applied(PartialObject)).one(json.dumps(tree).encode())


def with_spec(**changes: object) -> dict[str, object]:
    spec = MANIFEST["spec"]
    assert isinstance(spec, dict)
    return {**MANIFEST, "spec": {**spec, **changes}}


def test_what_we_applied_is_recognised_among_what_others_added() -> None:
    assert live().fingerprint("us") == fingerprint(MANIFEST)


def test_it_reads_like_the_projection_that_it_wraps() -> None:
    assert live().metadata.uid == "u1"
    assert isinstance(live().object, PartialObject)


@pytest.mark.parametrize(
    "wanted",
    [
        with_spec(size=4),
        with_spec(args=["a", "b"]),
        with_spec(added=1),
        with_spec(groups=[{"name": "one", "min": 1}]),
        {**MANIFEST, "spec": {"size": 3}},
        {**MANIFEST, "metadata": {"name": "x", "namespace": "a"}},
        {**MANIFEST, "apiVersion": "v2"},
    ],
    ids=["value", "order", "added", "item-removed", "fields-removed", "labels-removed", "version"],
)
def test_a_manifest_that_would_change_something_is_told_apart(wanted: dict[str, object]) -> None:
    assert live().fingerprint("us") != fingerprint(wanted)


def test_a_value_that_somebody_changed_is_noticed() -> None:
    assert live(size=4).fingerprint("us") != fingerprint(MANIFEST)
    assert live(args=["b"]).fingerprint("us") != fingerprint(MANIFEST)
    assert live(groups=[{"name": "one", "min": 1}]).fingerprint("us") != fingerprint(MANIFEST)


def test_ownership_that_was_taken_away_is_noticed() -> None:
    assert live(manager="thief").fingerprint("us") is None
    assert live(operation="Update").fingerprint("us") is None


OWNED = {"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "owner"}


@pytest.mark.parametrize(
    ("manager", "owners", "taken"),
    [
        ("us", [OWNED], True),
        ("us", [OWNED | {"controller": True}], False),
        ("us", [OWNED, OWNED | {"uid": "another", "controller": True}], False),
        ("us", [OWNED | {"uid": "another"}], False),
        ("us", [OWNED | {"name": "another"}], False),
        ("us", [OWNED | {"kind": "Another"}], False),
        ("us", [OWNED | {"apiVersion": "example.com/v1"}], False),
        ("us", [], False),
        ("them", [OWNED], False),
    ],
)
def test_only_what_we_made_for_an_owner_and_nobody_controls_was_taken_from_him(
    manager: str, owners: list[dict[str, object]], taken: bool
) -> None:
    assert (
        lost_its_owner(live(manager, owners=owners), "us", Owner("a", "", "Owner", "o", "owner"))
        is taken
    )


def test_the_status_is_apart_from_the_rest() -> None:
    status = {"apiVersion": "v1", "kind": "Thing", "status": {"phase": "Fine"}}
    assert live().fingerprint("us", "status") == fingerprint(status)
    assert live().fingerprint("us", "scale") is None


def test_identity_and_empty_values_do_not_count() -> None:
    metadata = MANIFEST["metadata"]
    assert isinstance(metadata, dict)
    wanted = with_spec(nothing=None, empty={}, none=[])
    wanted["metadata"] = {**metadata, "uid": "u1", "resourceVersion": "1", "annotations": {}}
    assert fingerprint(wanted) == fingerprint(MANIFEST)


def test_members_of_a_set_are_cut_out_by_value() -> None:
    fields: dict[str, object] = {"f:finalizers": {'v:"ours"': {}}}
    assert extract({"finalizers": ["theirs", "ours"]}, fields) == {"finalizers": ["ours"]}


def test_fields_that_are_gone_from_the_object_are_left_out() -> None:
    assert extract({"a": 1}, {"f:a": {}, "f:b": {"f:c": {}}}) == {"a": 1}
    assert extract("scalar", {"f:a": {}}) == "scalar"


def test_the_wrapped_type_is_made_once_per_projection() -> None:
    assert applied(PartialObject) is applied(PartialObject)


def test_only_the_manager_that_is_asked_for_is_looked_at() -> None:
    one = {"operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {}}}
    managers = [{**one, "manager": "us"}, {**one, "manager": "them"}]
    tree = {"metadata": {"name": "x", "managedFields": managers}, "data": {"a": "b"}}
    value = codec_for(applied(PartialObject, "us")).one(json.dumps(tree).encode())
    assert value.fingerprint("us") == fingerprint({"apiVersion": "v1", "data": {"a": "b"}})
    assert value.fingerprint("them") is None


def test_a_version_that_comes_as_answer_and_as_event_is_recognised_both_times() -> None:
    managers = [
        {"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {}}}
    ]
    for version, content in (("1", "a"), ("1", "a"), ("2", "b"), ("1", "a")):
        metadata = {"uid": "twice", "resourceVersion": version, "managedFields": managers}
        tree = {"metadata": metadata, "data": {"k": content}}
        value = codec_for(applied(PartialObject, "us")).one(json.dumps(tree).encode())
        assert value.fingerprint("us") == fingerprint({"apiVersion": "v1", "data": {"k": content}})


def test_a_fingerprint_outlives_the_bytes_that_it_was_made_of() -> None:
    asked, unasked, never = live(), live(), live(operation="Update")
    status = {"apiVersion": "v1", "kind": "Thing", "status": {"phase": "Fine"}}
    asked.fingerprint("us")
    for value in (asked, unasked, never):
        value.read()

    assert asked.fingerprint("us") == unasked.fingerprint("us") == fingerprint(MANIFEST)
    assert unasked.fingerprint("us", "status") == fingerprint(status)
    assert never.fingerprint("us") is None
    assert unasked.fingerprint("kubectl") is None
