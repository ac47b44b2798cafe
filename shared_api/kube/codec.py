"""Bytes of the API server, decoded once into the few fields that are used.

A *projection* is a type with a `metadata` attribute and a default for every other field:
a msgspec Struct (the fast way) or a pydantic model (by its own JSON validator). What a
projection does not name is skipped by the parser and never becomes a Python object. This
module knows envelopes (object, list page, watch event), not kinds.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import msgspec

from shared_api.kube.errors import BadResponse, KubeError, Status, from_status, shorten
from shared_api.kube.lines import Line
from shared_api.kube.metadata import Metadata

JSON: TypeAlias = "str | int | float | bool | list[JSON] | dict[str, JSON] | None"
Manifest: TypeAlias = dict[str, JSON]
"""A desired object, as it goes to the server."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_CONTROL_TYPES = ("BOOKMARK", "ERROR")


class MetadataLike(Protocol):
    """What the runtime reads of an object's metadata."""

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
    """Anything with the metadata of a Kubernetes object."""

    @property
    def metadata(self) -> MetadataLike: ...  # noqa: D102


T = TypeVar("T")


def share(value: Projection, held: Projection | None) -> None:
    """Let an object that is about to be kept share memory with the one that it replaces."""
    if _shares(type(value)):
        cast("Any", value).share_with(held)
    elif isinstance(value.metadata, Metadata):
        before = None if held is None else held.metadata
        value.metadata.share_with(before if isinstance(before, Metadata) else None)


@functools.cache
def _shares(kind: type) -> bool:
    # Asked of the type, since a model looks for long before it says that it has no such attribute.
    return hasattr(kind, "share_with")


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


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """The server's word that everything up to this version has been sent."""

    resource_version: str
    ends_initial_events: bool = False


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; the last one has no `next_token`."""

    items: list[T]
    resource_version: str
    next_token: str = ""


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
    """Decodes the three envelopes around one type of object; get it from `codec_for`."""

    def __init__(self, into: type[T]) -> None:
        self._name = into.__name__
        self._validate: type[_ValidatesJson] | None = None
        item: type[Any] = into
        if issubclass(into, _ValidatesJson):
            self._validate = into
            item = msgspec.Raw
        self._object: msgspec.json.Decoder[Any] = msgspec.json.Decoder(item)
        self._list: msgspec.json.Decoder[_List[Any]] = msgspec.json.Decoder(_List[item])  # type: ignore[valid-type]
        self._event: msgspec.json.Decoder[Event[Any]] = msgspec.json.Decoder(Event[item])  # type: ignore[valid-type]

    def one(self, body: bytes) -> T:
        """Decode one object."""
        try:
            if self._validate is not None:
                return cast("T", self._validate.model_validate_json(body))
            return cast("T", self._object.decode(body))
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._refuse(error) from error

    def page(self, body: bytes) -> Page[T]:
        """Decode one page of a list."""
        try:
            page = self._list.decode(body)
            items = page.items or []
            if self._validate is not None:
                items = [self._item(item) for item in items]
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._refuse(error) from error
        return Page(items, page.metadata.resource_version, page.metadata.next_token)

    def event(self, line: Line) -> Event[T] | Bookmark | Status:
        """Decode one line of a watch stream; a Status means that the stream has failed."""
        try:
            event = self._event.decode(line)
            if event.type not in _CONTROL_TYPES:
                if self._validate is None:
                    return event
                return Event(event.type, self._item(event.object))
        except (msgspec.MsgspecError, ValueError) as error:
            # A strict projection need not fit the almost empty object of a bookmark.
            if not bytes(line[:20]).startswith((b'{"type":"BOOKMARK"', b'{"type":"ERROR"')):
                raise self._refuse(error) from error
        return _control(line)

    def events(self, lines: Iterable[Line]) -> tuple[list[Event[T] | Bookmark], KubeError | None]:
        """Decode lines up to the first one that tells of a failure, or is none itself."""
        events: list[Event[T] | Bookmark] = []
        for line in lines:
            try:
                event = self.event(line)
            except BadResponse as error:
                return events, error
            if isinstance(event, Status):
                return events, from_status(event)
            events.append(event)
        return events, None

    def _item(self, decoded: Any) -> T:
        if self._validate is not None:
            decoded = self._validate.model_validate_json(bytes(decoded))
        return cast("T", decoded)

    def _refuse(self, error: Exception) -> BadResponse:
        # Only the place of the mismatch: a pydantic text would quote the value itself.
        text = (
            shorten(str(error)) if isinstance(error, msgspec.MsgspecError) else "validation failed"
        )
        return BadResponse(f"the answer is no {self._name}: {text}")


_CODECS: dict[type, Codec[Any]] = {}


def codec_for(into: type[T]) -> Codec[T]:
    """The codec of a type; decoders are built once per type."""
    codec = _CODECS.get(into)
    if codec is None:
        codec = _CODECS[into] = Codec(into)
    return codec


def encode(value: Mapping[str, object] | Sequence[Mapping[str, object]]) -> bytes:
    """Write JSON, keys in the order given."""
    return msgspec.json.encode(value)


_CONTROL = msgspec.json.Decoder(Event[msgspec.Raw])
_STATUS = msgspec.json.Decoder(Status)
_PARTIAL = msgspec.json.Decoder(PartialObject)


def _control(line: Line) -> Bookmark | Status:
    try:
        event = _CONTROL.decode(line)
        if event.type == "ERROR":
            return _STATUS.decode(event.object)
        metadata = _PARTIAL.decode(event.object).metadata
    except msgspec.MsgspecError as error:
        raise BadResponse(f"the line is no watch event: {shorten(str(error))}") from error
    return Bookmark(
        metadata.resource_version, metadata.annotations.get(INITIAL_EVENTS_END) == "true"
    )
