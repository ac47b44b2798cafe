"""Bytes become projections once, small, and never something else by accident."""

import json

import pytest
from pydantic import BaseModel

from shared_api import names
from shared_api.kube.codec import (
    Bookmark,
    Event,
    LooseObject,
    Projection,
    codec_for,
    encode,
)
from shared_api.kube.errors import BadResponse, Status
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.pods import Pod, PodSpec, PodStatus, SchedulingGate
from tests.kube.samples import pod


def line(kind: str, value: object) -> bytes:
    return json.dumps({"type": kind, "object": value}, separators=(",", ":")).encode()


def pod_event(index: int) -> Pod:
    event = codec_for(Pod).event(line("ADDED", pod(index)))
    assert isinstance(event, Event)
    return event.object


class StrictMetadata(BaseModel):
    name: str
    namespace: str
    uid: str
    resourceVersion: str  # noqa: N815

    @property
    def resource_version(self) -> str:
        return self.resourceVersion

    @property
    def deletion_timestamp(self) -> None:
        return None


class Strict(BaseModel):
    metadata: StrictMetadata
    spec: dict[str, str]


def test_a_pod_becomes_its_projection() -> None:
    value = pod_event(7)

    assert value.metadata.key == ObjectKey("team-0", pod(7)["metadata"]["name"])
    assert str(value.metadata.key).startswith("team-0/")
    assert value.metadata.labels["grove.io/pod-index"] == "7"
    assert value.metadata.controller is not None
    assert value.metadata.controller.kind == "PodClique"
    assert value.spec.node_name == "node-7"
    assert value.is_ready
    assert not value.is_gated
    assert not value.metadata.is_terminating


def test_gates_failures_and_deletion_are_seen() -> None:
    raw = pod(1)
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    raw["spec"]["schedulingGates"] = [{"name": "grove.io/podgang"}]
    raw["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "X"}]
    raw["status"]["containerStatuses"][0]["state"] = {"terminated": {"exitCode": 3}}

    value = codec_for(Pod).one(json.dumps(raw).encode())

    assert value.metadata.is_terminating
    assert [gate.name for gate in value.spec.scheduling_gates] == ["grove.io/podgang"]
    assert not value.is_ready
    terminated = value.status.container_statuses[0].state.terminated
    assert terminated is not None
    assert terminated.exit_code == 3


@pytest.mark.parametrize(
    ("label", "index"), [("7", 7), ("", None), ("x", None), ("-1", None), ("\u0663", None)]
)
def test_the_index_of_a_pod_is_none_if_its_label_is_malformed(
    label: str, index: int | None
) -> None:
    assert Pod(Metadata(labels={names.LABEL_POD_INDEX: label})).index == index
    assert Pod().index is None


@pytest.mark.parametrize(("phase", "ended"), [("Failed", True), ("Succeeded", True), ("", False)])
def test_a_pod_is_live_until_it_ends_or_is_deleted(phase: str, ended: bool) -> None:
    value = Pod(status=PodStatus(phase=phase))
    assert (value.has_ended, value.is_live) == (ended, not ended)
    assert not Pod(Metadata(deletion_timestamp="now")).is_live


def test_our_gate_is_the_one_that_the_pod_was_created_with() -> None:
    spec = PodSpec(scheduling_gates=(SchedulingGate("theirs"),))
    ours = Metadata(annotations={names.ANNOTATION_PREPARATION: "grove.io/gate:abc"})
    assert Pod(ours, spec).is_gated
    assert not Pod(ours, spec).has_our_gate
    assert Pod(Metadata(), spec).has_our_gate


def test_a_bookmark_reports_where_we_are() -> None:
    codec = codec_for(Pod)
    end = {
        "metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    }

    assert codec.event(line("BOOKMARK", {"metadata": {"resourceVersion": "8"}})) == Bookmark("8")
    assert codec.event(line("BOOKMARK", end)) == Bookmark("9", ends_initial_events=True)


def test_an_error_inside_a_stream_is_a_status() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}

    assert codec_for(Pod).event(line("ERROR", status)) == Status(410, "Expired", "too old")


def test_a_model_with_required_fields_can_be_watched() -> None:
    codec = codec_for(Strict)
    metadata = {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}

    event = codec.event(line("MODIFIED", {"metadata": metadata, "spec": {"x": "y"}}))

    assert isinstance(event, Event)
    held: Projection = event.object
    assert held.metadata.resource_version == "1"
    assert event.object.spec == {"x": "y"}
    assert codec.event(line("BOOKMARK", {"metadata": {"resourceVersion": "5"}})) == Bookmark("5")
    assert codec.page(encode({"items": [{"metadata": metadata, "spec": {}}]})).items[0].spec == {}


def test_a_value_that_does_not_fit_is_not_quoted() -> None:
    with pytest.raises(BadResponse) as caught:
        codec_for(Strict).one(b'{"metadata": {"name": 3}, "spec": {"password": ["hunter2"]}}')

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"{", b"null", b"[]", b'{"type":"ADDED"}', b"<html>", b'{"type":"ADDED","object":3}'],
)
def test_garbage_is_refused_as_such(garbage: bytes) -> None:
    with pytest.raises(BadResponse):
        codec_for(Pod).event(garbage)


@pytest.mark.parametrize(
    "garbage", [b'{"type":"ERROR","object":3}', b'{"type":"BOOKMARK","object":3}']
)
def test_garbage_in_a_control_event_is_refused(garbage: bytes) -> None:
    with pytest.raises(BadResponse):
        codec_for(Pod).event(garbage)


def test_a_page_knows_its_version_and_its_successor() -> None:
    page = codec_for(LooseObject).page(
        encode(
            {"metadata": {"resourceVersion": "7", "continue": "t"}, "items": [{"spec": {"a": 1}}]}
        )
    )

    assert (page.resource_version, page.next_token) == ("7", "t")
    assert page.items[0].spec == {"a": 1}
    assert codec_for(LooseObject).page(b'{"metadata": {}, "items": null}').items == []


def test_manifests_keep_their_order() -> None:
    assert encode({"b": 1, "a": {"d": None, "c": [True]}}) == b'{"b":1,"a":{"d":null,"c":[true]}}'
