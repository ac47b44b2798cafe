"""The memory of lost pods: causes, when they are replaced, and how long a recovery takes.

A ready pod is lost if it ends, is not ready any more, or another client deletes it. It is counted,
reported as an Event, and starts the recovery of its gang. The recovery ends when all PodCliques of
the gang have their pods ready again, and is forgotten with the gang. A standby counts and reports
nothing: it does not know which pods the leader deletes, and two processes would count twice.

The replacement may be lost for the same reason, such as a gang of higher priority that still waits
for capacity, or a node that rejects its pods. So each loss within ten minutes doubles the wait
before the pod of that index is created again; the first replacement does not wait. Deletions do not
count, ours or a user's: a user who deletes a pod expects a new one at once.

All of this is kept only in this process. After a restart, recoveries are measured from then on and
pods are replaced at once again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from core_operator.metrics import CoreMetrics
from core_operator.plan.jobs.modes import is_job
from core_operator.plan.pods.disruption import DisruptionCause, Loss, is_serving, why_lost
from core_operator.plan.statuses.breach import timestamp
from core_operator.state.caches import CLIQUES, OWNER, CoreCaches
from core_operator.state.expected_events import ExpectedEvents
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import KubeObject, PodClique, PodGang
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.clock import Clock
from shared_api.runtime.leading.fence import Fence
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.owners import identity, owner_in

EVENT_POD_LOST = "PodLost"

# The first wait lets a scheduler use the free capacity. After the longest, a gang still recovers
# soon once its pods are no longer lost.
_WAITS = Backoff(base=1.0, cap=60.0, jitter=0.0)
_FORGOTTEN_AFTER = 600.0

RecordEvent = Callable[[KubeObject, str, str], None]


@dataclass(frozen=True, slots=True)
class Losses:
    """How often the pod of one index was lost lately, and the last time."""

    count: int
    at: float
    why: Loss
    replaced_at: datetime
    """When its replacement may be created, for messages."""

    @property
    def due(self) -> float:
        """When its replacement may be created, by the monotonic clock."""
        return self.at + _wait(self.count)

    def message(self, index: int) -> str:
        """Return why the pod of this index is missing."""
        return (
            f"pod {index} was lost {self.count} times lately, last {self.why.cause}"
            f" ({self.why.message}); replaced at {timestamp(self.replaced_at)}"
        )


class PodLosses:
    """The lost pods of one process."""

    def __init__(
        self,
        caches: CoreCaches,
        metrics: CoreMetrics,
        clock: Clock,
        fence: Fence,
        record_event: RecordEvent,
    ) -> None:
        self._caches = caches
        self._metrics = metrics
        self._clock = clock
        self._fence = fence
        self._record_event = record_event
        self.expected_deletions = ExpectedEvents()
        """Pods that this process deletes."""
        self._recovering: dict[ObjectKey, float] = {}
        """Gangs that lost a pod, and since when."""
        self._by_index: dict[str, dict[int, Losses]] = {}
        """Losses by the UID of the PodClique and the index of the pod."""
        self._unconfirmed: set[str] = set()
        """UIDs of PodCliques that lost a pod and may be going away themselves."""
        self._gone: dict[str, dict[int, str]] = {}
        """The UID of the last pod that is gone, by the UID of the PodClique and the index."""
        caches.pods.subscribe(self._on_pod)
        caches.cliques.subscribe(self._on_clique)
        caches.gangs.subscribe(self._on_gang)

    def waiting(self, clique: PodClique, indexes: Iterable[int]) -> dict[int, Losses]:
        """Return those of the missing pods that may not be created yet."""
        lost, now = self._by_index.get(clique.metadata.uid or "", {}), self._clock.monotonic()
        return {at: lost[at] for at in indexes if at in lost and lost[at].due > now}

    def gone(self, clique: PodClique) -> Mapping[int, str]:
        """Return the UID of the last pod that is gone, by index: its name must not be used again."""
        return self._gone.get(clique.metadata.uid or "", {})

    def is_unconfirmed(self, clique_uid: str) -> bool:
        """Tell whether a PodClique lost a pod since the server confirmed that it stays."""
        return clique_uid in self._unconfirmed

    def confirm(self, clique_uid: str) -> None:
        """Note that the server confirmed that a PodClique stays."""
        self._unconfirmed.discard(clique_uid)

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.has_ended and self._has_done_its_job(new):
            return
        was_serving = old is not None and is_serving(old)
        serves = new is not None and is_serving(new)
        if old is not None and was_serving and not serves:
            self._report(old, new or old)
        elif new is not None and serves and not was_serving:
            self._end_recovery(_gang_of(new))
        if old is not None and old.is_live and (new is None or not new.is_live):
            self._note_loss(old, new)
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._note_gone(old)

    def _has_done_its_job(self, pod: Pod) -> bool:
        """Tell whether a pod ended as pods of jobs do: it is neither lost nor replaced."""
        clique = owner_in(self._caches.cliques, CLIQUES, pod)
        return clique is not None and is_job(clique.object) and not pod.metadata.is_terminating

    def _report(self, before: Pod, pod: Pod) -> None:
        clique = owner_in(self._caches.cliques, CLIQUES, pod)
        if clique is None or clique.metadata.deletion_timestamp is not None:
            # The pod goes away with its PodClique.
            return
        if pod in self.expected_deletions or self._fence.remaining() <= 0:
            return
        # An entry for a gang that is gone would never be removed.
        if (gang := _gang_of(pod)) in self._caches.gangs:
            self._recovering.setdefault(gang, self._clock.monotonic())
        why = why_lost(pod)
        self._metrics.lost.labels(why.cause.value).inc()
        on = f" on {before.spec.node_name}" if before.spec.node_name else ""
        note = f"pod {pod.metadata.name}{on} is lost: {why.message}"
        self._record_event(clique.object, EVENT_POD_LOST, note)

    def _note_loss(self, old: Pod, new: Pod | None) -> None:
        # An entry for a PodClique that is gone would never be removed.
        clique = owner_in(self._caches.cliques, CLIQUES, old)
        if clique is None:
            return
        uid = clique.metadata.uid or ""
        if new is None or new.metadata.is_terminating:
            self._unconfirmed.add(uid)
        index, why = old.index, why_lost(new or old)
        if index is None or why.cause is DisruptionCause.DELETED or old.has_our_gate:
            # A gated pod is on no node, so another client deleted it.
            return
        of_clique = self._by_index.setdefault(uid, {})
        before, now = of_clique.get(index), self._clock.monotonic()
        is_recent = before is not None and now - before.at < _FORGOTTEN_AFTER
        count = before.count + 1 if before is not None and is_recent else 1
        replaced_at = self._clock.utc() + timedelta(seconds=_wait(count))
        of_clique[index] = Losses(count, now, why, replaced_at)

    def _note_gone(self, pod: Pod) -> None:
        clique = owner_in(self._caches.cliques, CLIQUES, pod)
        if clique is not None and pod.index is not None:
            self._gone.setdefault(clique.metadata.uid or "", {})[pod.index] = pod.metadata.uid

    def _end_recovery(self, gang: ObjectKey) -> None:
        since, found = self._recovering.get(gang), self._caches.gangs.get(gang)
        if since is None or found is None:
            return
        for group in found.object.spec.podgroups:
            clique = self._caches.cliques.get(ObjectKey(gang.namespace, group.name))
            if clique is None:
                return
            pods = self._caches.pods.by_index(OWNER, identity(CLIQUES, clique))
            if sum(map(is_serving, pods)) < clique.object.spec.replicas:
                return
        del self._recovering[gang]
        self._metrics.repair_seconds.observe(self._clock.monotonic() - since)

    def _on_clique(self, old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> None:
        if old is not None and new is None:
            self._by_index.pop(old.metadata.uid or "", None)
            self._gone.pop(old.metadata.uid or "", None)
            self._unconfirmed.discard(old.metadata.uid or "")

    def _on_gang(self, old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._recovering.pop(key_of(old), None)


def _gang_of(pod: Pod) -> ObjectKey:
    return ObjectKey(pod.metadata.namespace, pod.metadata.labels.get(names.LABEL_PODGANG, ""))


def _wait(losses: int) -> float:
    return _WAITS.delay(losses - 1) if losses > 1 else 0.0
