"""What keeps the children of an object from being created, by the UID of the object.

Reconcilers note it, and writers of statuses report it. It is kept only in this process: after a
restart the next attempt finds it out again. A problem is forgotten with its object.
"""

from core_operator.plan.statuses.reasons import Blocker
from core_operator.state.caches import CoreCaches
from shared_api.models import KubeObject
from shared_api.runtime.watching.channel import Channel
from shared_api.runtime.watching.predicates import Watched


class Problems:
    """The present problems of sets, scaling groups, gangs and PodCliques."""

    def __init__(self, caches: CoreCaches) -> None:
        self._by_uid: dict[str, Blocker] = {}
        self.changed: Channel[KubeObject] = Channel("problems")
        """Objects whose problem appeared, changed or ended."""
        caches.sets.subscribe(self._forget)
        caches.groups.subscribe(self._forget)
        caches.gangs.subscribe(self._forget)
        caches.cliques.subscribe(self._forget)

    def __bool__(self) -> bool:
        return bool(self._by_uid)

    def of(self, uid: str | None) -> Blocker | None:
        """Return the problem of the object with this UID."""
        return self._by_uid.get(uid or "")

    def note(self, about: KubeObject, problem: Blocker | None) -> bool:
        """Remember the problem of an object, or that it has none; return whether that is new."""
        uid = about.metadata.uid or ""
        if self._by_uid.get(uid) == problem:
            return False
        if problem is None:
            del self._by_uid[uid]
        else:
            self._by_uid[uid] = problem
        self.changed.send(about)
        return True

    def _forget(self, old: Watched | None, new: Watched | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._by_uid.pop(old.metadata.uid or "", None)
