"""The minimums of a gang's groups, compared with pods that were counted."""

from collections import Counter
from collections.abc import Iterable

from shared_api.kube.podgangs import ObservedPodGang


def groups_below(gang: ObservedPodGang, groups: Iterable[str]) -> frozenset[str]:
    """Return the groups below their minimum, given the group of each pod that counts."""
    found = Counter(groups)
    return frozenset(
        group.name for group in gang.spec.podgroups if found[group.name] < group.min_replicas
    )
