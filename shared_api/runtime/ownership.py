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
from collections.abc import Iterator, Mapping
from typing import ClassVar, Generic, Self, TypeVar, cast

import msgspec

from shared_api.kube.codec import codec_for
from shared_api.runtime.predicates import ObjectMetadata, Watched

W = TypeVar("W", bound=Watched)

# Parts of a manifest that say which object is meant; nobody owns them.
_TYPE = ("apiVersion", "kind")
_IDENTITY = ("name", "namespace", "generateName", "uid", "resourceVersion")


class _ManagedFields(msgspec.Struct, frozen=True, rename="camel"):
    manager: str = ""
    operation: str = ""
    api_version: str = ""
    subresource: str = ""
    fields_v1: Mapping[str, object] = msgspec.field(default_factory=dict, name="fieldsV1")


class _ManagedMetadata(msgspec.Struct, frozen=True, rename="camel"):
    managed_fields: tuple[_ManagedFields, ...] = ()


class _Managed(msgspec.Struct, frozen=True):
    metadata: _ManagedMetadata = _ManagedMetadata()


_MANAGED = msgspec.json.Decoder(_Managed)
_TREE = msgspec.json.Decoder(dict[str, object])


class Applied(Generic[W]):
    """An object as some projection, and what each manager has applied to it."""

    into: ClassVar[type[Watched]]
    __slots__ = ("_fingerprints", "object")

    def __init__(self, value: W, fingerprints: Mapping[tuple[str, str], bytes]) -> None:
        self.object = value
        self._fingerprints = fingerprints

    @classmethod
    def model_validate_json(cls, json_data: bytes) -> Self:
        """Decode an object; the codec calls this for types that decode themselves."""
        value = codec_for(cls.into).one(json_data)
        return cls(cast("W", value), dict(_fingerprints(json_data)))

    @property
    def metadata(self) -> ObjectMetadata:
        """The metadata of the object."""
        return self.object.metadata

    def fingerprint(self, manager: str, subresource: str = "") -> bytes | None:
        """What this manager has applied; None if it has applied nothing."""
        return self._fingerprints.get((manager, subresource))


@functools.cache
def applied(into: type[W]) -> type[Applied[W]]:
    """The type to cache where objects of this projection are applied."""
    body = {"into": into, "__slots__": ()}
    return cast("type[Applied[W]]", type(f"Applied{into.__name__}", (Applied,), body))


def fingerprint(manifest: Mapping[str, object]) -> bytes:
    """The fingerprint that an object has once this manifest is applied to it."""
    return _digest(str(manifest.get("apiVersion", "")), manifest)


def extract(live: object, fields: Mapping[str, object]) -> object:
    """The part of a live value that a FieldsV1 set covers, in the live order."""
    parts = [name for name in fields if name != "."]
    if not parts:
        return live
    if isinstance(live, Mapping):
        return {
            name[2:]: extract(live[name[2:]], cast("Mapping[str, object]", fields[name]))
            for name in parts
            if name[:2] == "f:" and name[2:] in live
        }
    if isinstance(live, list):
        wanted = _Entries(parts, fields)
        return [
            extract(item, cast("Mapping[str, object]", inner))
            for item in live
            if (inner := wanted.of(item)) is not None
        ]
    return live


class _Entries:
    """The entries of a list that a FieldsV1 set names, by their keys or by their values.

    Looked up, not compared one by one: a status may list hundreds of things.
    """

    def __init__(self, names: list[str], fields: Mapping[str, object]) -> None:
        self._by_keys: dict[tuple[str, ...], dict[tuple[object, ...], object]] = {}
        self._by_value: dict[object, object] = {}
        for name in names:
            kind, pattern = _matcher(name)
            if kind == "k:" and isinstance(pattern, Mapping):
                of_keys = self._by_keys.setdefault(tuple(pattern), {})
                of_keys[tuple(pattern.values())] = fields[name]
            elif kind == "v:":
                self._by_value[pattern] = fields[name]

    def of(self, item: object) -> object | None:
        """What is owned of an entry; None if it is not."""
        if not isinstance(item, dict):
            # Sets hold plain values; what is no such value is in none.
            return None if isinstance(item, list) else self._by_value.get(item)
        for keys, owned in self._by_keys.items():
            found = owned.get(tuple(item.get(key) for key in keys))
            if found is not None:
                return found
        return None


def _fingerprints(body: bytes) -> Iterator[tuple[tuple[str, str], bytes]]:
    tree: dict[str, object] | None = None
    for entry in _MANAGED.decode(body).metadata.managed_fields:
        if entry.operation != "Apply":
            continue
        tree = tree or _TREE.decode(body)
        owned = cast("Mapping[str, object]", extract(tree, entry.fields_v1))
        yield (entry.manager, entry.subresource), _digest(entry.api_version, owned)


def _digest(api_version: str, manifest: Mapping[str, object]) -> bytes:
    content = {key: value for key, value in manifest.items() if key not in _TYPE}
    metadata = content.pop("metadata", None)
    if isinstance(metadata, Mapping):
        content["metadata"] = {
            key: value for key, value in metadata.items() if key not in _IDENTITY
        }
    # The version is part of it: the server keeps the fields of each version apart.
    text = msgspec.json.encode([api_version, _without_nothing(content)], order="sorted")
    return hashlib.blake2b(text, digest_size=16).digest()


def _without_nothing(value: object) -> object:
    """Drop nulls and empty containers, which the server may store or not."""
    if isinstance(value, Mapping):
        parts = {key: _without_nothing(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part not in (None, {}, [])}
    if isinstance(value, list | tuple):
        return [_without_nothing(part) for part in value]
    return value


@functools.lru_cache(maxsize=4096)
def _matcher(name: str) -> tuple[str, object]:
    return name[:2], msgspec.json.decode(name[2:])
