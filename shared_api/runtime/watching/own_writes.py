"""Tells the writes of this process from those of others, by the versions of one cache's objects.

A controller must notice when somebody else changes a status that it wrote, and must not be woken
by its own write. The server answers each write with the version that it made, and the watch shows
the same version. Either may come first: an event that comes while a request is open is kept until
the answer tells whose it is. Nothing is kept of an object about which no write is underway.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from shared_api.runtime.watching.barrier import is_newer

Act = Callable[[], None]


@dataclass(slots=True)
class _Underway:
    """The writes to one object."""

    open: int = 0
    """Requests without an answer."""
    unseen: set[str] = field(default_factory=set)
    """Versions that were answered, and that no event has shown yet."""
    undecided: dict[str, Act] = field(default_factory=dict)
    """Versions that events showed while a request was open, and what to do if they are foreign."""


class OwnWrites:
    """The writes to the objects of one cache, by UID."""

    def __init__(self) -> None:
        self._underway: dict[str, _Underway] = {}

    def __len__(self) -> int:
        """How many objects have a write underway."""
        return len(self._underway)

    def begin(self, uid: str) -> None:
        """Note that a write is about to be sent."""
        self._underway.setdefault(uid, _Underway()).open += 1

    def end(self, uid: str, version: str | None, shown: str | None) -> None:
        """Note the version that the server answered, or that the write failed.

        `shown` is the version that the cache shows now.
        """
        found = self._underway.get(uid)
        if found is None:
            # The object is gone.
            return
        found.open -= 1
        if version is not None:
            is_shown = found.undecided.pop(version, None) is not None
            # A write that changed nothing has the version of before, and no event.
            if not is_shown and is_newer(version, shown):
                found.unseen.add(version)
        if not found.open:
            undecided, found.undecided = found.undecided, {}
            if not found.unseen:
                del self._underway[uid]
            for act in undecided.values():
                act()

    def judge(self, uid: str, version: str, act: Act) -> None:
        """Call `act` once it is certain that another process made this version."""
        found = self._underway.get(uid)
        if found is None:
            act()
            return
        is_own = version in found.unseen
        # Events of one object come in order: older versions will not be shown any more.
        found.unseen = {one for one in found.unseen if is_newer(one, version)}
        if found.open:
            if not is_own:
                found.undecided[version] = act
            return
        if not found.unseen:
            del self._underway[uid]
        if not is_own:
            act()

    def forget(self, uid: str) -> None:
        """Note that an object is gone."""
        self._underway.pop(uid, None)
