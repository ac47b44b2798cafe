"""What the API server has told us, ready to be read without asking it.

A cache holds the latest projection of every object of one source, by key and by UID, and
under the secondary indexes that its owner declares. It is written by `run` alone and read
by everybody; values are frozen. An object that took over a name is a deletion and an
addition, never an update. After a re-list, what was not sent again is removed, and its
subscribers are told as if the event had come. Subscribers are plain functions, called in
order with the old and the new value before the next delta is taken. One that raises is reported
and keeps neither the others from being called nor the watch from going on.

An object that cannot be read is kept apart, by its metadata. Its last readable version, if there
was one, stays: what follows from it must not be deleted because of a field that nobody can read.
It stays until the object is readable again, is removed, or begins to terminate.
"""

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec
import structlog

from shared_api.kube.codec import Projection, share
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.watching.barrier import Barrier, is_newer
from shared_api.runtime.watching.own_writes import OwnWrites
from shared_api.runtime.watching.reflector import (
    Advanced,
    Changed,
    Delta,
    Reflector,
    Removed,
    Restarted,
    Synced,
    Undecoded,
)

log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T", bound=Projection)
P = TypeVar("P", bound=Projection)

Indexer = Callable[[T], Iterable[Hashable]]
"""The values under which an object is found; a pure function of the object."""
Handler = Callable[[T | None, T | None], None]
"""Told of a change: the old value and the new one, either of which may be missing."""
UnreadableHandler = Callable[[Unreadable | None, Unreadable | None], None]
"""Called when an object becomes unreadable, changes while it is, or is no longer."""


class _Entry(msgspec.Struct, Generic[T], eq=False, gc=False):
    """The place of one object, in which its value is replaced; no index notices."""

    key: ObjectKey
    value: T


