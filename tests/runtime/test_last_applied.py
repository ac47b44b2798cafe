"""What we sent is recognised in what the server made of it, for as little work as possible."""

import json
from collections.abc import Mapping

from shared_api.kube.codec import PartialObject, codec_for
from shared_api.runtime.applying.applied_fields import Applied, applied, fingerprint
from shared_api.runtime.applying.last_applied import LastApplied


def manifest(size: object = 1) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"size": size}}


def stored(version: int, spec: Mapping[str, object], uid: str = "u") -> bytes:
    """The object as the server shows it, all of whose spec we have applied."""
    ours = {
        "manager": "us",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsV1": {"f:spec": {f"f:{name}": {} for name in spec}},
    }
    metadata = {"name": "x", "uid": uid, "resourceVersion": str(version), "managedFields": [ours]}
    return json.dumps({"metadata": metadata, "spec": spec}).encode()


def observed(version: int, spec: Mapping[str, object], uid: str = "u") -> Applied[PartialObject]:
    return codec_for(applied(PartialObject, "us")).one(stored(version, spec, uid))


def answered(
    remembered: LastApplied, version: int, wanted: object, made: object, uid: str = "u"
) -> None:
    body = stored(version, {"size": made}, uid)
    remembered.remember(codec_for(remembered.into).one(body), fingerprint(manifest(wanted)), "")


def test_the_version_of_the_answer_needs_no_look_at_the_object() -> None:
    remembered = LastApplied("us")
    answered(remembered, 5, 1, 1)
    bare = codec_for(PartialObject).one(stored(5, {"size": "anything"}))
    assert remembered.is_unchanged(bare, fingerprint(manifest(1)), "")
    assert not remembered.is_unchanged(bare, fingerprint(manifest(2)), "")
    assert not remembered.is_unchanged(bare, fingerprint(manifest(1)), "status")


def test_a_later_version_is_looked_at() -> None:
    remembered = LastApplied("us")
    answered(remembered, 5, 1, 1)
    wanted = fingerprint(manifest(1))
    assert remembered.is_unchanged(observed(6, {"size": 1}), wanted, "")
    assert not remembered.is_unchanged(observed(6, {"size": 2}), wanted, "")
    bare = codec_for(PartialObject).one(stored(6, {"size": 1}))
    assert not remembered.is_unchanged(bare, wanted, "")


def test_what_was_rewritten_is_recognised_in_later_versions() -> None:
    remembered = LastApplied("us")
    answered(remembered, 5, 1, "1000m")
    wanted = fingerprint(manifest(1))
    assert remembered.is_unchanged(observed(6, {"size": "1000m"}), wanted, "")
    assert not remembered.is_unchanged(observed(6, {"size": "2000m"}), wanted, "")
    assert not remembered.is_unchanged(observed(6, {"size": "1000m"}), fingerprint(manifest(3)), "")


def test_an_object_of_the_same_name_is_another() -> None:
    remembered = LastApplied("us")
    answered(remembered, 5, 1, 1)
    bare = codec_for(PartialObject).one(stored(5, {"size": 1}, uid="another"))
    assert not remembered.is_unchanged(bare, fingerprint(manifest(1)), "")
