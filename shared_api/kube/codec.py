"""Decodes answers of the API server into the few fields that are used.

A *projection* is a type with a `metadata` attribute and a default for every other field:
a msgspec Struct (fast) or a pydantic model (by its own JSON validator). The parser skips fields
that a projection does not name, and they never become Python objects. This module knows
envelopes (object, list page, watch event), not kinds.

An object that does not match its projection is `Unreadable`; the other objects of the page or the
stream are decoded. Every error that an input causes is a KubeError.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import msgspec

from shared_api.kube.errors import BadResponse, KubeError, Status, from_status
from shared_api.kube.http.lines import Line
from shared_api.kube.metadata import Metadata
from shared_api.kube.unreadable import Unreadable, members, problem_of, unreadable

JSON: TypeAlias = "str | int | float | bool | list[JSON] | dict[str, JSON] | None"

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_CONTROL_TYPES = ("BOOKMARK", "ERROR")
# The errors of msgspec, of pydantic, and of both for JSON that is nested too deeply.
_UNFIT = (msgspec.MsgspecError, ValueError, RecursionError)


class MetadataLike(Protocol):
    """The fields of an object's metadata that the runtime reads."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def namespace(self) -> str | None: ...  # noqa: D102
    @property
    def uid(self) -> str | None: ...  # noqa: D102
    @property
    def resource_version(self) -> str | None: ...  # noqa: D102
    @property
    def deletion_timestamp(self) -> object: ...  # noqa: D102


class Projection(Protocol):
    """A type with the metadata of a Kubernetes object."""

    @property
    def metadata(self) -> MetadataLike: ...  # noqa: D102


T = TypeVar("T")


def share_memory(value: Projection) -> None:
    """Let an object that is about to be cached share memory with equal parts of others."""
    if _shares(type(value)):
        cast("Any", value).share_memory()
    elif isinstance(value.metadata, Metadata):
        value.metadata.share_memory()


@functools.cache
def _shares(kind: type) -> bool:
    # Looked up on the type: on a pydantic model the lookup of a missing attribute is slow.
    return hasattr(kind, "share_memory")


class PartialObject(msgspec.Struct, frozen=True, gc=False):
    """Metadata only, of any kind."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


class LooseObject(msgspec.Struct, frozen=True):
    """An object of a foreign kind: typed metadata, the rest as plain JSON."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class Event(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One change of one object: ADDED, MODIFIED or DELETED."""

    type: str
    object: T


