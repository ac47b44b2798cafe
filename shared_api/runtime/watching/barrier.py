"""Our writes that the watch has not shown yet.

A reconcile between its own write and the watch event of that write would act on an old state:
create a second pod, or delete a second surplus pod. So each write is noted with the version that
the server returned, and each deletion with the UID, until the watch has passed them. Versions of
one resource are growing integers (KEP-5504). So the version up to which the watch has delivered
everything settles all older writes, also of an object that was removed meanwhile.
"""

import asyncio
import heapq

from shared_api.kube.metadata import ObjectKey


class Barrier:
    """The pending writes of one cache."""

    def __init__(self) -> None:
        self._seen = ""
        self._versions: dict[ObjectKey, int] = {}
        self._deletions: dict[ObjectKey, set[str]] = {}
        # Every noted version; entries that a later write of the key has replaced are ignored.
        self._order: list[tuple[int, ObjectKey]] = []
        self._waiters: dict[ObjectKey, asyncio.Event] = {}

    def __len__(self) -> int:
        """Return how many keys have pending writes."""
        return len(self._versions.keys() | self._deletions.keys())

    def note_write(self, key: ObjectKey, resource_version: str) -> None:
        """Note a write by the version that the server returned."""
        version = parse_version(resource_version)
        if version > max(parse_version(self._seen), self._versions.get(key, 0)):
            self._versions[key] = version
            heapq.heappush(self._order, (version, key))

    def note_deletion(self, key: ObjectKey, uid: str) -> None:
        """Note that we deleted the object with this UID."""
        self._deletions.setdefault(key, set()).add(uid)

    def advance(self, resource_version: str) -> None:
        """Note that the watch has delivered everything up to this version."""
        self._seen = resource_version
        if not self._order:
            # The fast path: most events meet no write of ours.
            return
        seen = parse_version(resource_version)
        while self._order and self._order[0][0] <= seen:
            version, key = heapq.heappop(self._order)
            if self._versions.get(key) == version:
                del self._versions[key]
                self._notify(key)

    def removed(self, key: ObjectKey, uid: str) -> None:
        """Note that the object with this UID is gone or being deleted."""
        uids = self._deletions.get(key)
        if uids is not None:
            uids.discard(uid)
            if not uids:
                del self._deletions[key]
                self._notify(key)

    def is_leaving(self, key: ObjectKey) -> bool:
        """Tell whether we deleted an object of this key that the watch still shows."""
        return key in self._deletions

    def is_caught_up(self, key: ObjectKey) -> bool:
        """Tell whether the watch has shown all our writes to this key."""
        return key not in self._versions and key not in self._deletions

    async def caught_up(self, key: ObjectKey) -> None:
        """Wait until the watch has shown all our writes to this key."""
        while not self.is_caught_up(key):
            await self._waiters.setdefault(key, asyncio.Event()).wait()

    def _notify(self, key: ObjectKey) -> None:
        if self.is_caught_up(key) and (waiter := self._waiters.pop(key, None)) is not None:
            waiter.set()


def parse_version(resource_version: str) -> int:
    """Return a resource version as a number; an unknown one is older than all."""
    return int(resource_version) if resource_version.isdecimal() else 0


def is_newer(version: str, than: str | None) -> bool:
    """Compare versions as KEP-5504 does: by length, then as text."""
    than = than or ""
    return len(version) > len(than) or (len(version) == len(than) and version > than)
