"""What came of translating a gang and writing it down for its scheduler.

The controller that writes posts it here, the one that tells reads it: neither waits for the
other. It is kept by UID, follows from what is in the cluster, and is found out again by a
process that has just started.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from shared_api import names
from shared_api.kube.podgangs import PodGang
from shared_api.models import PodPreparation

Waker: TypeAlias = Callable[[PodGang], None]


class Stage(StrEnum):
    """How far a gang is on its way to its scheduler; the words are reasons of conditions."""

    UNSUPPORTED = names.REASON_UNSUPPORTED
    UNREADABLE = names.REASON_UNREADABLE
    """An object that a translation follows from cannot be read."""
    CONFLICT = names.REASON_CONFLICT
    REJECTED = "Rejected"
    """The API server refuses the object."""
    FAILED = "WriteFailed"
    """The API server cannot take the object for now, such as while a webhook is down."""
    REPLACING = "Replacing"
    """An object that cannot be changed goes, so that another can take its name."""
    AWAITING = "Awaiting"
    """The scheduler is told once something has happened, such as the release of all pods."""
    PROGRAMMED = names.CONDITION_PROGRAMMED
    OUTDATED = "OutdatedObjectKept"
    """The scheduler works with an older object, since the server does not let it be changed."""


_DONE = frozenset({Stage.PROGRAMMED, Stage.OUTDATED})
_REFUSED = frozenset({Stage.UNSUPPORTED, Stage.UNREADABLE})


@dataclass(frozen=True, slots=True)
class Programming:
    """A gang as its scheduler was told of it."""

    stage: Stage
    message: str = ""
    generation: int = 0
    refusals: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    preparations: tuple[PodPreparation, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Tell whether the scheduler can do what the gang asks for."""
        return self.stage not in _REFUSED

    @property
    def is_done(self) -> bool:
        """Tell whether the scheduler knows the gang."""
        return self.stage in _DONE


class Board:
    """Where it is posted."""

    def __init__(self) -> None:
        self._posted: dict[str, Programming] = {}
        self._running: set[str] = set()
        self._wakers: list[Waker] = []

    def subscribe(self, wake: Waker) -> None:
        """Have a function told of gangs about which there is something new."""
        self._wakers.append(wake)

    def get(self, uid: str) -> Programming | None:
        """What is known of a gang; None before it was translated."""
        return self._posted.get(uid)

    def read(self, uid: str, *, is_running: bool) -> None:
        """What is posted is about to be told of a gang that runs, or does not."""
        if is_running:
            self._running.add(uid)
        else:
            self._running.discard(uid)

    def post(self, gang: PodGang, programming: Programming) -> None:
        """Make something known."""
        uid = gang.metadata.uid
        before = self._posted.get(uid)
        if before is not None and before.generation > programming.generation:
            # Work that began earlier; what it did stands for what was followed meanwhile.
            programming = replace(programming, generation=before.generation)
        if before == programming:
            return
        self._posted[uid] = programming
        if before is not None and uid not in self._running and _is_like(before, programming):
            # A number alone, of which nobody is told before the gang runs.
            return
        for wake in self._wakers:
            wake(gang)

    def forget(self, uid: str) -> None:
        """A gang is gone."""
        self._posted.pop(uid, None)
        self._running.discard(uid)


def _is_like(before: Programming, programming: Programming) -> bool:
    """Tell whether nothing but the generation is another."""
    return replace(before, generation=programming.generation) == programming
