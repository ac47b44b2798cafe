"""How far YuniKorn's reservation for a gang is, counted from its placeholder pods.

A bound placeholder reserves capacity for one member. YuniKorn reports nothing about members while
it reserves; the placeholders have the reason why it does not continue. Placeholders of an earlier
application of the gang reserve nothing for it and do not count.
"""

from collections import Counter
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.pod_counts import group_of
from backend_controllers.yunikorn.api import KEY_APPLICATION, KEY_GROUP, KEY_PLACEHOLDER_OF, is_of
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS

_GROUPS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Reservation:
    """The capacity that is reserved for a gang."""

    gang: str
    placeholders: tuple[Pod, ...]
    reserved: dict[str, int]
    """By group: bound placeholders and bound members, at most the minimum."""
    needed: dict[str, int]
    """By group: its minimum."""

    @property
    def is_complete(self) -> bool:
        """Tell whether capacity is reserved for every member."""
        return all(self.reserved[name] >= count for name, count in self.needed.items())

    @property
    def waiting(self) -> tuple[Pod, ...]:
        """Placeholders without a node."""
        return tuple(pod for pod in self.placeholders if not pod.is_bound)

    def message(self) -> str:
        """Such as "capacity is reserved for 3 of 5 pods (prefill 2/2, decode 1/3)"."""
        done, total = sum(self.reserved.values()), sum(self.needed.values())
        text = f"capacity is reserved for {done} of {total} pods"
        if len(self.needed) < 2:
            return text
        parts = [
            f"{name.removeprefix(f'{self.gang}-')} {self.reserved[name]}/{count}"
            for name, count in list(self.needed.items())[:_GROUPS_SHOWN]
        ]
        if len(self.needed) > _GROUPS_SHOWN:
            parts.append(f"and {len(self.needed) - _GROUPS_SHOWN} more groups")
        return f"{text} ({', '.join(parts)})"


def reservation_of(gang: ObservedPodGang, facts: Facts) -> Reservation:
    """Return what is reserved for a gang now."""
    found = tuple(pod for pod in facts.all(PODS) if isinstance(pod, Pod) and _is_for(gang, pod))
    bound = Counter(pod.metadata.annotations.get(KEY_GROUP) for pod in found if pod.is_bound)
    bound.update(group_of(pod) for pod in facts.pods if pod.is_bound and not pod.has_failed)
    needed = {group.name: group.min_replicas for group in gang.spec.podgroups if group.min_replicas}
    reserved = {name: min(bound[name], count) for name, count in needed.items()}
    return Reservation(gang.metadata.name, found, reserved, needed)


def _is_for(gang: ObservedPodGang, pod: Pod) -> bool:
    metadata = pod.metadata
    return (
        metadata.labels.get(KEY_PLACEHOLDER_OF) == gang.metadata.name
        and metadata.namespace == gang.metadata.namespace
        and pod.is_live
        and is_of(gang, metadata.labels.get(KEY_APPLICATION, ""))
    )
