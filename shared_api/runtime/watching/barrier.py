"""What we have written and not yet seen back.

A reconcile that runs between its own write and the watch event of that write would act on
the past: create a second pod, delete a second surplus one. So each write is noted with the
version that the server gave it, and each deletion with the UID, until the watch has passed
them. Versions of one resource are integers that only grow (KEP-5504), so a single number,
the version up to which the watch has delivered everything, settles all older writes at
once, even of an object that somebody else removed in between.
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
        # Every noted version; an entry that a later write of its key has replaced is stale.
        self._order: list[tuple[int, ObjectKey]] = []
        self._waiters: dict[ObjectKey, asyncio.Event] = {}

    def __len__(self) -> int:
        """How many keys have something pending."""
        return len(self._versions.keys() | self._deletions.keys())

    def note_write(self, key: ObjectKey, resource_version: str) -> None:
        """Remember a write by the version that the server returned."""
        version = parse_version(resource_version)
        if version > max(parse_version(self._seen), self._versions.get(key, 0)):
            self._versions[key] = version
            heapq.heappush(self._order, (version, key))

    def note_deletion(self, key: ObjectKey, uid: str) -> None:
        """Remember that we deleted the object with this UID."""
        self._deletions.setdefault(key, set()).add(uid)

    def advance(self, resource_version: str) -> None:
        """The watch has delivered everything up to this version."""
        self._seen = resource_version
        if not self._order:
            # Most events meet no write of ours, and need no number.
            return
        seen = parse_version(resource_version)
        while self._order and self._order[0][0] <= seen:
            version, key = heapq.heappop(self._order)
            if self._versions.get(key) == version:
                del self._versions[key]
                self._wake(key)

    def removed(self, key: ObjectKey, uid: str) -> None:
        """The object with this UID is gone or going."""
        uids = self._deletions.get(key)
        if uids is not None:
            uids.discard(uid)
            if not uids:
                del self._deletions[key]
                self._wake(key)

    def is_leaving(self, key: ObjectKey) -> bool:
        """Tell whether we deleted an object of this key and have not seen it go yet."""
        return key in self._deletions

    def is_caught_up(self, key: ObjectKey) -> bool:
        """Tell whether everything that we did to this key has been seen."""
        return key not in self._versions and key not in self._deletions

    async def caught_up(self, key: ObjectKey) -> None:
        """Wait until everything that we did to this key has been seen."""
        while not self.is_caught_up(key):
            await self._waiters.setdefault(key, asyncio.Event()).wait()

    def _wake(self, key: ObjectKey) -> None:
        if self.is_caught_up(key) and (waiter := self._waiters.pop(key, None)) is not None:
            waiter.set()


def parse_version(resource_version: str) -> int:
    """A resource version as the number that it is; an unknown one is older than all."""
    return int(resource_version) if resource_version.isdecimal() else 0


def is_newer(version: str, than: str | None) -> bool:
    """Compare decimal numbers without leading zeros as KEP-5504 does: by length, then text."""
    than = than or ""
    return len(version) > len(than) or (len(version) == len(than) and version > than)