class UnreadableEvent(msgspec.Struct, frozen=True, gc=False):
    """A change of an object that cannot be decoded; without a name, a line that is not an event."""

    type: str
    object: Unreadable


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """A bookmark: the server has sent every event up to this version."""

    resource_version: str
    ends_initial_events: bool = False


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; the last one has no `next_token`."""

    items: list[T]
    resource_version: str
    next_token: str = ""
    unreadable: tuple[Unreadable, ...] = ()
    """The listed objects that cannot be decoded."""


class _ListMetadata(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    next_token: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, Generic[T], frozen=True):
    # `items` of an empty list may be null.
    metadata: _ListMetadata = _ListMetadata()
    items: list[T] | None = None


@runtime_checkable
class _ValidatesJson(Protocol):
    @classmethod
    def model_validate_json(cls, json_data: bytes) -> object: ...


class Codec(Generic[T]):
    """Decodes the three envelopes of one type of object; `codec_for` returns it."""

    def __init__(self, into: type[T]) -> None:
        self._name = getattr(into, "KIND", into.__name__)
        self._is_partial = into is PartialObject
        self._validate: type[_ValidatesJson] | None = None
        item: type[Any] = into
        if issubclass(into, _ValidatesJson):
            self._validate = into
            item = msgspec.Raw
        self._object: msgspec.json.Decoder[Any] = msgspec.json.Decoder(item)
        self._list: msgspec.json.Decoder[_List[Any]] = msgspec.json.Decoder(_List[item])  # type: ignore[valid-type]
        self._event: msgspec.json.Decoder[Event[Any]] = msgspec.json.Decoder(Event[item])  # type: ignore[valid-type]

    def fit(self, body: bytes) -> T:
        """Decode an object; raise the error of its decoder."""
        if self._validate is not None:
            return cast("T", self._validate.model_validate_json(body))
        return cast("T", self._object.decode(body))

    def one(self, body: bytes) -> T:
        """Decode one object; raise BadResponse if it does not match its type."""
        try:
            return self.fit(body)
        except _UNFIT as error:
            found = self._one_or_unreadable(body)
            if isinstance(found, Unreadable):
                raise BadResponse(f"the answer is not a {self._name}: {found.problem}") from error
            return found

    def page(self, body: bytes) -> Page[T]:
        """Decode one page of a list."""
        try:
            page = self._list.decode(body)
            items = page.items or []
            if self._validate is not None:
                items = [self.fit(bytes(item)) for item in items]
        except _UNFIT as error:
            return self._page_by_items(body, error)
        return Page(items, page.metadata.resource_version, page.metadata.next_token)

    def event(self, line: Line) -> Event[T] | UnreadableEvent | Bookmark | Status:
        """Decode one line of a watch stream; a Status means that the stream has failed."""
        try:
            event = self._event.decode(line)
            if event.type not in _CONTROL_TYPES:
                if self._validate is None:
                    return event
                return Event(event.type, self.fit(bytes(event.object)))
        except _UNFIT as error:
            # The object of a bookmark is almost empty: a strict projection may not match it.
            if not _is_control(line):
                return self._unfit_event(bytes(line), error)
        return _control(line)

    def events(
        self, lines: Iterable[Line]
    ) -> tuple[list[Event[T] | UnreadableEvent | Bookmark], KubeError | None]:
        """Decode lines up to the first one that reports a failure, or is not JSON.

        A line of JSON that is not an event is an Unreadable without a name.
        """
        events: list[Event[T] | UnreadableEvent | Bookmark] = []
        for line in lines:
            try:
                event = self.event(line)
            except BadResponse as error:
                if _is_control(line) or _whole(bytes(line)) is None:
                    return events, error
                event = UnreadableEvent("", Unreadable(Metadata(), str(error)))
            if isinstance(event, Status):
                return events, from_status(event)
            events.append(event)
        return events, None

    def _page_by_items(self, body: bytes, error: Exception) -> Page[T]:
        """Decode the items of a page one by one, because one of them does not match its type."""
        try:
            parts = dict(members(body))
            metadata = _LIST_METADATA.decode(parts.get(b'"metadata"', b"{}"))
            items = parts.get(b'"items"', b"null")
            bodies = [item for _, item in members(items)] if items != b"null" else []
        except _UNFIT:
            raise BadResponse(f"the answer is not a list: {problem_of(error)}") from error
        found = [self._one_or_unreadable(body) for body in bodies]
        return Page(
            [value for value in found if not isinstance(value, Unreadable)],
            metadata.resource_version,
            metadata.next_token,
            tuple(value for value in found if isinstance(value, Unreadable)),
        )

    def _one_or_unreadable(self, body: bytes) -> T | Unreadable:
        try:
            return self.fit(body)
        except _UNFIT as error:
            found = self._unreadable(body, error)
            # Parsers skip a limited number of levels; a PartialObject needs only the metadata.
            return cast("T", PartialObject(found.metadata)) if self._is_partial else found

    def _unfit_event(self, line: bytes, error: Exception) -> Event[T] | UnreadableEvent:
        found = _whole(line) or {}
        kind, value = found.get(b'"type"', b""), found.get(b'"object"', b"")
        if kind not in _CHANGES or not value.startswith(b"{"):
            raise BadResponse(f"the line is not a watch event: {problem_of(error)}") from error
        # Decoded again: the line may be nested too deeply while its object is not.
        decoded = self._one_or_unreadable(value)
        if isinstance(decoded, Unreadable):
            return UnreadableEvent(_CHANGES[kind], decoded)
        return Event(_CHANGES[kind], decoded)

    def _unreadable(self, body: bytes, error: Exception) -> Unreadable:
        try:
            return unreadable(body, error)
        except _UNFIT as reason:
            text = f"the answer is not a {self._name}: {problem_of(reason)}"
            raise BadResponse(text) from error


_CHANGES = {b'"%b"' % kind.encode(): kind for kind in ("ADDED", "MODIFIED", "DELETED")}


def _is_control(line: Line) -> bool:
    return bytes(line[:20]).startswith((b'{"type":"BOOKMARK"', b'{"type":"ERROR"'))


def _whole(line: bytes) -> dict[bytes, bytes] | None:
    """Return the members of a line that is one object of any depth; None if it is not."""
    try:
        return dict(members(line)) if line[:1] + line[-1:] == b"{}" else None
    except msgspec.DecodeError:
        return None


_CODECS: dict[type, Codec[Any]] = {}


def codec_for(into: type[T]) -> Codec[T]:
    """Return the codec of a type; decoders are built once per type."""
    codec = _CODECS.get(into)
    if codec is None:
        codec = _CODECS[into] = Codec(into)
    return codec


def encode(value: Mapping[str, object] | Sequence[Mapping[str, object]]) -> bytes:
    """Return JSON, with the keys in the given order."""
    return msgspec.json.encode(value)


_LIST_METADATA = msgspec.json.Decoder(_ListMetadata)
_CONTROL = msgspec.json.Decoder(Event[msgspec.Raw])
_STATUS = msgspec.json.Decoder(Status)
_PARTIAL = msgspec.json.Decoder(PartialObject)


def _control(line: Line) -> Bookmark | Status:
    try:
        event = _CONTROL.decode(line)
        if event.type == "ERROR":
            return _STATUS.decode(event.object)
        metadata = _PARTIAL.decode(event.object).metadata
    except _UNFIT as error:
        raise BadResponse(f"the line is not a watch event: {problem_of(error)}") from error
    return Bookmark(
        metadata.resource_version, metadata.annotations.get(INITIAL_EVENTS_END) == "true"
    )
