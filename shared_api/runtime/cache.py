"""What the API server has told us, ready to be read without asking it.

A cache holds the latest projection of every object of one source, by key and by UID, and
under the secondary indexes that its owner declares. It is written by `run` alone and read
by everybody; values are frozen. An object that took over a name is a deletion and an
addition, never an update. After a re-list, what was not sent again is removed, and its
subscribers are told as if the event had come. Subscribers are plain functions, called in
order with the old and the new value before the next delta is taken.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from shared_api.kube.codec import Projection
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.barrier import Barrier
from shared_api.runtime.watch import (
    Advanced,
    Changed,
    Delta,
    Reflector,
    Removed,
    Restarted,
    Synced,
)

T = TypeVar("T", bound=Projection)

Indexer = Callable[[T], Iterable[str]]
"""The values under which an object is found; a pure function of the object."""
Handler = Callable[[T | None, T | None], None]
"""Told of a change: the old value and the new one, either of which may be missing."""


class Cache(Generic[T]):
    """The objects of one source."""

    def __init__(self, indexes: Mapping[str, Indexer[T]] | None = None) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._by_uid: dict[str, T] = {}
        self._indexers = dict(indexes or {})
        self._indexes: dict[str, dict[str, dict[ObjectKey, T]]] = {
            name: {} for name in self._indexers
        }
        self._handlers: list[Handler[T]] = []
        self._synced = asyncio.Event()
        # The keys sent since the state began to be sent; None outside of that.
        self._sent: set[ObjectKey] | None = None
        self.barrier = Barrier()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """All objects; do not await while iterating."""
        return iter(self._objects.values())

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._objects

    @property
    def is_synced(self) -> bool:
        """Tell whether the whole state has been received once."""
        return self._synced.is_set()

    def get(self, key: ObjectKey) -> T | None:
        """The object of this namespace and name."""
        return self._objects.get(key)

    def get_by_uid(self, uid: str) -> T | None:
        """The object with this UID, whatever its name."""
        return self._by_uid.get(uid)

    def by_index(self, index: str, value: str) -> list[T]:
        """The objects that an index files under a value, in the order in which they came."""
        return list(self._indexes[index].get(value, {}).values())

    def subscribe(self, handler: Handler[T]) -> None:
        """Have a function told of every change from now on."""
        self._handlers.append(handler)

    async def wait_synced(self) -> None:
        """Wait until the whole state has been received once."""
        await self._synced.wait()

    def note_write(self, key: ObjectKey, resource_version: str) -> None:
        """Remember that we wrote an object, by the version that the server returned."""
        self.barrier.note_write(key, resource_version)

    def note_deletion(self, key: ObjectKey, uid: str) -> None:
        """Remember that we deleted an object; nothing is pending if it is gone already."""
        held = self._by_uid.get(uid)
        if held is not None and held.metadata.deletion_timestamp is None:
            self.barrier.note_deletion(key, uid)

    def is_leaving(self, key: ObjectKey) -> bool:
        """Tell whether we deleted an object that is still shown.

        What it owned may go before the cache hears of its own removal.
        """
        return self.barrier.is_leaving(key)

    def is_caught_up(self, key: ObjectKey) -> bool:
        """Tell whether the cache has seen all that we did to this key."""
        return self.barrier.is_caught_up(key)

    async def caught_up(self, key: ObjectKey) -> None:
        """Wait until the cache has seen all that we did to this key."""
        await self.barrier.caught_up(key)

    async def run(self, reflector: Reflector[T]) -> None:
        """Follow a reflector until cancelled."""
        async with contextlib.aclosing(reflector.batches()) as batches:
            async for deltas in batches:
                for delta in deltas:
                    self.take(delta)

    def take(self, delta: Delta[T]) -> None:
        """Let one delta change the state, and tell the subscribers."""
        if isinstance(delta, Changed):
            # Nearly all deltas are changes, and of these there are thousands in a burst.
            self._put(delta.object)
            return
        match delta:
            case Removed(object=value):
                self._discard(value)
                self._passed(value)
            case Advanced(resource_version=version):
                self.barrier.advance(version)
            case Restarted():
                self._sent = set()
            case Synced(resource_version=version):
                self._sweep()
                self.barrier.advance(version)
                self._synced.set()

    def _put(self, value: T) -> None:
        metadata = value.metadata
        version = metadata.resource_version or ""
        key = ObjectKey(metadata.namespace or "", metadata.name)
        held = self._objects.get(key)
        known = ""
        if held is not None:
            known = held.metadata.resource_version or ""
            if held.metadata.uid != metadata.uid:
                self._drop(key, held)
                held = None
        if self._sent is not None:
            # The state is the truth, even if an etcd restore turned versions back. While it
            # is being sent, versions come in no order and prove nothing.
            self._sent.add(key)
            if held is None or known != version:
                self._store(key, held, value)
            return
        if held is None or _is_newer(version, known):
            self._store(key, held, value)
        self.barrier.advance(version)

    def _discard(self, value: T) -> None:
        held = self._by_uid.get(value.metadata.uid or "")
        if held is not None:
            self._drop(key_of(held), held)

    def _passed(self, value: T) -> None:
        # While the state is being sent, versions come in no order and prove nothing.
        if self._sent is None:
            self.barrier.advance(value.metadata.resource_version or "")

    def _sweep(self) -> None:
        sent, self._sent = self._sent, None
        if sent is not None and len(sent) < len(self._objects):
            for key in [key for key in self._objects if key not in sent]:
                self._drop(key, self._objects[key])

    def _store(self, key: ObjectKey, held: T | None, value: T) -> None:
        uid = value.metadata.uid or ""
        self._objects[key] = value
        self._by_uid[uid] = value
        for name, indexer in self._indexers.items():
            before = () if held is None else tuple(indexer(held))
            self._reindex(name, key, before, dict.fromkeys(indexer(value), value))
        if value.metadata.deletion_timestamp is not None:
            self.barrier.removed(key, uid)
        self._tell(held, value)

    def _drop(self, key: ObjectKey, held: T) -> None:
        uid = held.metadata.uid or ""
        del self._objects[key]
        del self._by_uid[uid]
        for name, indexer in self._indexers.items():
            self._reindex(name, key, tuple(indexer(held)), {})
        self.barrier.removed(key, uid)
        self._tell(held, None)

    def _reindex(
        self, name: str, key: ObjectKey, before: tuple[str, ...], after: Mapping[str, T]
    ) -> None:
        index = self._indexes[name]
        for entry in before:
            if entry not in after:
                del index[entry][key]
                if not index[entry]:
                    del index[entry]
        for entry, value in after.items():
            index.setdefault(entry, {})[key] = value

    def _tell(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            handler(old, new)


def key_of(value: Projection) -> ObjectKey:
    """The namespace and name of an object."""
    return ObjectKey(value.metadata.namespace or "", value.metadata.name)


def _is_newer(version: str, than: str) -> bool:
    """Compare decimal numbers without leading zeros as KEP-5504 does: by length, then text."""
    return len(version) > len(than) or (len(version) == len(than) and version > than)
