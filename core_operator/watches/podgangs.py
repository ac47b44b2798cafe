"""What wakes the reconciler of gangs, and how soon.

A gang is looked at when it can go a step further: its PodClique is complete, its backend has
spoken, a pod was lost, or somebody bent something. What the reconciler has done itself is no
news to it. A gang that fills is told of late, since one write then tells of all its pods; where
no node changes what is said or done about a gang, nodes wake nobody.
"""

from collections.abc import Iterable
from typing import TypeVar

from core_operator.plan.pods import is_live
from core_operator.plan.preparation import is_held
from core_operator.state.caches import BASE, OWNER, SETS, TOPOLOGY, Binding
from core_operator.state.expected_events import OwnDoing
from core_operator.state.view import View
from core_operator.watches import predicates as wakes
from core_operator.watches.debounce import patience
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import MemberLost, PodClique, PodGang, ProgramsRelease, SurplusRelease
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import Cache, key_of
from shared_api.runtime.watching.event_handlers import feed, feed_overwritten, its_label
from shared_api.runtime.watching.owners import identity
from shared_api.runtime.watching.predicates import Watched, more_than_status, urgency

W = TypeVar("W", bound=Watched)

_GANG = its_label(names.LABEL_PODGANG)

AT_ONCE = 0.0
_GATHERED = 0.02
"""Seconds in which the pods of a gang that are placed together get their nodes."""


class GangFeeds:
    """From what happens to the gangs that are to be looked at."""

    def __init__(
        self, view: View, queue: Queue[ObjectKey], lifts: OwnDoing, progress: float
    ) -> None:
        self._view = view
        self._queue = queue
        self._lifts = lifts
        self._progress = progress

    def connect(self) -> None:
        """Have the queue told from now on."""
        caches, queue = self._view.caches, self._queue
        caches.gangs.subscribe(self._on_gang)
        feed_overwritten(queue, caches.gangs, wakes.core_status_differs)
        caches.pods.subscribe(self._on_pod)
        feed(queue, caches.cliques, _GANG, when=wakes.needs_mending)
        feed(queue, caches.sets, self._of_set, when=more_than_status)
        feed(
            queue, caches.backends, lambda _: map(key_of, caches.gangs), when=wakes.backend_differs
        )
        feed(queue, caches.bindings, self._placed_by, when=more_than_status)

    def _on_gang(self, old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> None:
        gangs = self._view.caches.gangs
        if old is None and new is not None:
            priority, delay = _priority(gangs, old, new), self._first_look(new)
            self._queue.add(key_of(new), priority=priority, delay=delay)
        elif old is not None and wakes.gang_moved_on(old, new):
            waits = new is not None and not more_than_status(old, new) and self._gets_pods(new)
            delay = self._first_look(new) if new is not None and waits else AT_ONCE
            self._queue.add(key_of(old), priority=_priority(gangs, old, new), delay=delay)

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        delay = self.delay(old, new)
        if delay is None:
            return
        priority = _priority(self._view.caches.pods, old, new)
        for key in {key for pod in (old, new) if pod is not None for key in _GANG(pod)}:
            self._queue.add(key, priority=priority, delay=delay)

    def delay(self, old: Pod | None, new: Pod | None) -> float | None:
        """Seconds until the gang of a pod is looked at after a change of it; None for never."""
        if new is None or old is None:
            return self._came(new) if new is not None else _went(old)
        if not is_live(old) and not is_live(new):
            return None
        if wakes.pod_was_bent(old, new) or self._was_let_go(old, new):
            return AT_ONCE
        moved = old.spec.node_name != new.spec.node_name
        # What has to be taken off a pod that has a node may be put on it later.
        marked = old.metadata.annotations != new.metadata.annotations
        if (moved or marked) and self._hangs_on_nodes(new):
            return _GATHERED
        return None

    def _was_let_go(self, old: Pod, new: Pod) -> bool:
        """Tell whether gates changed in a way that is news to the gang."""
        if old.spec.scheduling_gates == new.spec.scheduling_gates:
            return False
        # While ours is on the pod another's went, which may be why lifting ours is about to fail.
        by_us = not is_held(new) and self._lifts.is_ours(new)
        return not by_us or self._tells_release(new)

    def _later(self) -> float:
        return patience(self._progress, len(self._queue))

    def _first_look(self, gang: Applied[PodGang]) -> float:
        """Its pods will tell when there is something to do, unless there cannot be any."""
        pcs = self._view.set_of(gang)
        if not self._view.caches.gangs.is_synced or pcs is None:
            return AT_ONCE
        fine = self._view.choice(pcs, None, released=False).ok
        return self._later() if fine else AT_ONCE

    def _gets_pods(self, gang: Applied[PodGang]) -> bool:
        """Tell whether a gang is still to get its first pods: before the last nothing can be done."""
        groups = gang.object.spec.podgroups
        if any(group.pod_references for group in groups):
            return False
        found = map(self._view.caches.cliques.get, wakes.its_cliques(gang))
        return any(clique is None or self._lacks_pods(clique.object) for clique in found)

    def _lacks_pods(self, clique: PodClique) -> bool:
        return len(self._view.pods_of(clique)) < clique.spec.replicas

    def _came(self, pod: Pod) -> float:
        clique = self._view.clique_of(pod)
        return self._later() if clique is not None and self._lacks_pods(clique.object) else AT_ONCE

    def _tells_release(self, pod: Pod) -> bool:
        """Tell whether a condition of the gang says if its pods are held."""
        record = self._view.record(pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND))
        if record is None or record.release.member_lost is MemberLost.RECREATE_GANG:
            return True
        found = (self._view.caches.gangs.get(key) for key in _GANG(pod))
        return any(gang is not None and wakes.says_released(gang) for gang in found)

    def _hangs_on_nodes(self, pod: Pod) -> bool:
        """Tell whether something is done, or said, once pods of the gang have nodes."""
        record = self._view.record(pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND))
        if record is None:
            return True
        rules = record.release
        return (
            rules.after_bound is not None
            or rules.member_lost is MemberLost.RECREATE_GANG
            or rules.surplus is not SurplusRelease.WITH_MEMBERS
            or rules.programs is ProgramsRelease.AFTER_RELEASE
            or any(self._view.caches.gangs.by_index(BASE, str(key)) for key in _GANG(pod))
        )

    def _of_set(self, pcs: Watched) -> Iterable[ObjectKey]:
        return map(key_of, self._view.caches.gangs.by_index(OWNER, identity(SETS, pcs)))

    def _placed_by(self, binding: Binding) -> Iterable[ObjectKey]:
        for pcs in self._view.caches.sets.by_index(TOPOLOGY, binding.metadata.name):
            yield from self._of_set(pcs)


def _priority(cache: Cache[W], old: W | None, new: W | None) -> Priority:
    # While a cache fills, nobody has just asked for what it shows.
    return urgency(old, new) if cache.is_synced else Priority.RESYNC


def _went(pod: Pod | None) -> float | None:
    # One that ended or was going away has been told of then.
    return AT_ONCE if pod is not None and is_live(pod) else None
