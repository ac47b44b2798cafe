"""An API server in memory, for programs that are fed objects which no test could store for real.

It keeps objects, sends watches, and takes writes without judging them. What the product does on
a real server is not shown here, only that nothing which a server may send stops it.
"""

import asyncio
import copy
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any

import msgspec

from shared_api.kube.client import EVERYTHING, Client, Patch, Selector, WatchStart
from shared_api.kube.codec import INITIAL_EVENTS_END, PartialObject, codec_for
from shared_api.kube.http.lines import Line
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource

Object = dict[str, Any]
Place = tuple[str, str]
"""Namespace and name."""

_BORN = "2026-01-01T00:00:00Z"


class Shelf(Client):
    """Objects by kind, and the watches on them."""

    def __init__(self) -> None:
        self.kinds: dict[str, dict[Place, Object]] = defaultdict(dict)
        self._no_pages: list[Any] = []
        self._log: list[tuple[int, str, str, bytes]] = []
        self._open: list[tuple[str, Selector, asyncio.Queue[Line]]] = []

    def at(self, urgency: object) -> "Shelf":
        return self

    # What people and other programs do.

    def put(self, resource: Resource, manifest: Mapping[str, Any]) -> Object:
        """Store an object, and tell of it."""
        place = _place(manifest["metadata"])
        held = self.kinds[str(resource)].get(place)
        before = {} if held is None else held["metadata"]
        metadata = {
            "uid": f"uid-{resource.plural}-{'-'.join(place)}",
            "creationTimestamp": _BORN,
            **manifest["metadata"],
            "generation": before.get("generation", 0) + 1,
            "resourceVersion": self._next_version(),
        }
        stored = {**manifest, "metadata": metadata}
        self.kinds[str(resource)][place] = stored
        self._tell("ADDED" if held is None else "MODIFIED", resource, stored)
        return stored

    def remove(self, resource: Resource, place: Place) -> None:
        """Delete an object, and tell of it."""
        found = self.kinds[str(resource)].pop(place, None)
        if found is not None:
            metadata = {**found["metadata"], "resourceVersion": self._next_version()}
            self._tell("DELETED", resource, {**found, "metadata": metadata})

    def found(self, resource: Resource, name: str) -> Object | None:
        """The object of this name, in whatever namespace."""
        return next((v for k, v in self.kinds[str(resource)].items() if k[1] == name), None)

    @property
    def is_read(self) -> bool:
        """Tell whether nothing waits to be read by a watch."""
        return all(waiting.empty() for _, _, waiting in self._open)

    # What the product asks for.

    async def apply(
        self,
        resource: Resource,
        manifest: Mapping[str, Any],
        *,
        field_manager: str,
        subresource: str | None = None,
        into: type[Any] = PartialObject,
        **options: Any,
    ) -> Any:
        held = self.kinds[str(resource)].get(_place(manifest["metadata"]), {})
        wanted = {k: v for k, v in manifest["metadata"].items() if k != "resourceVersion"}
        entry = {
            "manager": field_manager,
            "operation": "Apply",
            "apiVersion": manifest["apiVersion"],
            "subresource": subresource or "",
            "fieldsV1": fields_of({k: v for k, v in manifest.items() if k != "metadata"}),
        }
        others = [
            one
            for one in held.get("metadata", {}).get("managedFields", [])
            if (one["manager"], one.get("subresource", "")) != (field_manager, subresource or "")
        ]
        metadata = {**held.get("metadata", {}), **wanted, "managedFields": [*others, entry]}
        body = {**held, **manifest}
        if "status" in manifest or "status" in held:
            body["status"] = _merged(held.get("status", {}), manifest.get("status", {}))
        return self._answer(self.put(resource, {**body, "metadata": metadata}), into)

    async def create(
        self, resource: Resource, manifest: Mapping[str, Any], *, into: type[Any], **options: Any
    ) -> Any:
        return self._answer(self.put(resource, manifest), into)

    async def patch(
        self, resource: Resource, name: str, namespace: str | None = None, *, patch: Patch, **_: Any
    ) -> PartialObject:
        held = copy.deepcopy(self.kinds[str(resource)][namespace or "", name])
        if isinstance(patch.body, Mapping):
            held = _merged(held, patch.body)
        else:
            for step in patch.body:
                _step(held, step)
        stored = self.put(resource, held)
        version = stored["metadata"]["resourceVersion"]
        return PartialObject(Metadata(name=name, resource_version=version))

    async def delete(
        self, resource: Resource, name: str, namespace: str | None = None, **options: Any
    ) -> None:
        self.remove(resource, (namespace or "", name))

    async def pages(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
        for page in self._no_pages:
            yield page

    async def watch_batches(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        start: WatchStart,
        selector: Selector = EVERYTHING,
        metadata_only: bool = False,
        on_open: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[list[Line], None]:
        on_open()
        waiting: asyncio.Queue[Line] = asyncio.Queue()
        entry = (str(resource), selector, waiting)
        self._open.append(entry)
        try:
            if start.initial_events:
                for line in self._state(str(resource), selector):
                    waiting.put_nowait(line)
            else:
                for version, kind, _, line in self._log:
                    if kind == str(resource) and version > int(start.resource_version or 0):
                        waiting.put_nowait(line)
            while True:
                yield [await waiting.get()]
        finally:
            self._open.remove(entry)

    def _state(self, kind: str, selector: Selector) -> Iterator[Line]:
        for stored in self.kinds[kind].values():
            if _selects(selector, stored):
                yield _line("ADDED", stored)
        end = {"annotations": {INITIAL_EVENTS_END: "true"}, "resourceVersion": self._next_version()}
        yield _line("BOOKMARK", {"metadata": end})

    def _tell(self, kind: str, resource: Resource, stored: Object) -> None:
        line = _line(kind, stored)
        self._log.append((int(stored["metadata"]["resourceVersion"]), str(resource), kind, line))
        for watched, selector, waiting in self._open:
            if watched == str(resource) and _selects(selector, stored):
                waiting.put_nowait(line)

    def _next_version(self) -> str:
        self._version = getattr(self, "_version", 1000) + 1
        return str(self._version)

    def _answer(self, stored: Object, into: type[Any]) -> Any:
        return codec_for(into).one(encoded(stored))


def encoded(value: Any) -> bytes:
    """JSON as the server writes it."""
    return msgspec.json.encode(value)


def fields_of(value: Any) -> Object:
    """The FieldsV1 of something that was applied whole; lists are atomic."""
    if not isinstance(value, dict):
        return {}
    return {f"f:{key}": fields_of(part) for key, part in value.items()}


def _line(kind: str, value: Object) -> bytes:
    return encoded({"type": kind, "object": value})


def _place(metadata: Mapping[str, Any]) -> Place:
    return metadata.get("namespace") or "", metadata["name"]


def _selects(selector: Selector, stored: Object) -> bool:
    labels = stored["metadata"].get("labels") or {}
    for term in filter(None, selector.labels.split(",")):
        key, equals, value = term.partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    name = selector.fields.removeprefix("metadata.name=")
    return name == selector.fields or stored["metadata"]["name"] == name


def _merged(held: Any, change: Any) -> Any:
    """Merge maps, and conditions by type; null takes away, and the rest is replaced."""
    if not isinstance(held, dict) or not isinstance(change, dict):
        return change
    result = {**held}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif key == "conditions" and isinstance(value, list):
            named = {one["type"]: one for one in result.get(key) or []}
            result[key] = list({**named, **{one["type"]: one for one in value}}.values())
        else:
            result[key] = _merged(result.get(key), value)
    return result


def _step(held: Object, step: Mapping[str, Any]) -> None:
    """Carry out one step of a JSON patch; what it tests is not compared."""
    *parents, last = [
        part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]
    ]
    place: Any = held
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
    key = int(last) if isinstance(place, list) and last != "-" else last
    if step["op"] == "remove":
        del place[key]
    elif step["op"] in ("add", "replace"):
        place[key] = step["value"]
