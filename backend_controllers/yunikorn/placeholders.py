"""How far YuniKorn's reservation for a gang is, counted from its placeholder pods.

A placeholder that is bound holds room for one member. YuniKorn says nothing about members
while it reserves; what keeps it from going on is written on the placeholders. Those of an
application that the gang no longer is hold room for nobody and do not count.
"""

from collections import Counter
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts
from backend_controllers.yunikorn.api import (
    KEY_APPLICATION,
    KEY_GROUP,
    KEY_PLACEHOLDER_OF,
    is_of,
)
from shared_api import names
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS

_GROUPS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Reservation:
    """The room that is held for a gang."""

    placeholders: tuple[Pod, ...]
    held: dict[str, int]
    """By group: places that are held for members, or that members have."""
    wanted: dict[str, int]
    """By group: its minimum."""
    gang: str

    @property
    def is_complete(self) -> bool:
        """Tell whether there is a place for every member."""
        return all(self.held[name] >= count for name, count in self.wanted.items())

    @property
    def waiting(self) -> tuple[Pod, ...]:
        """Placeholders that have no node."""
        return tuple(pod for pod in self.placeholders if not pod.spec.node_name)

    def text(self) -> str:
        """Such as "room is held for 3 of 5 pods (prefill 2/2, decode 1/3)"."""
        done, total = sum(self.held.values()), sum(self.wanted.values())
        text = f"room is held for {done} of {total} pods"
        if len(self.wanted) < 2:
            return text
        parts = [
            f"{name.removeprefix(f'{self.gang}-')} {self.held[name]}/{count}"
            for name, count in list(self.wanted.items())[:_GROUPS_SHOWN]
        ]
        if len(self.wanted) > _GROUPS_SHOWN:
            parts.append(f"and {len(self.wanted) - _GROUPS_SHOWN} more groups")
        return f"{text} ({', '.join(parts)})"


def reservation_of(gang: PodGang, facts: Facts) -> Reservation:
    """What is held for a gang now."""
    found = tuple(pod for pod in facts.all(PODS) if isinstance(pod, Pod) and _is_for(gang, pod))
    bound = Counter(pod.metadata.annotations.get(KEY_GROUP) for pod in found if pod.spec.node_name)
    bound.update(
        pod.metadata.labels.get(names.LABEL_PODCLIQUE)
        for pod in facts.pods
        if pod.spec.node_name and pod.status.phase != "Failed"
    )
    wanted = {group.name: group.min_replicas for group in gang.spec.podgroups if group.min_replicas}
    held = {name: min(bound[name], count) for name, count in wanted.items()}
    return Reservation(found, held, wanted, gang.metadata.name)


def _is_for(gang: PodGang, pod: Pod) -> bool:
    metadata = pod.metadata
    return (
        metadata.labels.get(KEY_PLACEHOLDER_OF) == gang.metadata.name
        and metadata.namespace == gang.metadata.namespace
        and not metadata.is_terminating
        and pod.status.phase not in ("Failed", "Succeeded")
        and is_of(gang, metadata.labels.get(KEY_APPLICATION, ""))
    )
