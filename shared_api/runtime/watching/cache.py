"""The latest version of every object of one source, without a request to the API server.

A cache has objects by key, by UID and by the indexes that its owner declares. Only `run` writes it;
values are frozen. An object with the name of a deleted one is a deletion and an addition, never an
update. After a re-list, objects that were not sent again are removed, and subscribers are called as
for a deletion. Subscribers are functions of the old and the new value, called before the next
delta is processed. A subscriber that raises is reported; the others are called all the same.

An object that cannot be decoded is kept apart, by its metadata. Its last readable version stays in
the cache, so that its children are not deleted because of one unreadable field. It stays until the
object is readable again, is removed, or is being deleted.
"""

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec
import structlog

from shared_api.kube.codec import Projection, share_memory
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
"""Returns the index values of an object; a pure function."""
Handler = Callable[[T | None, T | None], None]
"""Called with the old and the new value of an object; either may be missing."""
UnreadableHandler = Callable[[Unreadable | None, Unreadable | None], None]
"""Called when an object becomes unreadable, changes while it is, or is no longer."""


class _Entry(msgspec.Struct, Generic[T], eq=False, gc=False):
    """One object; indexes refer to the entry, so an update does not touch them."""

    key: ObjectKey
    value: T


class Cache(Generic[T]):
    """The objects of one source."""

    def __init__(
        self,
        indexes: Mapping[str, Indexer[T]] | None = None,
        *,
        name: str = "",
        on_defect: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._objects: dict[ObjectKey, _Entry[T]] = {}
        self._by_uid: dict[str, _Entry[T]] = {}
        self._indexers = dict(indexes or {})
        self._indexes: dict[str, dict[Hashable, dict[_Entry[T], None]]] = {
            name: {} for name in self._indexers
        }
        self._handlers: list[Handler[T]] = []
        self._overwritten_handlers: list[Handler[T]] = []
        self._unreadable: dict[ObjectKey, Unreadable] = {}
        self._unreadable_handlers: list[UnreadableHandler] = []
        self._on_defect = on_defect
        self._synced = asyncio.Event()
        # The entries that the running re-list has sent; None outside of a re-list.
        self._sent: set[_Entry[T]] | None = None
        self._unreadable_unsent: set[ObjectKey] = set()
        """Unreadable objects that the running re-list has not sent."""
        self.barrier = Barrier()
        self.own_writes = OwnWrites()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """Iterate over all objects; do not await meanwhile."""
        return (entry.value for entry in self._objects.values())

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._objects

    @property
    def is_synced(self) -> bool:
        """Tell whether the first list is complete."""
        return self._synced.is_set()

    def get(self, key: ObjectKey) -> T | None:
        """Return the object of this namespace and name."""
        entry = self._objects.get(key)
        return None if entry is None else entry.value

    def get_by_uid(self, uid: str) -> T | None:
        """Return the object with this UID."""
        entry = self._by_uid.get(uid)
        return None if entry is None else entry.value

    def by_index(self, index: str, value: Hashable) -> list[T]:
        """Return the objects with this index value, in the order of their arrival."""
        return [entry.value for entry in self._indexes[index].get(value, ())]

    def subscribe(self, handler: Handler[T], *, by_others: bool = False) -> None:
        """Call a function with every change; with `by_others`, not for own status writes."""
        (self._overwritten_handlers if by_others else self._handlers).append(handler)

    @property
    def unreadable(self) -> Mapping[ObjectKey, Unreadable]:
        """The objects that cannot be decoded now."""
        return self._unreadable

    def knows(self, key: ObjectKey) -> bool:
        """Tell whether an object of this key exists, readable or not."""
        return key in self._objects or key in self._unreadable

    def subscribe_unreadable(self, handler: UnreadableHandler) -> None:
        """Call a function whenever an object becomes unreadable, or readable again."""
        self._unreadable_handlers.append(handler)

    async def wait_synced(self) -> None:
        """Wait until the first list is complete."""
        await self._synced.wait()

    def note_write(self, key: ObjectKey, resource_version: str) -> None:
        """Note a write by the version that the server returned."""
        self.barrier.note_write(key, resource_version)

    def note_deletion(self, key: ObjectKey, uid: str) -> None:
        """Note a deletion, unless the cache shows it already."""
        found = self.get_by_uid(uid)
        if found is not None and found.metadata.deletion_timestamp is None:
            self.barrier.note_deletion(key, uid)

    def is_leaving(self, key: ObjectKey) -> bool:
        """Tell whether we deleted an object that is still shown.

        The event of its children may come before its own.
        """
        return self.barrier.is_leaving(key)

    def is_caught_up(self, key: ObjectKey) -> bool:
        """Tell whether the cache shows all our writes to this key."""
        return self.barrier.is_caught_up(key)

    async def caught_up(self, key: ObjectKey) -> None:
        """Wait until the cache shows all our writes to this key."""
        await self.barrier.caught_up(key)

    async def run(self, reflector: Reflector[T]) -> None:
        """Process the deltas of a reflector until cancelled."""
        async with contextlib.aclosing(reflector.batches()) as batches:
            async for deltas in batches:
                for delta in deltas:
                    self.take(delta)

    def take(self, delta: Delta[T]) -> None:
        """Process one delta and call the subscribers."""
        if isinstance(delta, Changed):
            # The fast path: nearly all deltas are changes.
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
                self._unreadable_unsent = set(self._unreadable)
            case Synced(resource_version=version):
                self._sweep()
                self.barrier.advance(version)
                self._synced.set()

    def _put(self, value: T) -> None:
        version = value.metadata.resource_version or ""
        entry = self._entry_of(value)
        if entry is None:
            entry = self._add(value)
        elif self._sent is not None or is_newer(version, entry.value.metadata.resource_version):
            # A re-list is right even if an etcd restore turned versions back.
            self._replace(entry, value)
        if self._sent is None:
            self.barrier.advance(version)
        else:
            # Versions of a re-list come in no order.
            self._sent.add(entry)
        if self._unreadable:
            self._readable(value)

    def _put_unreadable(self, value: Unreadable) -> None:
        metadata = value.metadata
        if not metadata.name:
            self._notify_unreadable(None, value)
            return
        key, entry = metadata.key, self._entry_of(value)
        if entry is None and (displaced := self._objects.get(key)) is not None:
            self._drop(displaced)
        elif entry is not None and metadata.deletion_timestamp is not None:
            # Its last readable version is not terminating: its children would be recreated.
            self._drop(entry)
        elif entry is not None and self._sent is not None:
            self._sent.add(entry)
        if metadata.deletion_timestamp is not None:
            self.barrier.removed(key, metadata.uid)
        self._unreadable_unsent.discard(key)
        known = self._unreadable.get(key)
        if known is None or known.metadata.resource_version != metadata.resource_version:
            self._unreadable[key] = value
            self._notify_unreadable(known, value)
        self._passed(value)

    def _readable(self, value: T | Unreadable) -> None:
        """Note that an object is readable again, or is gone."""
        known = self._unreadable.get(key_of(value))
        if known is None or (
            isinstance(value, Unreadable) and known.metadata.uid != value.metadata.uid
        ):
            return
        del self._unreadable[known.metadata.key]
        self._notify_unreadable(known, None)

    def _discard(self, value: T | Unreadable) -> None:
        entry = self._entry_of(value)
        if entry is not None:
            self._drop(entry)

    def _passed(self, value: T | Unreadable) -> None:
        # Versions of a re-list come in no order.
        if self._sent is None:
            self.barrier.advance(value.metadata.resource_version or "")

    def _sweep(self) -> None:
        sent, self._sent = self._sent, None
        if sent is not None and len(sent) < len(self._objects):
            for entry in [entry for entry in self._objects.values() if entry not in sent]:
                self._drop(entry)
        for key in self._unreadable_unsent & self._unreadable.keys():
            self._readable(self._unreadable[key])
        self._unreadable_unsent = set()

    def _entry_of(self, value: T | Unreadable) -> _Entry[T] | None:
        # The name of a UID never changes; few kinds have objects without a UID.
        uid = value.metadata.uid
        return self._by_uid.get(uid) if uid else self._objects.get(key_of(value))

    def _add(self, value: T) -> _Entry[T]:
        key = key_of(value)
        if (displaced := self._objects.get(key)) is not None:
            self._drop(displaced)
        share_memory(value)
        entry = self._objects[key] = _Entry(key, value)
        if value.metadata.uid:
            self._by_uid[value.metadata.uid] = entry
        for name, indexer in self._indexers.items():
            self._refile(name, entry, (), self._values(indexer, value))
        self._stored(entry, None)
        return entry

    def _replace(self, entry: _Entry[T], value: T) -> None:
        old = entry.value
        if old.metadata.resource_version == value.metadata.resource_version:
            return
        share_memory(value)
        entry.value = value
        for name, indexer in self._indexers.items():
            before, after = self._values(indexer, old), self._values(indexer, value)
            if before != after:
                self._refile(name, entry, before, after)
        self._stored(entry, old)

    def _stored(self, entry: _Entry[T], old: T | None) -> None:
        metadata = entry.value.metadata
        if metadata.deletion_timestamp is not None:
            self.barrier.removed(entry.key, metadata.uid or "")
        self._notify(old, entry.value)

    def _drop(self, entry: _Entry[T]) -> None:
        old = entry.value
        uid = old.metadata.uid or ""
        del self._objects[entry.key]
        self._by_uid.pop(uid, None)
        for name, indexer in self._indexers.items():
            self._refile(name, entry, self._values(indexer, old), ())
        self.barrier.removed(entry.key, uid)
        self.own_writes.forget(uid)
        self._notify(old, None)

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

    def _notify(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            self._call(handler, old, new)
        if self._overwritten_handlers and old is not None and new is not None:
            metadata = new.metadata
            self.own_writes.judge(
                metadata.uid or "",
                metadata.resource_version or "",
                lambda: self._notify_overwritten(old, new),
            )

    def _notify_overwritten(self, old: T, new: T) -> None:
        for handler in self._overwritten_handlers:
            self._call(handler, old, new)

    def _notify_unreadable(self, old: Unreadable | None, new: Unreadable | None) -> None:
        for handler in self._unreadable_handlers:
            self._call(handler, old, new)

    def _call(
        self, handler: Callable[[P | None, P | None], None], old: P | None, new: P | None
    ) -> None:
        try:
            handler(old, new)
        except Exception as error:  # noqa: BLE001 - one object must not end the watch
            self._defect(new or old, error)

    def _values(self, indexer: Indexer[T], value: T) -> tuple[Hashable, ...]:
        try:
            return tuple(indexer(value))
        except Exception as error:  # noqa: BLE001 - one object must not end the watch
            self._defect(value, error)
            return ()

    def count_defect(self) -> None:
        """Count an exception that a change of an object has caused."""
        if self._on_defect is not None:
            self._on_defect()

    def _defect(self, about: Projection | None, error: Exception) -> None:
        self.count_defect()
        log.error(
            "an indexer or subscriber failed",
            object=str(key_of(about)) if about is not None else "",
            type=type(about).__name__,
            exc_info=error,
        )


def key_of(value: Projection) -> ObjectKey:
    """Return the namespace and name of an object."""
    return ObjectKey(value.metadata.namespace or "", value.metadata.name)
