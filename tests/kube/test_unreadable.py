"""Objects that do not fit are kept by their metadata, and their neighbours are decoded."""

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_api.kube.codec import (
    Bookmark,
    Codec,
    Event,
    LooseObject,
    PartialObject,
    UnreadableEvent,
    codec_for,
)
from shared_api.kube.errors import BadResponse
from shared_api.kube.metadata import Metadata
from shared_api.kube.unreadable import members
from shared_api.models import KubeModel, ObjectMeta
from shared_api.runtime.applying.applied_fields import applied

DEPTHS = (200, 1_200, 9_000)


class Sized(msgspec.Struct, frozen=True):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, int] = {}


class Modelled(KubeModel):
    metadata: ObjectMeta
    spec: Mapping[str, int] = {}
    color: Literal["red", "blue"] = "red"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def item(name: str, spec: str, version: int = 7) -> bytes:
    managed = '[{"manager": "m", "fieldsV1": {"f:spec": ' + (spec if "[" in spec else "{}") + "}}]"
    metadata = (
        f'{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}",'
        f'"labels":{{"a":"]}}\\""}},"managedFields":{managed}}}'
    )
    return f'{{"kind":"K","metadata":{metadata},"spec":{spec},"status":{{"s":1}}}}'.encode()


def added(text: bytes) -> bytes:
    return b'{"type":"ADDED","object":%b}' % text


def page(*items: bytes) -> bytes:
    return b'{"kind":"L","metadata":{"resourceVersion":"9"},"items":[%b]}' % b",".join(items)


KINDS: list[Any] = [Sized, Modelled, applied(Sized), applied(Modelled)]


@pytest.mark.parametrize("into", KINDS)
def test_a_stream_goes_on_behind_an_object_that_does_not_fit(into: type[Any]) -> None:
    lines = [
        added(item("a", '{"x":1}')),
        added(item("b", '{"x":"secret"}')),
        added(item("c", '{"x":2}')),
    ]

    events, failure = codec_for(into).events(lines)

    assert failure is None
    names = [event.object.metadata.name for event in events if not isinstance(event, Bookmark)]
    assert names == ["a", "b", "c"]
    bad = events[1]
    assert isinstance(bad, UnreadableEvent)
    assert bad.object.metadata.resource_version == "7"
    assert bad.object.metadata.labels == {"a": ']}"'}
    assert bad.object.problem.startswith("spec")
    assert "int" in bad.object.problem
    assert "secret" not in bad.object.problem
    assert bad.object.status == b'{"s":1}'


@pytest.mark.parametrize("into", KINDS)
def test_a_page_keeps_the_neighbours_of_an_object_that_does_not_fit(into: type[Any]) -> None:
    found = codec_for(into).page(
        page(item("a", '{"x":1}'), item("b", '{"x":[]}'), item("c", '{"x":2}'))
    )

    assert [value.metadata.name for value in found.items] == ["a", "c"]
    assert [value.metadata.name for value in found.unreadable] == ["b"]
    assert found.resource_version == "9"


@pytest.mark.parametrize("levels", DEPTHS)
@pytest.mark.parametrize("into", [*KINDS, LooseObject])
def test_no_depth_stops_a_stream_or_a_page(into: type[Any], levels: int) -> None:
    codec: Codec[Any] = codec_for(into)
    bad = item("b", f'{{"x":{deep(levels)}}}')

    events, failure = codec.events([added(bad), added(item("c", "{}"))])
    found = codec.page(page(item("a", "{}"), bad, item("c", "{}")))

    assert failure is None
    names = [event.object.metadata.name for event in events if not isinstance(event, Bookmark)]
    assert names == ["b", "c"]
    assert {value.metadata.name for value in found.items} >= {"a", "c"}
    assert {value.metadata.name for value in (*found.items, *found.unreadable)} == {"a", "b", "c"}


@pytest.mark.parametrize("levels", DEPTHS)
def test_of_an_object_by_its_metadata_nothing_is_missing_however_deep(levels: int) -> None:
    bad = item("b", f'{{"x":{deep(levels)}}}')

    assert codec_for(PartialObject).one(bad).metadata.resource_version == "7"
    events, _ = codec_for(PartialObject).events([added(bad)])
    assert isinstance(events[0], Event)


@pytest.mark.parametrize("levels", DEPTHS)
@pytest.mark.parametrize("into", KINDS)
def test_a_deep_answer_is_an_error_of_our_tree(into: type[Any], levels: int) -> None:
    with pytest.raises(BadResponse, match=r"nested too deeply|Expected|valid integer"):
        codec_for(into).one(item("b", f'{{"x":{deep(levels)}}}'))


def test_a_value_outside_of_a_list_of_words_is_not_quoted() -> None:
    text = item("a", "{}").replace(b'"kind":"K"', b'"color":"secret"')

    events, _ = codec_for(Modelled).events([added(text)])

    assert isinstance(events[0], UnreadableEvent)
    assert "secret" not in events[0].object.problem
    assert "color" in events[0].object.problem


def test_a_line_of_json_that_is_no_event_has_no_name_and_stops_nothing() -> None:
    lines = [b'{"type":"ADDED","object":3}', b'{"type":"ADDED"}', added(item("a", "{}"))]

    events, failure = codec_for(Sized).events(lines)

    assert failure is None
    names = [event.object.metadata.name for event in events if not isinstance(event, Bookmark)]
    assert names == ["", "", "a"]


@pytest.mark.parametrize("cut", [b"{", b'{"type":"ADDED","object":{"metadata":{}', b"<html>"])
def test_a_line_that_is_no_json_ends_the_stream_to_be_asked_for_again(cut: bytes) -> None:
    good = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}'

    events, failure = codec_for(Sized).events([good, cut, good])

    assert events == [Bookmark("8")]
    assert isinstance(failure, BadResponse)


def test_a_status_inside_of_the_spec_is_not_taken_for_that_of_the_object() -> None:
    text = b'{"metadata":{"name":"a"},"spec":{"x":"y","status":{"s":2}}}'

    events, _ = codec_for(Sized).events([added(text)])

    assert isinstance(events[0], UnreadableEvent)
    assert events[0].object.status == b""


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(), JSON))
def test_members_are_those_that_a_parser_finds(value: dict[str, Any]) -> None:
    for separators in ((",", ":"), (" , ", " : ")):
        text = json.dumps(value, separators=separators).encode()
        assert {json.loads(k): json.loads(v) for k, v in members(text)} == value


@settings(max_examples=50, deadline=None)
@given(st.lists(JSON))
def test_elements_are_those_that_a_parser_finds(value: list[Any]) -> None:
    text = json.dumps(value).encode()
    assert [json.loads(found) for _, found in members(text)] == value


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(), JSON, min_size=1), st.data())
def test_text_that_ends_too_early_is_noticed(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value).encode()
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(msgspec.DecodeError):
        list(members(text[:end]))
