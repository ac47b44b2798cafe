"""How many pods of a gang are scheduled and ready, counted the same way for every scheduler.

A live pod, or one of a job that succeeded, counts for the group that refers to it. Where the scheduler keeps surplus pods apart, only
members count: surplus may be scheduled while the gang is not. Where it does not, any pods make up
the minimum. A member has an index below the group's minimum (`Pod.is_member`), as in core.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from shared_api import names
from shared_api.kube.container_causes import unready_causes
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGroup
from shared_api.kube.pods import Pod

_GROUPS_SHOWN = 8


class GroupCount(msgspec.Struct, frozen=True, gc=False):
    """How many members of a group are scheduled and ready."""

    name: str
    minimum: int
    scheduled: int
    ready: int


class GangCount(msgspec.Struct, frozen=True, gc=False):
    """The groups of a gang."""

    gang: str
    groups: tuple[GroupCount, ...]

    @property
    def is_scheduled(self) -> bool:
        """Tell whether every group has its minimum scheduled."""
        return all(group.scheduled >= group.minimum for group in self.groups)

    @property
    def is_ready(self) -> bool:
        """Tell whether every group has its minimum ready."""
        return all(group.ready >= group.minimum for group in self.groups)

    def scheduled_text(self) -> str:
        """Such as "6/8 pods scheduled (prefill 4/4, decode 2/4)"."""
        return self._text("scheduled", lambda group: group.scheduled)

    def ready_text(self) -> str:
        """The same about readiness."""
        return self._text("ready", lambda group: group.ready)

    def _text(self, word: str, of: Callable[[GroupCount], int]) -> str:
        done = sum(of(group) for group in self.groups)
        total = sum(group.minimum for group in self.groups)
        text = f"{done}/{total} pods {word}"
        if len(self.groups) < 2 or done >= total:
            return text
        parts = [
            f"{self._short(group.name)} {of(group)}/{group.minimum}"
            for group in self.groups[:_GROUPS_SHOWN]
        ]
        if len(self.groups) > _GROUPS_SHOWN:
            parts.append(f"and {len(self.groups) - _GROUPS_SHOWN} more groups")
        return f"{text} ({', '.join(parts)})"

    def _short(self, group: str) -> str:
        """The name of a group without that of its gang."""
        return group.removeprefix(f"{self.gang}-")


def count(
    gang: ObservedPodGang, pods: Sequence[Pod], *, surplus_stands_in: bool = False
) -> GangCount:
    """Count these pods of a gang."""
    bound = {pod.metadata.name: pod for pod in pods if pod.is_bound and holds_place(pod)}
    groups = tuple(_count(group, bound, any_pod=surplus_stands_in) for group in gang.spec.podgroups)
    return GangCount(gang.metadata.name, groups)


def _count(group: ObservedPodGroup, bound: dict[str, Pod], *, any_pod: bool) -> GroupCount:
    scheduled = ready = 0
    for reference in group.pod_references if bound else ():
        pod = bound.get(reference.name)
        if pod is None or not (any_pod or pod.is_member(group.min_replicas)):
            continue
        scheduled += 1
        ready += pod.is_ready or pod.has_succeeded
    minimum = group.min_replicas
    return GroupCount(group.name, minimum, min(scheduled, minimum), min(ready, minimum))


def holds_place(pod: Pod) -> bool:
    """Tell whether a pod counts for its gang: it is live, or it has done its job."""
    return not pod.metadata.is_terminating and not pod.has_failed


def failures_of(pods: Iterable[Pod]) -> Mapping[str, int]:
    """Return how many bound pods have a container that fails for the same cause."""
    unready = (pod for pod in pods if pod.is_bound and pod.is_live and not pod.is_ready)
    return unready_causes(unready, only_failures=True)


def group_of(pod: Pod) -> str:
    """Return the group of a gang that a pod belongs to, which is its PodClique."""
    return pod.metadata.labels.get(names.LABEL_PODCLIQUE, "")


def members_are_ungated(gang: ObservedPodGang, pods: Iterable[Pod]) -> bool:
    """Tell whether every group has its minimum of ungated pods: only then schedulers try a gang."""
    free = Counter(group_of(pod) for pod in pods if not pod.is_gated and not pod.has_failed)
    return all(free[group.name] >= group.min_replicas for group in gang.spec.podgroups)
