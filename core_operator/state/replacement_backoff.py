"""How soon a lost pod is replaced: the first time at once, then later and later.

Whatever takes a pod may take its replacement too: a gang of higher priority that cannot start
before several pods have gone, a node that refuses what the scheduler sends it. A replacement
that comes back at once then fights for the room without end, and neither side gets anywhere.
So each loss within the memory doubles the wait for the pod of that index. Deletions do not
count, ours or a person's: whoever deletes a pod wants the new one now. What is remembered is
known only here and now; after a restart every pod is replaced at once again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from core_operator.plan.disruption import Cause, Loss, why_lost
from core_operator.plan.pods import is_live
from core_operator.plan.preparation import index_of, is_held
from core_operator.plan.statuses.breach import spoken
from core_operator.state.caches import CLIQUES, Caches
from shared_api.kube.pods import Pod
from shared_api.models import PodClique
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.watching.owners import owner_in

# The first leaves a scheduler time to use the room; the last still lets a gang come back soon
# after whatever took its pods has stopped.
_WAITS = Backoff(base=1.0, cap=60.0, jitter=0.0)
_FORGOTTEN_AFTER = 600.0


@dataclass(frozen=True, slots=True)
class Losses:
    """How often the pod of one index was taken, and what is known of the last time."""

    count: int
    at: float
    why: Loss
    replaced: datetime
    """When its successor may come, for people."""

    @property
    def due(self) -> float:
        """The same by the clock that delays are measured with."""
        return self.at + _wait(self.count)

    def told(self, index: int) -> str:
        """Why the pod of this index is missing."""
        return (
            f"pod {index} was lost {self.count} times lately, last {self.why.cause}"
            f" ({self.why.message}); replaced at {spoken(self.replaced)}"
        )


@dataclass(frozen=True, slots=True)
class Wait:
    """A pod that is not replaced yet, and for how many seconds."""

    losses: Losses
    left: float


class Replacements:
    """The pods that were lost lately, by the UID of their PodClique and their index."""

    def __init__(self, caches: Caches, clock: Clock) -> None:
        self._cliques = caches.cliques
        self._clock = clock
        self._lost: dict[str, dict[int, Losses]] = {}
        caches.pods.subscribe(self._on_pod)
        caches.cliques.subscribe(self._on_clique)

    def waiting(self, clique: PodClique, indexes: Iterable[int]) -> dict[int, Wait]:
        """Those of the missing pods that are not due yet."""
        lost = self._lost.get(clique.metadata.uid or "")
        if lost is None:
            return {}
        now = self._clock.monotonic()
        found = {index: lost[index] for index in indexes if index in lost}
        return {
            index: Wait(losses, losses.due - now)
            for index, losses in found.items()
            if losses.due > now
        }

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is None or not is_live(old) or (new is not None and is_live(new)):
            return
        index, why = index_of(old), why_lost(new or old)
        if index is None or why.cause is Cause.DELETED or is_held(old):
            # A gated pod has no node from which it could be lost: somebody deleted it.
            return
        # Not of those that are gone: nobody would take them off the list again.
        clique = owner_in(self._cliques, CLIQUES, old)
        if clique is None:
            return
        of_clique = self._lost.setdefault(clique.metadata.uid or "", {})
        before, now = of_clique.get(index), self._clock.monotonic()
        remembered = before is not None and now - before.at < _FORGOTTEN_AFTER
        count = before.count + 1 if before is not None and remembered else 1
        replaced = self._clock.utc() + timedelta(seconds=_wait(count))
        of_clique[index] = Losses(count, now, why, replaced)

    def _on_clique(self, old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> None:
        if old is not None and new is None:
            self._lost.pop(old.metadata.uid or "", None)


def _wait(losses: int) -> float:
    return _WAITS.delay(losses - 1) if losses > 1 else 0.0
