"""Computes what a field manager has applied to an object, as a fingerprint of the live object.

The server records in `managedFields` which fields each manager owns. Exactly these fields of the
live object are what the manager last applied, with their current values. If they equal the desired
manifest, applying it again changes nothing: no value, and no ownership. So a watch event is enough
to decide whether a write would change anything, also right after a start. No annotation and no
request is needed.

A fingerprint costs many times more than decoding, and most versions are replaced before one is
needed. So the bytes of the newest versions are kept until then, and afterwards only the
fingerprints. Where the server rewrites a value (defaults inside an atomic list, another form of a
quantity), fingerprints differ although nothing would change, and a needless write is sent.
"""

import functools
import hashlib
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import msgspec

from shared_api.kube.codec import codec_for, share_memory
from shared_api.runtime.watching.owners import Owner, controller_of, refers_to
from shared_api.runtime.watching.predicates import ObjectMetadata, Watched

W = TypeVar("W", bound=Watched)

# The fields of a manifest that identify the object; no manager owns them.
_TYPE = frozenset(("apiVersion", "kind"))
_IDENTITY = frozenset(("name", "namespace", "generateName", "uid", "resourceVersion"))
_CONTAINERS = frozenset((dict, list, tuple))

_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])

_UNREAD: "deque[weakref.ref[Applied[Any]]]" = deque()
_MAX_UNREAD = 8192
"""How many versions keep their bytes, about 32 MiB. Beyond it, the oldest is fingerprinted."""


class _Applied(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One entry of `managedFields`; its manager is decoded before its fields are."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    subresource: str = ""
    fields: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="fieldsV1")


class _Managed(msgspec.Struct, frozen=True, gc=False):
    managed_fields: tuple[_Applied, ...] = msgspec.field(default=(), name="managedFields")


_MANAGED = msgspec.json.Decoder(_Managed)


class Applied(Generic[W]):
    """An object as a projection, and what managers have applied to it."""

    into: ClassVar[type[Watched]]
    by: ClassVar[str | None]
    __slots__ = ("__weakref__", "_body", "_known", "object")

    def __init__(self, value: W, fingerprints: Mapping[tuple[str, str], bytes]) -> None:
        self.object = value
        self._known: dict[tuple[str, str], bytes | None] = {**fingerprints}
        self._body: bytes | None = None

    @classmethod
    def model_validate_json(cls, json_data: bytes) -> Self:
        """Decode an object; the codec calls this for types that decode themselves."""
        found = cls(cast("W", codec_for(cls.into).fit(json_data)), {})
        if cls.by is None or cls.by.encode() in json_data:
            found._body = json_data
            _keep_unread(found)
        return found

    def share_memory(self) -> None:
        """Let the object share memory with others."""
        share_memory(self.object)

    @property
    def metadata(self) -> ObjectMetadata:
        """The metadata of the object."""
        return self.object.metadata

    def fingerprint(self, manager: str, subresource: str = "") -> bytes | None:
        """Return the fingerprint of what this manager has applied; None if it applied nothing."""
        place = (manager, subresource)
        if self._body is not None and place not in self._known and self.by in (None, manager):
            self._known[place] = _fingerprint(self._body, *place)
        return self._known.get(place)

    def read(self) -> None:
        """Compute all fingerprints, then drop the bytes."""
        if self._body is not None:
            for entry in _managed(_PARTS.decode(self._body)):
                if entry.operation == "Apply":
                    self.fingerprint(entry.manager, entry.subresource)
            self._body = None


def _keep_unread(value: Applied[Any]) -> None:
    _UNREAD.append(weakref.ref(value))
    if len(_UNREAD) > _MAX_UNREAD and (oldest := _UNREAD.popleft()()) is not None:
        oldest.read()


@functools.cache
def applied(into: type[W], by: str | None = None) -> type[Applied[W]]:
    """Return the type for caches of objects that are applied.

    With `by`, only the fields of that manager are read.
    """
    body = {"into": into, "by": by, "__slots__": ()}
    return cast("type[Applied[W]]", type(f"Applied{into.__name__}", (Applied,), body))


def lost_its_owner(value: Watched, manager: str, owner: Owner) -> bool:
    """Tell whether this manager created an object for an owner that no longer controls it.

    Another client has replaced the owner references. Ours is still among them, no other owner
    controls the object, and `managedFields` shows that we applied it. A foreign object never has
    all three.
    """
    return (
        isinstance(value, Applied)
        and controller_of(value) is None
        and refers_to(value, owner)
        and value.fingerprint(manager) is not None
    )


def fingerprint(manifest: Mapping[str, object]) -> bytes:
    """Return the fingerprint that an object has once this manifest is applied to it."""
    return _digest(str(manifest.get("apiVersion", "")), manifest)


def extract(live: Any, fields: Mapping[str, Any]) -> Any:
    """Return the part of a live value that a FieldsV1 set covers, in the live order."""
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
    """Tell whether a value is owned in parts, not as a whole."""
    return any(name != "." for name in fields)


class _Entries:
    """The entries of a list that a FieldsV1 set names, by their keys or by their values.

    They are in dicts, because a status may list hundreds of entries.
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
        """Return the owned fields of an entry; None if it is not owned."""
        if not isinstance(item, dict):
            # A list of the type `set` contains scalars only.
            return None if isinstance(item, list) else self._by_value.get(item)
        for keys, owned in self._by_keys.items():
            found = owned.get(tuple(item.get(key) for key in keys))
            if found is not None:
                return found
        return None


def _fingerprint(body: bytes, manager: str, subresource: str) -> bytes | None:
    parts = _PARTS.decode(body)
    found = None
    for entry in _managed(parts):
        if (entry.manager, entry.subresource, entry.operation) == (manager, subresource, "Apply"):
            fields = _fields(bytes(entry.fields))
            found = _digest(entry.api_version, extract(_owned_parts(parts, fields), fields))
    return found


def _managed(parts: Mapping[str, msgspec.Raw]) -> tuple[_Applied, ...]:
    return _MANAGED.decode(parts.get("metadata", b"{}")).managed_fields


def _owned_parts(parts: Mapping[str, msgspec.Raw], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Decode the parts of an object that a FieldsV1 set names."""
    owned: dict[str, Any] = {}
    for name, part in parts.items():
        inner = fields.get(f"f:{name}")
        if inner is None:
            continue
        if name == "metadata":
            # Fields that are not owned are skipped, above all `managedFields`, which is large.
            owned[name] = _owned_parts(_PARTS.decode(part), inner)
        else:
            owned[name] = msgspec.json.decode(part)
    return owned


@functools.lru_cache(maxsize=256)
def _fields(text: bytes) -> Mapping[str, Any]:
    """Decode a FieldsV1 set; cached, because most objects of a kind have equal sets."""
    return cast("Mapping[str, Any]", msgspec.json.decode(text))


def _digest(api_version: str, manifest: Mapping[str, Any]) -> bytes:
    content = {key: value for key, value in manifest.items() if key not in _TYPE}
    metadata = content.pop("metadata", None)
    if metadata:
        content["metadata"] = {
            key: value for key, value in metadata.items() if key not in _IDENTITY
        }
    # The API version is included: the server records the fields of each version separately.
    text = msgspec.json.encode([api_version, _without_nothing(content)], order="sorted")
    return hashlib.blake2b(text, digest_size=16).digest()


def _without_nothing(value: Any) -> Any:
    """Return a value without nulls and empty containers, which the server may or may not store."""
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
