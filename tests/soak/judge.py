"""Observes every pod that goes: who deleted it, and whether too few ready pods are left.

A ready pod that the test did not delete was deleted by the operator. The ready pods of
its PodClique, or of its scaling group, must then still be the minimum, or what an update may leave.
Deletions together with their owner, after something was scaled in, are not judged. A change by the
test reaches the operator a moment later; what the operator decides within that moment is not judged.
"""

import time
from collections import defaultdict

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.core.kit import Onlooker, is_ready

_MOMENT = 3.0
_PODS_OF_REPLICA = 2


class Judge:
    """Counts deletions of the operator, and keeps the violations."""

    def __init__(self, person: Onlooker, min_pods: int, min_replicas: int) -> None:
        self._person = person
        self._min_pods = min_pods
        self._min_replicas = min_replicas
        self._expected: set[str] = set()
        self._shaken: dict[str, float] = {}
        self._is_on = False
        self.deletions = 0
        """Ready pods that the operator deleted."""
        self.violations: list[str] = []
        person._caches[PODS.plural].subscribe(self._on_pod)

    def begin(self) -> None:
        """Judge from now on."""
        self._is_on = True

    def end(self) -> None:
        """Judge no more: pods that go now go with their set."""
        self._is_on = False

    def expect(self, pod: LooseObject) -> None:
        """Expect that the test deletes a pod or makes it fail."""
        self._expected.add(pod.metadata.uid)
        self._shake(pod)

    def expect_scaling(self, group: str) -> None:
        """Expect that a scaling group gets another size."""
        self._shaken[group] = time.monotonic()

    def _shake(self, pod: LooseObject) -> None:
        for place in _places(pod):
            self._shaken[place] = time.monotonic()

    def _on_pod(self, old: LooseObject | None, new: LooseObject | None) -> None:
        if old is None or not self._is_on:
            return
        if new is not None and not is_ready(new) and is_ready(old):
            self._shake(new)
        goes = new is None or new.metadata.is_terminating
        if not goes or old.metadata.is_terminating or not is_ready(old):
            return
        if old.metadata.uid in self._expected:
            self._shake(old)
            return
        self.deletions += 1
        if not self._is_asked_for(old) and (wrong := self._too_few(old)):
            self.violations.append(f"{old.metadata.name} was deleted: {wrong}")

    def _is_asked_for(self, pod: LooseObject) -> bool:
        """Tell whether its owner is gone or going, or its index is above a smaller size."""
        labels = pod.metadata.labels
        owner = self._person.get(CLIQUES, labels[names.LABEL_PODCLIQUE])
        pcs = self._person.get(SETS, labels[names.LABEL_PART_OF])
        if owner is None or owner.metadata.is_terminating or pcs is None:
            return True
        if int(labels[names.LABEL_PCS_REPLICA_INDEX]) >= pcs.spec["replicas"]:
            return True
        group = self._person.get(GROUPS, labels.get(names.LABEL_PCSG, ""))
        if group is not None:
            return int(labels[names.LABEL_PCSG_REPLICA_INDEX]) >= int(group.spec["replicas"])
        return False

    def _too_few(self, pod: LooseObject) -> str:
        now = time.monotonic()
        if any(now - self._shaken.get(place, -_MOMENT) < _MOMENT for place in _places(pod)):
            return ""
        group = pod.metadata.labels.get(names.LABEL_PCSG)
        if not group:
            return self._few_pods(pod)
        return self._few_replicas(group) if self._was_whole(pod) else ""

    def _was_whole(self, pod: LooseObject) -> bool:
        """Tell whether the replica of a pod that goes was ready; otherwise nothing is lost."""
        labels = (names.LABEL_PCSG, names.LABEL_PCSG_REPLICA_INDEX)
        copy = [pod.metadata.labels[label] for label in labels]
        others = [
            one
            for one in self._person.pods
            if [one.metadata.labels.get(label) for label in labels] == copy
            and one.metadata.uid != pod.metadata.uid
        ]
        return len(others) == _PODS_OF_REPLICA - 1 and all(map(is_ready, others))

    def _few_pods(self, pod: LooseObject) -> str:
        name = pod.metadata.labels[names.LABEL_PODCLIQUE]
        serving = sum(map(is_ready, self._person.pods_of(name).values()))
        owner = self._person.get(CLIQUES, name)
        size = owner.spec["replicas"] if owner is not None else self._min_pods
        # In an update one pod may be missing where all pods are the minimum.
        floor = min(self._min_pods, size - 1)
        return "" if serving >= floor else f"{serving} of {floor} pods of {name} are ready"

    def _few_replicas(self, group: str) -> str:
        replicas: dict[str, list[bool]] = defaultdict(list)
        for one in self._person.pods:
            if one.metadata.labels.get(names.LABEL_PCSG) == group:
                replicas[one.metadata.labels[names.LABEL_PCSG_REPLICA_INDEX]].append(is_ready(one))
        live = self._person.get(GROUPS, group)
        size = live.spec["replicas"] if live is not None else self._min_replicas
        floor = min(self._min_replicas, size - 1)
        serving = sum(len(of) == _PODS_OF_REPLICA and all(of) for of in replicas.values())
        return "" if serving >= floor else f"{serving} of {floor} replicas of {group} are ready"


def _places(pod: LooseObject) -> list[str]:
    labels = pod.metadata.labels
    return [
        labels[names.LABEL_PODCLIQUE],
        labels.get(names.LABEL_PCSG, labels[names.LABEL_PODCLIQUE]),
    ]
