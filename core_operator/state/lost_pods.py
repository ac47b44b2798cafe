"""How long gangs take to be whole again after they lost pods, and who took the pods.

A pod that served and is lost without our doing (evicted, preempted, its node gone or drained,
failed) opens a repair of its gang; the repair is closed when all PodCliques of the gang have
their pods ready again, and forgotten when the gang goes. The pod's own word about why it goes
is told as an Event. What is being repaired is known only here and now: a restart measures only
what happens after it. A process that does not lead sees the same pods go, and says nothing: it
does not know which of them the leader deletes, and what two processes count would be counted
twice.
"""

from collections.abc import Callable

from core_operator.metrics import CoreMetrics
from core_operator.plan.disruption import is_serving, why_lost
from core_operator.state.caches import CLIQUES, OWNER, Caches
from core_operator.state.expected_events import OwnDoing
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import KubeObject, PodClique, PodGang
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.clock import Clock
from shared_api.runtime.leading.fence import Fence
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.owners import identity, owner_in

EVENT_POD_LOST = "PodLost"

Tell = Callable[[KubeObject, str, str], None]


class Repairs:
    """Gangs that are not whole, and since when."""

    def __init__(self, caches: Caches, metrics: CoreMetrics, clock: Clock, fence: Fence) -> None:
        self._caches = caches
        self._metrics = metrics
        self._clock = clock
        self._fence = fence
        self.deletions = OwnDoing()
        """Of pods; whoever deletes one has it noted here."""
        self._since: dict[ObjectKey, float] = {}
        self.tell: Tell = lambda *_: None
        """Records a warning about an object."""
        caches.pods.subscribe(self._on_pod)
        caches.gangs.subscribe(self._on_gang)

    def _on_gang(self, old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._since.pop(key_of(old), None)

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and is_serving(old) and (new is None or not is_serving(new)):
            self._lost(old, new or old)
        elif new is not None and is_serving(new) and (old is None or not is_serving(old)):
            self._close(_gang(new))

    def _lost(self, was: Pod, pod: Pod) -> None:
        clique = self._owner(pod)
        if self.deletions.is_ours(pod) or clique is None or self._fence.remaining() <= 0:
            return
        # Not of one that is seen to be gone: nobody would take it off the list again.
        if (gang := _gang(pod)) in self._caches.gangs:
            self._since.setdefault(gang, self._clock.monotonic())
        why = why_lost(pod)
        self._metrics.lost.labels(why.cause.value).inc()
        on = f" on {was.spec.node_name}" if was.spec.node_name else ""
        self.tell(clique, EVENT_POD_LOST, f"pod {pod.metadata.name}{on} is lost: {why.message}")

    def _owner(self, pod: Pod) -> PodClique | None:
        """The PodClique of a pod, unless it goes away with its pods."""
        found = owner_in(self._caches.cliques, CLIQUES, pod)
        if found is None or found.metadata.deletion_timestamp is not None:
            return None
        return found.object

    def _close(self, gang: ObjectKey) -> None:
        since, known = self._since.get(gang), self._caches.gangs.get(gang)
        if since is None or known is None:
            return
        for group in known.object.spec.podgroups:
            clique = self._caches.cliques.get(ObjectKey(gang.namespace, group.name))
            if clique is None:
                return
            pods = self._caches.pods.by_index(OWNER, identity(CLIQUES, clique))
            if sum(map(is_serving, pods)) < clique.object.spec.replicas:
                return
        del self._since[gang]
        self._metrics.repair_seconds.observe(self._clock.monotonic() - since)


def _gang(pod: Pod) -> ObjectKey:
    return ObjectKey(pod.metadata.namespace, pod.metadata.labels.get(names.LABEL_PODGANG, ""))
