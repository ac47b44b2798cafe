"""Which news of pods cannot change what a gang is, but only how far it is on its way there.

A gang of many pods is placed when the last of them is, and its numbers on the way are not worth
a look of their own. So pods are counted as their events come, and steps forward that leave a
gang short of its minimum can wait for the last one. All pods that carry the gang's label are
counted, also surplus and ending ones: the count may be too high, which costs a look in vain,
and is never too low, which would tell of a gang too late.
"""

import enum
from collections import Counter
from collections.abc import Mapping

from backend_controllers.generic.predicates import pod_moved_on
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod, PodCondition
from shared_api.runtime.watching.cache import Cache, key_of

_PLACING = frozenset({"PodScheduled", "PodBound"})
_PASSED = frozenset({"", "Pending", "Running"})


class Step(enum.Enum):
    """What an event of a pod is worth."""

    NOTHING = enum.auto()
    UNDERWAY = enum.auto()
    """A step that leaves its gang short of its minimum."""
    NEWS = enum.auto()


class Progress:
    """How many pods of each gang have a node, and how many are ready."""

    def __init__(self, pods: Cache[Pod], gangs: Cache[PodGang]) -> None:
        self._gangs = gangs
        self._placed: Counter[ObjectKey] = Counter()
        self._ready: Counter[ObjectKey] = Counter()
        # Judged once for each event, before those that are told of it after us ask.
        self._step = Step.NOTHING
        pods.subscribe(self._on_pod)

    def is_news(self, old: Pod | None, new: Pod | None) -> bool:
        """Tell whether the event that is just told of may change what its gang is."""
        del old, new
        return self._step is Step.NEWS

    def is_underway(self, old: Pod | None, new: Pod | None) -> bool:
        """Tell whether it is a step that leaves its gang short of its minimum."""
        del old, new
        return self._step is Step.UNDERWAY

    def is_recounted(self, old: PodGang | None, new: PodGang | None) -> bool:
        """Tell whether a gang whose pods have nodes counts other pods, or needs another number."""
        if old is None or new is None or old.metadata.generation == new.metadata.generation:
            return False
        return self._placed[key_of(new)] > 0 and old.spec.podgroups != new.spec.podgroups

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        if not _counts_alike(old, new):
            self._recount(old, new)
        self._step = self._judge(old, new)

    def _recount(self, old: Pod | None, new: Pod | None) -> None:
        for pod, step in ((old, -1), (new, 1)):
            key = None if pod is None else _gang_of(pod)
            if pod is None or key is None:
                continue
            if pod.spec.node_name:
                _count(self._placed, key, step)
            if pod.is_ready:
                _count(self._ready, key, step)

    def _judge(self, old: Pod | None, new: Pod | None) -> Step:
        if not pod_moved_on(old, new):
            return Step.NOTHING
        if old is None or new is None or not _is_step_forward(old, new):
            return Step.NEWS
        key = _gang_of(new)
        gang = None if key is None else self._gangs.get(key)
        if key is None or gang is None:
            return Step.NEWS
        minimum = sum(group.min_replicas for group in gang.spec.podgroups)
        is_placed = not old.spec.node_name and bool(new.spec.node_name)
        is_ready = new.is_ready and not old.is_ready
        if (is_placed and self._placed[key] >= minimum) or (
            is_ready and self._ready[key] >= minimum
        ):
            return Step.NEWS
        is_marked = not _is_same(old.metadata.annotations, new.metadata.annotations)
        return Step.UNDERWAY if is_placed or is_ready or is_marked else Step.NOTHING


def _counts_alike(old: Pod | None, new: Pod | None) -> bool:
    """Tell whether an event leaves the numbers of every gang as they are."""
    return (
        old is not None
        and new is not None
        and _is_same(old.metadata.labels, new.metadata.labels)
        and bool(old.spec.node_name) == bool(new.spec.node_name)
        and old.is_ready == new.is_ready
    )


def _is_step_forward(old: Pod, new: Pod) -> bool:
    """Tell whether a pod is as before but for being placed, started or ready."""
    before, after = old.metadata, new.metadata
    return (
        # Who binds adds the topology of the node, and notes of its own.
        _is_part(before.labels, after.labels)
        and _is_part(before.annotations, after.annotations)
        and before.is_terminating == after.is_terminating
        and old.spec.node_name in ("", new.spec.node_name)
        and new.status.phase in _PASSED
        and not (old.is_ready and not new.is_ready)
        and (old.status is new.status or _complaints(old) == _complaints(new))
    )


def _is_same(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    # What did not change is most often one and the same in both, and comparing it takes longer.
    return before is after or before == after


def _is_part(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    return before is after or before.items() <= after.items()


def _complaints(pod: Pod) -> list[PodCondition]:
    """What a pod says that somebody may be told; that it waits for its gate is not such a thing."""
    return [
        condition
        for condition in pod.status.conditions
        if condition.type == "DisruptionTarget"
        or (
            condition.type in _PLACING
            and condition.status != "True"
            and condition.reason != "SchedulingGated"
        )
    ]


def _gang_of(pod: Pod) -> ObjectKey | None:
    name = pod.metadata.labels.get(names.LABEL_PODGANG)
    return None if name is None else ObjectKey(pod.metadata.namespace or "", name)


def _count(counter: Counter[ObjectKey], key: ObjectKey, step: int) -> None:
    counter[key] += step
    if not counter[key]:
        del counter[key]
