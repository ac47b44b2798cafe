"""Which members of gangs are being disrupted, from the conditions of their pods.

A program that evicts a pod sets the condition DisruptionTarget and deletes the pod in the same
moment, so a look into the cache is often too late. Every pod event is read here instead. A
disruption lasts until the gang has its minimum again and the marked pods are gone, or until the
condition is removed from a pod that stays. For each member only the last pod is kept, with the
number of pods lost: replacements may be evicted too. Losing a surplus pod disrupts no gang unless it
stands in for a member; where it may, losing a member disrupts no gang that has enough other pods.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backend_controllers.contract.pod_counts import count, group_of
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.runtime.watching.cache import Cache

DISRUPTION_TARGET = "DisruptionTarget"
_PREEMPTED = "PreemptionByScheduler"
REASON_PREEMPTED = "Preempted"

_Member: TypeAlias = tuple[str, str]
"""A PodClique and an index in it."""


@dataclass(frozen=True, slots=True)
class Disruption:
    """Reason and message of the condition DisruptionTarget of a gang."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Disrupted:
    """The last pod of a member that was marked, and how many were."""

    pod: Pod
    times: int = 1


class Disruptions:
    """The marked pods of each gang."""

    def __init__(
        self,
        pods: Cache[Pod],
        exists: Callable[[ObjectKey], bool],
        *,
        surplus_stands_in: bool = False,
    ) -> None:
        self._pods = pods
        self._surplus_stands_in = surplus_stands_in
        self._exists = exists
        self._marked: dict[ObjectKey, dict[_Member, _Disrupted]] = {}
        pods.subscribe(self._on_pod)

    def of(
        self, gang: ObservedPodGang, pods: Sequence[Pod], *, is_scheduled: bool
    ) -> Disruption | None:
        """Return the disruption of a gang with these pods, if there is one."""
        key = gang.metadata.key
        marked = self._marked.get(key)
        if marked is None:
            return None
        if is_scheduled:
            for member in [one for one, found in marked.items() if self._is_gone(found.pod)]:
                del marked[member]
        if not marked:
            del self._marked[key]
        if self._others_stand_in(gang, pods):
            return None
        minimums = {group.name: group.min_replicas for group in gang.spec.podgroups}
        hit = [
            one
            for one in marked.values()
            if self._surplus_stands_in or one.pod.is_member(minimums.get(group_of(one.pod), 0))
        ]
        return _disruption(hit, sum(minimums.values())) if hit else None

    def forget(self, gang: ObservedPodGang) -> None:
        """Drop a gang that is gone."""
        self._marked.pop(gang.metadata.key, None)

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None:
            return
        if not _is_marked(pod):
            if old is not None and _is_marked(old) and not pod.metadata.is_terminating:
                self._unmark(old)
            return
        owner, gang = pod.metadata.controller, pod.metadata.labels.get(names.LABEL_PODGANG)
        # Any client can set the label, and pods may outlive their gang.
        if gang is not None and owner is not None and owner.kind == "PodClique":
            key = ObjectKey(pod.metadata.namespace, gang)
            if self._exists(key):
                self._mark(self._marked.setdefault(key, {}), pod)

    def _mark(self, marked: dict[_Member, _Disrupted], pod: Pod) -> None:
        member = _member(pod)
        # Removed first, so that the latest is last: its message is reported.
        before = marked.pop(member, None)
        times = 0 if before is None else before.times
        is_same = before is not None and before.pod.metadata.uid == pod.metadata.uid
        marked[member] = _Disrupted(pod, times if is_same else times + 1)

    def _unmark(self, pod: Pod) -> None:
        gang = pod.metadata.labels.get(names.LABEL_PODGANG, "")
        marked = self._marked.get(ObjectKey(pod.metadata.namespace, gang), {})
        found = marked.get(_member(pod))
        if found is not None and found.pod.metadata.uid == pod.metadata.uid:
            del marked[_member(pod)]

    def _others_stand_in(self, gang: ObservedPodGang, pods: Sequence[Pod]) -> bool:
        staying = [pod for pod in pods if not _is_marked(pod)]
        return self._surplus_stands_in and count(gang, staying, surplus_stands_in=True).is_scheduled

    def _is_gone(self, pod: Pod) -> bool:
        return self._pods.get_by_uid(pod.metadata.uid) is None


def _member(pod: Pod) -> _Member:
    return group_of(pod), pod.metadata.labels.get(names.LABEL_POD_INDEX) or pod.metadata.name


def _is_marked(pod: Pod) -> bool:
    target = pod.condition(DISRUPTION_TARGET)
    return target is not None and target.status == "True"


def _disruption(hit: list[_Disrupted], members: int) -> Disruption:
    target = hit[-1].pod.condition(DISRUPTION_TARGET)
    reason = target.reason if target is not None else ""
    message = (target.message if target is not None else "") or reason
    times = sum(found.times for found in hit)
    again = f" ({times} times so far)" if times > len(hit) else ""
    lost = min(len(hit), members)
    return Disruption(
        REASON_PREEMPTED if reason == _PREEMPTED else reason or DISRUPTION_TARGET,
        f"{lost} of {members} pods are being evicted{again}: {message}",
    )