class Cache(Generic[T]):
    """The objects of one source."""

    def __init__(self, indexes: Mapping[str, Indexer[T]] | None = None) -> None:
        self._objects: dict[ObjectKey, _Entry[T]] = {}
        self._by_uid: dict[str, _Entry[T]] = {}
        self._indexers = dict(indexes or {})
        self._indexes: dict[str, dict[Hashable, dict[_Entry[T], None]]] = {
            name: {} for name in self._indexers
        }
        self._handlers: list[Handler[T]] = []
        self._handlers_of_others: list[Handler[T]] = []
        self._unreadable: dict[ObjectKey, Unreadable] = {}
        self._unreadable_handlers: list[UnreadableHandler] = []
        self.on_defect: Callable[[], None] = lambda: None
        """Called when an indexer or a subscriber has raised."""
        self._synced = asyncio.Event()
        # The places filled since the state began to be sent; None outside of that.
        self._sent: set[_Entry[T]] | None = None
        self._unconfirmed: set[ObjectKey] = set()
        """Unreadable objects that were not sent again since then."""
        self.barrier = Barrier()
        self.own_writes = OwnWrites()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """All objects; do not await while iterating."""
        return (entry.value for entry in self._objects.values())

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._objects

    @property
    def is_synced(self) -> bool:
        """Tell whether the whole state has been received once."""
        return self._synced.is_set()

    def get(self, key: ObjectKey) -> T | None:
        """The object of this namespace and name."""
        entry = self._objects.get(key)
        return None if entry is None else entry.value

    def get_by_uid(self, uid: str) -> T | None:
        """The object with this UID, whatever its name."""
        entry = self._by_uid.get(uid)
        return None if entry is None else entry.value

    def by_index(self, index: str, value: Hashable) -> list[T]:
        """The objects that an index files under a value, in the order in which they came."""
        return [entry.value for entry in self._indexes[index].get(value, ())]

    def subscribe(self, handler: Handler[T], *, by_others: bool = False) -> None:
        """Call a function with every change from now on.

        With `by_others`, only with updates that are not status writes of this process.
        """
        (self._handlers_of_others if by_others else self._handlers).append(handler)

    @property
    def unreadable(self) -> Mapping[ObjectKey, Unreadable]:
        """The objects that cannot be read as they are now."""
        return self._unreadable

    def knows(self, key: ObjectKey) -> bool:
        """Tell whether there is an object of this key, readable or not."""
        return key in self._objects or key in self._unreadable

    def subscribe_unreadable(self, handler: UnreadableHandler) -> None:
        """Call a function whenever an object becomes unreadable or is no longer, from now on."""
        self._unreadable_handlers.append(handler)

    async def wait_synced(self) -> None:
        """Wait until the whole state has been received once."""
        await self._synced.wait()

    def note_write(self, key: ObjectKey, resource_version: str) -> None:
        """Remember that we wrote an object, by the version that the server returned."""
        self.barrier.note_write(key, resource_version)

    def note_deletion(self, key: ObjectKey, uid: str) -> None:
        """Remember that we deleted an object; nothing is pending if it is gone already."""
        held = self.get_by_uid(uid)
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
                self._readable(value)
                self._passed(value)
            case Undecoded(object=value):
                self._put_unreadable(value)
            case Advanced(resource_version=version):
                self.barrier.advance(version)
            case Restarted():
                self._sent = set()
                self._unconfirmed = set(self._unreadable)
            case Synced(resource_version=version):
                self._sweep()
                self.barrier.advance(version)
                self._synced.set()

    def _put(self, value: T) -> None:
        version = value.metadata.resource_version or ""
        entry = self._place_of(value)
        if entry is None:
            entry = self._add(value)
        elif self._sent is not None or is_newer(version, entry.value.metadata.resource_version):
            # The state is the truth, even if an etcd restore turned versions back.
            self._replace(entry, value)
        if self._sent is None:
            self.barrier.advance(version)
        else:
            # While the state is being sent, versions come in no order and prove nothing.
            self._sent.add(entry)
        if self._unreadable:
            self._readable(value)

    def _put_unreadable(self, value: Unreadable) -> None:
        metadata = value.metadata
        if not metadata.name:
            self._tell_unreadable(None, value)
            return
        key, entry = metadata.key, self._place_of(value)
        if entry is None and (displaced := self._objects.get(key)) is not None:
            self._drop(displaced)
        elif entry is not None and metadata.deletion_timestamp is not None:
            # As it last was, it does not terminate, and its children would be made again.
            self._drop(entry)
        elif entry is not None and self._sent is not None:
            self._sent.add(entry)
        if metadata.deletion_timestamp is not None:
            self.barrier.removed(key, metadata.uid)
        self._unconfirmed.discard(key)
        held = self._unreadable.get(key)
        if held is None or held.metadata.resource_version != metadata.resource_version:
            self._unreadable[key] = value
            self._tell_unreadable(held, value)
        self._passed(value)

    def _readable(self, value: T | Unreadable) -> None:
        """An object can be read again, or is gone."""
        held = self._unreadable.get(key_of(value))
        if held is None or (
            isinstance(value, Unreadable) and held.metadata.uid != value.metadata.uid
        ):
            return
        del self._unreadable[held.metadata.key]
        self._tell_unreadable(held, None)

    def _discard(self, value: T | Unreadable) -> None:
        entry = self._place_of(value)
        if entry is not None:
            self._drop(entry)

    def _passed(self, value: T | Unreadable) -> None:
        # While the state is being sent, versions come in no order and prove nothing.
        if self._sent is None:
            self.barrier.advance(value.metadata.resource_version or "")

    def _sweep(self) -> None:
        sent, self._sent = self._sent, None
        if sent is not None and len(sent) < len(self._objects):
            for entry in [entry for entry in self._objects.values() if entry not in sent]:
                self._drop(entry)
        for key in self._unconfirmed & self._unreadable.keys():
            self._readable(self._unreadable[key])
        self._unconfirmed = set()

    def _place_of(self, value: T | Unreadable) -> _Entry[T] | None:
        # The name of a UID never changes. Few kinds have objects without one.
        uid = value.metadata.uid
        return self._by_uid.get(uid) if uid else self._objects.get(key_of(value))

    def _add(self, value: T) -> _Entry[T]:
        key = key_of(value)
        if (displaced := self._objects.get(key)) is not None:
            self._drop(displaced)
        share(value, None)
        entry = self._objects[key] = _Entry(key, value)
        if value.metadata.uid:
            self._by_uid[value.metadata.uid] = entry
        for name, indexer in self._indexers.items():
            self._refile(name, entry, (), self._values(indexer, value))
        self._stored(entry, None)
        return entry

    def _replace(self, entry: _Entry[T], value: T) -> None:
        held = entry.value
        if held.metadata.resource_version == value.metadata.resource_version:
            return
        share(value, held)
        entry.value = value
        for name, indexer in self._indexers.items():
            before, after = self._values(indexer, held), self._values(indexer, value)
            if before != after:
                self._refile(name, entry, before, after)
        self._stored(entry, held)

    def _stored(self, entry: _Entry[T], held: T | None) -> None:
        metadata = entry.value.metadata
        if metadata.deletion_timestamp is not None:
            self.barrier.removed(entry.key, metadata.uid or "")
        self._tell(held, entry.value)

    def _drop(self, entry: _Entry[T]) -> None:
        held = entry.value
        uid = held.metadata.uid or ""
        del self._objects[entry.key]
        self._by_uid.pop(uid, None)
        for name, indexer in self._indexers.items():
            self._refile(name, entry, self._values(indexer, held), ())
        self.barrier.removed(entry.key, uid)
        self.own_writes.forget(uid)
        self._tell(held, None)

    def _refile(
        self, name: str, entry: _Entry[T], before: tuple[Hashable, ...], after: tuple[Hashable, ...]
    ) -> None:
        index = self._indexes[name]
        for value in dict.fromkeys(before):
            if value not in after and (filed := index.get(value)) is not None:
                filed.pop(entry, None)
                if not filed:
                    del index[value]
        for value in after:
            index.setdefault(value, {})[entry] = None

    def _tell(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            self._call(handler, old, new)
        if self._handlers_of_others and old is not None and new is not None:
            metadata = new.metadata
            self.own_writes.judge(
                metadata.uid or "",
                metadata.resource_version or "",
                lambda: self._tell_by_others(old, new),
            )

    def _tell_by_others(self, old: T, new: T) -> None:
        for handler in self._handlers_of_others:
            self._call(handler, old, new)

    def _tell_unreadable(self, old: Unreadable | None, new: Unreadable | None) -> None:
        for handler in self._unreadable_handlers:
            self._call(handler, old, new)

    def _call(
        self, handler: Callable[[P | None, P | None], None], old: P | None, new: P | None
    ) -> None:
        try:
            handler(old, new)
        except Exception as error:  # noqa: BLE001 - one object must not end the watch of all
            self._defect(new or old, error)

    def _values(self, indexer: Indexer[T], value: T) -> tuple[Hashable, ...]:
        try:
            return tuple(indexer(value))
        except Exception as error:  # noqa: BLE001 - one object must not end the watch of all
            self._defect(value, error)
            return ()

    def _defect(self, about: Projection | None, error: Exception) -> None:
        self.on_defect()
        log.error(
            "an indexer or subscriber failed",
            object=str(key_of(about)) if about is not None else "",
            type=type(about).__name__,
            exc_info=error,
        )


def key_of(value: Projection) -> ObjectKey:
    """The namespace and name of an object."""
    return ObjectKey(value.metadata.namespace or "", value.metadata.name)
