"""What objects have in common is kept once, and nothing is kept that nobody reads."""

import json
from collections import deque
from typing import Any

import pytest

from shared_api.kube.codec import PartialObject, codec_for
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.runtime.applying import applied_fields
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Restarted, Synced
from tests.kube.samples import pod

SHARED = "grove.io/podcliquescalinggroup-replica-index"


def decoded(index: int, version: int | None = None, **status: Any) -> Pod:
    raw = pod(index, version)
    raw["status"] |= status
    return codec_for(Pod).one(json.dumps(raw).encode())


def filled(*pods: Pod) -> Cache[Pod]:
    cache: Cache[Pod] = Cache()
    cache.take(Restarted())
    for value in pods:
        cache.take(Changed(value))
    cache.take(Synced("1"))
    return cache


def test_what_pods_have_in_common_is_kept_once() -> None:
    first, second = decoded(0), decoded(4)
    filled(first, second)

    assert first.status is second.status
    assert first.metadata.owner_references is second.metadata.owner_references
    assert first.metadata.namespace is second.metadata.namespace
    assert first.metadata.labels[SHARED] is second.metadata.labels[SHARED]
    keys = [
        next(key for key in value.metadata.labels if key == SHARED) for value in (first, second)
    ]
    assert keys[0] is keys[1]


def test_what_a_change_leaves_alone_is_shared_with_the_object_before() -> None:
    before, after = decoded(0, 10), decoded(0, 11, phase="Failed")
    cache = filled(before)
    cache.take(Changed(after))

    assert cache.get(ObjectKey("team-0", before.metadata.name)) is after
    assert after.metadata.labels[SHARED] is before.metadata.labels[SHARED]
    assert after.metadata.owner_references is before.metadata.owner_references
    assert after.spec is before.spec
    assert (before.status.phase, after.status.phase) == ("Running", "Failed")


def test_what_a_change_alters_is_shared_with_other_objects() -> None:
    cache = filled(decoded(0, 10), decoded(4, 10))
    first, second = decoded(0, 11, phase="Failed"), decoded(4, 11, phase="Failed")
    for value in (first, second):
        cache.take(Changed(value))

    assert first.status is second.status


def test_gangs_share_their_metadata() -> None:
    codec = codec_for(ObservedPodGang)
    cache: Cache[ObservedPodGang] = Cache()
    before, after = (
        codec.one(json.dumps({"metadata": pod(0, version)["metadata"]}).encode())
        for version in (10, 11)
    )
    for value in (before, after):
        cache.take(Changed(value))

    assert after.metadata.labels[SHARED] is before.metadata.labels[SHARED]
    assert after.metadata.owner_references is before.metadata.owner_references


def test_a_wrapped_object_shares_like_a_bare_one() -> None:
    codec = codec_for(applied(Pod))
    cache: Cache[Any] = Cache()
    before, after = (codec.one(json.dumps(pod(0, version)).encode()) for version in (10, 11))
    for value in (before, after):
        cache.take(Changed(value))

    assert after.object.status is before.object.status
    assert after.metadata.labels[SHARED] is before.metadata.labels[SHARED]


def test_the_second_copy_that_kubectl_keeps_is_dropped() -> None:
    copied = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}
    metadata = {"name": "x", "uid": "u", "resourceVersion": "1", "annotations": copied}
    value = codec_for(PartialObject).one(json.dumps({"metadata": metadata}).encode())
    cache: Cache[PartialObject] = Cache()
    cache.take(Changed(value))

    assert value.metadata.annotations == {"a": "b"}


def test_only_the_newest_versions_keep_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applied_fields, "_UNREAD", deque())
    monkeypatch.setattr(applied_fields, "_MAX_UNREAD", 2)
    codec = codec_for(applied(Pod))
    kept = [codec.one(json.dumps(pod(number)).encode()) for number in range(3)]
    assert [value._body is None for value in kept] == [True, False, False]
    del kept[1]
    kept.append(codec.one(json.dumps(pod(3)).encode()))
    assert [value._body is None for value in kept] == [True, False, False]
