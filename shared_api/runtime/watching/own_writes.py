"""Separates status writes of this process from those of others, by resource versions.

A controller must notice when another process changes a status that it wrote; its own write must
not add its key. The server answers each write with the new version, and the watch shows the same
version. Either may come first: an event that comes while a request is open is kept until the
answer decides. Objects without an open write cost nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from shared_api.runtime.watching.barrier import is_newer

Act = Callable[[], None]


@dataclass(slots=True)
class _OpenWrites:
    """The open writes to one object."""

    open: int = 0
    """Requests without an answer."""
    unseen: set[str] = field(default_factory=set)
    """Versions of answers that no event has shown yet."""
    undecided: dict[str, Act] = field(default_factory=dict)
    """Versions that events showed while a request was open, and what to call if they are not ours."""


class OwnWrites:
    """The open writes to the objects of one cache, by UID."""

    def __init__(self) -> None:
        self._objects: dict[str, _OpenWrites] = {}

    def __len__(self) -> int:
        """Return how many objects have an open write."""
        return len(self._objects)

    def begin(self, uid: str) -> None:
        """Note that a write is about to be sent."""
        self._objects.setdefault(uid, _OpenWrites()).open += 1

    def end(self, uid: str, version: str | None, shown: str | None) -> None:
        """Note the version that the server answered; None if the write failed.

        `shown` is the version in the cache.
        """
        found = self._objects.get(uid)
        if found is None:
            # The object is gone.
            return
        found.open -= 1
        if version is not None:
            is_shown = found.undecided.pop(version, None) is not None
            # A write that changed nothing has the old version and no event.
            if not is_shown and is_newer(version, shown):
                found.unseen.add(version)
        if not found.open:
            undecided, found.undecided = found.undecided, {}
            if not found.unseen:
                del self._objects[uid]
            for act in undecided.values():
                act()

    def judge(self, uid: str, version: str, act: Act) -> None:
        """Call `act` once it is certain that another process wrote this version."""
        found = self._objects.get(uid)
        if found is None:
            act()
            return
        is_own = version in found.unseen
        # Events of one object come in order: older versions will not come any more.
        found.unseen = {one for one in found.unseen if is_newer(one, version)}
        if found.open:
            if not is_own:
                found.undecided[version] = act
            return
        if not found.unseen:
            del self._objects[uid]
        if not is_own:
            act()

    def forget(self, uid: str) -> None:
        """Drop what is known about an object that is gone."""
        self._objects.pop(uid, None)
