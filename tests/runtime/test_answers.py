"""What we sent is recognised in what the server made of it, for as little work as possible."""

import json
from collections.abc import Mapping

from shared_api.kube.codec import PartialObject, codec_for
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime.applying.answers import Answers
from shared_api.runtime.applying.applied_fields import Applied, applied, fingerprint

KIND = (CONFIGMAPS, "")


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


def answered(answers: Answers, version: int, wanted: object, made: object, uid: str = "u") -> None:
    body = stored(version, {"size": made}, uid)
    into: type[Applied[PartialObject]] | type[PartialObject] = answers.into(KIND)
    answers.remember(KIND, codec_for(into).one(body), fingerprint(manifest(wanted)))


def believing() -> Answers:
    """As after many answers that were as they should be."""
    answers = Answers("us")
    for number in range(20):
        answered(answers, number, 1, 1, uid=f"other-{number}")
    return answers


def test_a_kind_is_believed_after_a_few_answers_that_were_as_sent() -> None:
    assert Answers("us").into(KIND) is not PartialObject
    assert believing().into(KIND) is PartialObject
    assert believing().into((CONFIGMAPS, "status")) is not PartialObject


def test_a_kind_of_which_one_was_rewritten_is_not_believed() -> None:
    answers = Answers("us")
    answered(answers, 5, 1, "1000m")
    for number in range(20):
        answered(answers, number, 1, 1, uid=f"other-{number}")
    assert answers.into(KIND) is not PartialObject


def test_the_version_of_the_answer_needs_no_look_at_the_object() -> None:
    answers = believing()
    answered(answers, 5, 1, 1)
    bare = codec_for(PartialObject).one(stored(5, {"size": "anything"}))
    assert answers.is_unchanged(bare, fingerprint(manifest(1)), "")
    assert not answers.is_unchanged(bare, fingerprint(manifest(2)), "")
    assert not answers.is_unchanged(bare, fingerprint(manifest(1)), "status")


def test_a_later_version_is_looked_at() -> None:
    answers = believing()
    answered(answers, 5, 1, 1)
    wanted = fingerprint(manifest(1))
    assert answers.is_unchanged(observed(6, {"size": 1}), wanted, "")
    assert not answers.is_unchanged(observed(6, {"size": 2}), wanted, "")
    bare = codec_for(PartialObject).one(stored(6, {"size": 1}))
    assert not answers.is_unchanged(bare, wanted, "")


def test_what_was_rewritten_is_recognised_in_later_versions() -> None:
    answers = Answers("us")
    answered(answers, 5, 1, "1000m")
    wanted = fingerprint(manifest(1))
    assert answers.is_unchanged(observed(6, {"size": "1000m"}), wanted, "")
    assert not answers.is_unchanged(observed(6, {"size": "2000m"}), wanted, "")
    assert not answers.is_unchanged(observed(6, {"size": "1000m"}), fingerprint(manifest(3)), "")


def test_a_write_in_vain_shows_that_a_kind_is_rewritten() -> None:
    answers = believing()
    wanted = fingerprint(manifest(1))
    seen = observed(6, {"size": "1000m"})
    assert not answers.is_unchanged(seen, wanted, "")
    answer = codec_for(PartialObject).one(stored(6, {"size": "1000m"}))
    answers.remember(KIND, answer, wanted, seen)

    assert answers.into(KIND) is not PartialObject
    assert answers.is_unchanged(observed(7, {"size": "1000m"}), wanted, "")


def test_an_object_of_the_same_name_is_another() -> None:
    answers = believing()
    answered(answers, 5, 1, 1)
    bare = codec_for(PartialObject).one(stored(5, {"size": 1}, uid="another"))
    assert not answers.is_unchanged(bare, fingerprint(manifest(1)), "")
