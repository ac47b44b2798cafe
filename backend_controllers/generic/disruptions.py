"""Which members of gangs are being taken away, from what their pods say before they go.

Whoever evicts a pod marks it with the condition DisruptionTarget and deletes it in the same
moment, so what the cache holds when a gang is looked at is often too late. Every event is
seen here instead. A disruption is news until the gang has its minimum again and the marked
pods are gone, or the mark is taken back from a pod that stays. Of each member only the last pod
is kept, with how often the member was taken: a scheduler may take its replacements too, again
and again. Surplus pods come and go; losing one disrupts no gang unless it stands in for a member.
Where it may, losing a member disrupts none that has enough others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backend_controllers.contract.pod_counts import count, is_member
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod
from shared_api.runtime.watching.cache import Cache

DISRUPTION_TARGET = "DisruptionTarget"
_PREEMPTED = "PreemptionByScheduler"
REASON_PREEMPTED = "Preempted"

_Member: TypeAlias = tuple[str, str]
"""A PodClique and an index in it."""


@dataclass(frozen=True, slots=True)
class Disruption:
    """What happens to a gang, in a word and in a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Taken:
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
        self._marked: dict[ObjectKey, dict[_Member, _Taken]] = {}
        pods.subscribe(self._on_pod)

    def of(self, gang: PodGang, pods: Sequence[Pod], *, is_placed: bool) -> Disruption | None:
        """What happens to a gang with these pods now, if anything does."""
        key = gang.metadata.key
        marked = self._marked.get(key)
        if marked is None:
            return None
        if is_placed:
            for member in [one for one, taken in marked.items() if self._is_gone(taken.pod)]:
                del marked[member]
        if not marked:
            del self._marked[key]
        if self._is_spared(gang, pods):
            return None
        minimums = {group.name: group.min_replicas for group in gang.spec.podgroups}
        hit = [
            one
            for one in marked.values()
            if self._surplus_stands_in or is_member(one.pod, _minimum(one.pod, minimums))
        ]
        return _told(hit, sum(minimums.values())) if hit else None

    def forget(self, gang: PodGang) -> None:
        """A gang is gone."""
        self._marked.pop(gang.metadata.key, None)

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None:
            return
        if not _is_marked(pod):
            if old is not None and _is_marked(old) and not pod.metadata.is_terminating:
                self._spare(old)
            return
        owner, gang = pod.metadata.controller, pod.metadata.labels.get(names.LABEL_PODGANG)
        # The label alone can be set by anybody, and pods may outlive their gang.
        if gang is not None and owner is not None and owner.kind == "PodClique":
            key = ObjectKey(pod.metadata.namespace, gang)
            if self._exists(key):
                self._note(self._marked.setdefault(key, {}), pod)

    def _spare(self, pod: Pod) -> None:
        """Whoever has marked a pod does not take it."""
        gang = pod.metadata.labels.get(names.LABEL_PODGANG, "")
        marked = self._marked.get(ObjectKey(pod.metadata.namespace, gang), {})
        taken = marked.get(_member(pod))
        if taken is not None and taken.pod.metadata.uid == pod.metadata.uid:
            del marked[_member(pod)]

    def _is_spared(self, gang: PodGang, pods: Sequence[Pod]) -> bool:
        """Tell whether others stand in for the pods that are marked."""
        staying = [pod for pod in pods if not _is_marked(pod)]
        return self._surplus_stands_in and count(gang, staying, surplus_stands_in=True).is_scheduled

    def _is_gone(self, pod: Pod) -> bool:
        return self._pods.get_by_uid(pod.metadata.uid) is None

    def _note(self, marked: dict[_Member, _Taken], pod: Pod) -> None:
        member = _member(pod)
        # The latest goes last, where its words are looked for.
        before = marked.pop(member, None)
        times = 0 if before is None else before.times
        is_same = before is not None and before.pod.metadata.uid == pod.metadata.uid
        marked[member] = _Taken(pod, times if is_same else times + 1)


def _member(pod: Pod) -> _Member:
    labels = pod.metadata.labels
    group, index = labels.get(names.LABEL_PODCLIQUE, ""), labels.get(names.LABEL_POD_INDEX)
    return group, index or pod.metadata.name


def _is_marked(pod: Pod) -> bool:
    target = pod.condition(DISRUPTION_TARGET)
    return target is not None and target.status == "True"


def _minimum(pod: Pod, minimums: dict[str, int]) -> int:
    return minimums.get(pod.metadata.labels.get(names.LABEL_PODCLIQUE, ""), 0)


def _told(hit: list[_Taken], members: int) -> Disruption:
    target = hit[-1].pod.condition(DISRUPTION_TARGET)
    reason = target.reason if target is not None else ""
    text = (target.message if target is not None else "") or reason
    word = REASON_PREEMPTED if reason == _PREEMPTED else reason or DISRUPTION_TARGET
    times = sum(taken.times for taken in hit)
    again = f" ({times} times so far)" if times > len(hit) else ""
    taken = min(len(hit), members)
    return Disruption(word, f"{taken} of {members} pods are being taken away{again}: {text}")
