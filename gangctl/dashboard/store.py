"""The documents that the page shows, each with the revision of its last change.

It owns the revisions. A reader has no queue: it has a cursor, the revision up to which it has read,
and gets the latest version of every document that changed since. So a slow page costs no memory and
skips intermediate versions. Deleted documents are remembered up to a limit; a reader whose cursor
is older than that gets everything again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

_CHUNK = 250
_TOMBSTONES = 5_000


@dataclass(frozen=True, slots=True)
class Changes:
    """What a reader gets: documents as JSON, and keys of documents that no longer exist."""

    cursor: int
    put: Mapping[str, msgspec.Raw]
    deleted: tuple[str, ...] = ()
    is_reset: bool = False
    """The reader must forget what it has."""
    is_complete: bool = True
    """There is nothing more to read now."""


@dataclass(slots=True)
class _Entry:
    revision: int
    body: bytes | None
    """None if the document was deleted."""


class DocumentStore:
    """All documents of one dashboard, in the order of their last change."""

    def __init__(self, chunk: int = _CHUNK, tombstones: int = _TOMBSTONES) -> None:
        self._chunk = chunk
        self._limit = tombstones
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._groups: dict[str, frozenset[str]] = {}
        self._revision = 0
        self._deleted = 0
        self._forgotten = 0
        """The revision of the newest deletion that is no longer remembered."""
        self._changed = asyncio.Event()

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self._revision

    def replace(self, group: str, documents: Mapping[str, msgspec.Struct]) -> None:
        """Set the documents of a group; those of the group that are not given are deleted."""
        for key, document in documents.items():
            self._put(key, msgspec.json.encode(document))
        for key in self._groups.get(group, frozenset()) - documents.keys():
            self._put(key, None)
        if documents:
            self._groups[group] = frozenset(documents)
        else:
            self._groups.pop(group, None)
        self._forget_deletions()

    def _put(self, key: str, body: bytes | None) -> None:
        before = self._entries.get(key)
        if (before.body if before else None) == body:
            return
        self._deleted += (body is None) - (before is not None and before.body is None)
        self._revision += 1
        self._entries[key] = _Entry(self._revision, body)
        self._entries.move_to_end(key)
        # Readers wait on the event that they saw, so a new one must replace it.
        self._changed.set()
        self._changed = asyncio.Event()

    def _forget_deletions(self) -> None:
        if self._deleted <= self._limit:
            return
        for key in [key for key, entry in self._entries.items() if entry.body is None]:
            self._forgotten = max(self._forgotten, self._entries.pop(key).revision)
        self._deleted = 0

    def since(self, cursor: int) -> Changes:
        """Return what changed after a cursor, oldest first and at most one chunk."""
        is_reset = cursor == 0 or cursor < self._forgotten or cursor > self._revision
        start = 0 if is_reset else cursor
        put: dict[str, msgspec.Raw] = {}
        deleted: list[str] = []
        newest = start
        for key, entry in self._after(start):
            if len(put) + len(deleted) == self._chunk:
                return Changes(newest, put, tuple(deleted), is_reset, is_complete=False)
            newest = entry.revision
            if entry.body is not None:
                put[key] = msgspec.Raw(entry.body)
            elif not is_reset:
                deleted.append(key)
        return Changes(max(newest, self._revision), put, tuple(deleted), is_reset)

    def _after(self, revision: int) -> list[tuple[str, _Entry]]:
        found = []
        for key in reversed(self._entries):
            entry = self._entries[key]
            if entry.revision <= revision:
                break
            found.append((key, entry))
        found.reverse()
        return found

    async def changed_since(self, cursor: int) -> None:
        """Wait until there is something newer than a cursor."""
        while self._revision <= cursor:
            await self._changed.wait()
