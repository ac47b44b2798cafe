"""Which writes of a controller its caches have not shown yet, by the key that was reconciled.

A reconcile of one key writes many objects of several kinds. The next reconcile of that key must
see all of them, or it would create or delete again. Each cache knows when it has caught up with a
write; this module only remembers which writes belong to which key.
"""

from typing import Any

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.watching.cache import Cache


class PendingWrites:
    """The writes of one controller that are not visible yet."""

    def __init__(self) -> None:
        self._pending: dict[ObjectKey, set[tuple[Cache[Any], ObjectKey]]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def wrote(self, key: ObjectKey, cache: Cache[Any], child: ObjectKey, version: str) -> None:
        """Note that the reconcile of `key` wrote a child."""
        cache.note_write(child, version)
        self._expect(key, cache, child)

    def deleted(self, key: ObjectKey, cache: Cache[Any], child: ObjectKey, uid: str) -> None:
        """Note that the reconcile of `key` deleted a child."""
        cache.note_deletion(child, uid)
        self._expect(key, cache, child)

    def is_settled(self, key: ObjectKey) -> bool:
        """Tell whether the caches show every write for this key."""
        pending = self._pending.get(key)
        if pending is None:
            return True
        pending -= {(cache, child) for cache, child in pending if cache.is_caught_up(child)}
        if pending:
            return False
        del self._pending[key]
        return True

    async def settled(self, key: ObjectKey) -> None:
        """Wait until the caches show every write for this key."""
        while not self.is_settled(key):
            cache, child = next(iter(self._pending[key]))
            await cache.caught_up(child)

    def _expect(self, key: ObjectKey, cache: Cache[Any], child: ObjectKey) -> None:
        # The watch event may arrive before the answer to the write.
        if not cache.is_caught_up(child):
            self._pending.setdefault(key, set()).add((cache, child))
