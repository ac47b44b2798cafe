"""Conditions about scheduling, as they are on pods and on the gang."""

from collections.abc import Iterable, Iterator

from shared_api import names
from shared_api.kube.podgangs import ObservedCondition, ObservedPodGang
from shared_api.kube.pods import Pod, PodCondition


def unscheduled_conditions(pods: Iterable[Pod], *reasons: str) -> Iterator[PodCondition]:
    """Yield the PodScheduled conditions with one of these reasons, of pods without a node."""
    for pod in pods:
        condition = pod.condition("PodScheduled") if not pod.spec.node_name else None
        if condition is not None and condition.status == "False" and condition.reason in reasons:
            yield condition


def scheduled_condition(gang: ObservedPodGang) -> ObservedCondition | None:
    """Return the condition Scheduled of a gang, as it was last written."""
    conditions = gang.status.conditions if gang.status is not None else ()
    return next((one for one in conditions if one.type == names.CONDITION_SCHEDULED), None)
