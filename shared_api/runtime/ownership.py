"""What a field manager has applied to an object, as a fingerprint of the live object.

The server records in `managedFields` which fields each manager owns. Cutting exactly those
fields out of the live object gives back what the manager last applied, with today's values.
If that equals what the manager wants now, applying it again changes nothing: no value (they
are equal), and no ownership (neither side has a field that the other lacks). So the
question "would this write change anything" is answered from a watch event, also right after
a start, without an annotation and without asking the server.

Only the fingerprint is kept, so a cached object stays as small as its projection. The
answer errs to one side: where the server rewrites a value that it stores (defaults inside
an atomic list, another spelling of a quantity), fingerprints differ though nothing would
change, and a write that changes nothing is sent.
"""

import functools
import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import msgspec

from shared_api.kube.codec import codec_for
from shared_api.runtime.predicates import ObjectMetadata, Watched

W = TypeVar("W", bound=Watched)

# Parts of a manifest that say which object is meant; nobody owns them.
_TYPE = frozenset(("apiVersion", "kind"))
_IDENTITY = frozenset(("name", "namespace", "generateName", "uid", "resourceVersion"))
_CONTAINERS = frozenset((dict, list, tuple))

_TREE = msgspec.json.Decoder(dict[str, Any])

_Fingerprints = Mapping[tuple[str, str], bytes]


class _Recent:
    """Fingerprints of versions that are about to be met again.

    A version that we wrote comes twice, as the answer and as an event. It is the same object
    both times, so the second time is free.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[tuple[object, ...], _Fingerprints] = {}

    def take(self, version: tuple[object, ...]) -> _Fingerprints | None:
        return self._held.pop(version, None)

    def hold(self, version: tuple[object, ...], found: _Fingerprints) -> None:
        self._held[version] = found
        if len(self._held) > self._size:
            del self._held[next(iter(self._held))]


_RECENT = _Recent(4096)


class Applied(Generic[W]):
    """An object as some projection, and what managers have applied to it."""

    into: ClassVar[type[Watched]]
    by: ClassVar[str | None]
    __slots__ = ("_fingerprints", "object")

    def __init__(self, value: W, fingerprints: _Fingerprints) -> None:
        self.object = value
        self._fingerprints = fingerprints

    @classmethod
    def model_validate_json(cls, json_data: bytes) -> Self:
        """Decode an object; the codec calls this for types that decode themselves."""
        value = codec_for(cls.into).one(json_data)
        metadata = value.metadata
        version = (metadata.uid, metadata.resource_version, cls.by)
        found = _RECENT.take(version)
        if found is None:
            found = _fingerprints(json_data, cls.by)
            if metadata.uid and metadata.resource_version:
                _RECENT.hold(version, found)
        return cls(cast("W", value), found)

    @property
    def metadata(self) -> ObjectMetadata:
        """The metadata of the object."""
        return self.object.metadata

    def fingerprint(self, manager: str, subresource: str = "") -> bytes | None:
        """What this manager has applied; None if it has applied nothing."""
        return self._fingerprints.get((manager, subresource))


@functools.cache
def applied(into: type[W], by: str | None = None) -> type[Applied[W]]:
    """The type to cache where objects of this projection are applied.

    With `by`, only what that manager has applied is looked at.
    """
    body = {"into": into, "by": by, "__slots__": ()}
    return cast("type[Applied[W]]", type(f"Applied{into.__name__}", (Applied,), body))


def fingerprint(manifest: Mapping[str, object]) -> bytes:
    """The fingerprint that an object has once this manifest is applied to it."""
    return _digest(str(manifest.get("apiVersion", "")), manifest)


def extract(live: Any, fields: Mapping[str, Any]) -> Any:
    """The part of a live value that a FieldsV1 set covers, in the live order."""
    kind = type(live)
    if kind is dict:
        found = {
            key: extract(live[key], inner) if inner else live[key]
            for name, inner in fields.items()
            if name[:2] == "f:" and (key := name[2:]) in live
        }
        return found or ({} if _names_parts(fields) else live)
    if kind is list and _names_parts(fields):
        wanted = _Entries(fields)
        return [
            extract(item, inner) if inner else item
            for item in live
            if (inner := wanted.of(item)) is not None
        ]
    return live


def _names_parts(fields: Mapping[str, Any]) -> bool:
    """Tell a value that is owned in parts from one that is owned as a whole."""
    return any(name != "." for name in fields)


class _Entries:
    """The entries of a list that a FieldsV1 set names, by their keys or by their values.

    Looked up, not compared one by one: a status may list hundreds of things.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._by_keys: dict[tuple[str, ...], dict[tuple[object, ...], Any]] = {}
        self._by_value: dict[object, Any] = {}
        for name, inner in fields.items():
            if name == ".":
                continue
            kind, pattern = _matcher(name)
            if kind == "k:" and isinstance(pattern, dict):
                of_keys = self._by_keys.setdefault(tuple(pattern), {})
                of_keys[tuple(pattern.values())] = inner
            elif kind == "v:":
                self._by_value[pattern] = inner

    def of(self, item: object) -> Any:
        """What is owned of an entry; None if it is not."""
        if not isinstance(item, dict):
            # Sets hold plain values; what is no such value is in none.
            return None if isinstance(item, list) else self._by_value.get(item)
        for keys, owned in self._by_keys.items():
            found = owned.get(tuple(item.get(key) for key in keys))
            if found is not None:
                return found
        return None


def _fingerprints(body: bytes, by: str | None) -> _Fingerprints:
    if by is not None and by.encode() not in body:
        return {}
    tree = _TREE.decode(body)
    return {
        (entry["manager"], entry.get("subresource", "")): _digest(
            entry.get("apiVersion", ""), extract(tree, entry["fieldsV1"])
        )
        for entry in tree["metadata"].get("managedFields", ())
        if entry.get("operation") == "Apply" and by in (None, entry.get("manager"))
    }


def _digest(api_version: str, manifest: Mapping[str, Any]) -> bytes:
    content = {key: value for key, value in manifest.items() if key not in _TYPE}
    metadata = content.pop("metadata", None)
    if metadata:
        content["metadata"] = {
            key: value for key, value in metadata.items() if key not in _IDENTITY
        }
    # The version is part of it: the server keeps the fields of each version apart.
    text = msgspec.json.encode([api_version, _without_nothing(content)], order="sorted")
    return hashlib.blake2b(text, digest_size=16).digest()


def _without_nothing(value: Any) -> Any:
    """Drop nulls and empty containers, which the server may store or not."""
    if type(value) is not dict:
        return [_without_nothing(part) if type(part) in _CONTAINERS else part for part in value]
    parts = {}
    for key, part in value.items():
        if type(part) in _CONTAINERS:
            if rest := _without_nothing(part):
                parts[key] = rest
        elif part is not None:
            parts[key] = part
    return parts


@functools.lru_cache(maxsize=4096)
def _matcher(name: str) -> tuple[str, object]:
    return name[:2], msgspec.json.decode(name[2:])
