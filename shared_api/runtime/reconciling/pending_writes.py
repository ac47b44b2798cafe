"""Which of a controller's writes its caches have not shown it yet.

A reconcile of one key writes many objects, of several kinds. The next reconcile of that key
must see all of them, or it would create or delete again. Each cache knows when it has
caught up with a write; this ledger remembers which writes belong to which key. A key with
nothing outstanding costs nothing.
"""

from typing import Protocol

from shared_api.kube.metadata import ObjectKey


class Shows(Protocol):
    """A cache, as far as own writes are concerned."""

    def note_write(self, key: ObjectKey, resource_version: str) -> None:
        """Remember a write by the version that the server returned."""

    def note_deletion(self, key: ObjectKey, uid: str) -> None:
        """Remember that the object with this UID was deleted."""

    def is_caught_up(self, key: ObjectKey) -> bool:
        """Tell whether everything noted has been seen."""

    async def caught_up(self, key: ObjectKey) -> None:
        """Wait until everything noted has been seen."""


class PendingWrites:
    """The outstanding writes of one controller, by the key that was reconciled."""

    def __init__(self) -> None:
        self._outstanding: dict[ObjectKey, set[tuple[Shows, ObjectKey]]] = {}

    def __len__(self) -> int:
        return len(self._outstanding)

    def wrote(self, key: ObjectKey, cache: Shows, child: ObjectKey, version: str) -> None:
        """While reconciling `key`, a child was written."""
        cache.note_write(child, version)
        self._expect(key, cache, child)

    def deleted(self, key: ObjectKey, cache: Shows, child: ObjectKey, uid: str) -> None:
        """While reconciling `key`, a child was deleted."""
        cache.note_deletion(child, uid)
        self._expect(key, cache, child)

    def is_settled(self, key: ObjectKey) -> bool:
        """Tell whether every write for this key has been seen."""
        outstanding = self._outstanding.get(key)
        if outstanding is None:
            return True
        outstanding -= {(cache, child) for cache, child in outstanding if cache.is_caught_up(child)}
        if outstanding:
            return False
        del self._outstanding[key]
        return True

    async def settled(self, key: ObjectKey) -> None:
        """Wait until every write for this key has been seen."""
        while not self.is_settled(key):
            cache, child = next(iter(self._outstanding[key]))
            await cache.caught_up(child)

    def _expect(self, key: ObjectKey, cache: Shows, child: ObjectKey) -> None:
        # The watch may be faster than the answer to the write.
        if not cache.is_caught_up(child):
            self._outstanding.setdefault(key, set()).add((cache, child))
