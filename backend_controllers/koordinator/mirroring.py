"""How a gang fares, in Koordinator's words.

The status of PodGroups says nothing that could be relied on: it is not refreshed when pods
go, and has no text. Pods say why they have no node. Those that wait for a PodGroup, or for
another group, say nothing at all, so a gang about which nothing is said for long has not
been looked at. While members are held nothing is repeated that was said before.
"""

from collections.abc import Iterator, Sequence

from backend_controllers.contract.declaration import Facts, Words
from backend_controllers.koordinator.api import (
    KEY_QUOTA,
    PODGROUPS,
    QUOTAS,
    ObservedQuota,
)
from backend_controllers.koordinator.membership import is_placed, members
from backend_controllers.koordinator.messages import explain
from backend_controllers.koordinator.options import KoordinatorInstallation
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod

SCHEDULER_ERROR = "SchedulerError"
UNHEARD = "Koordinator has not looked at it yet"


def mirror(installation: KoordinatorInstallation, gang: PodGang, facts: Facts) -> Words:
    """What there is to say about a gang."""
    remarks = tuple(_unknown_quotas(installation, facts))
    if is_placed(gang, facts.pods):
        return Words(remarks=remarks)
    waiting = [
        pod for _, pods in members(gang, facts.pods) for pod in pods if not pod.spec.node_name
    ]
    if not facts.owned(PODGROUPS) or any(pod.is_gated for pod in waiting):
        return Words(remarks=remarks)
    reason, message = _why_not(gang, waiting)
    return Words(reason, message, remarks=remarks)


def _why_not(gang: PodGang, waiting: Sequence[Pod]) -> tuple[str, str]:
    told = [
        (condition.reason, condition.message)
        for pod in waiting
        if (condition := pod.condition("PodScheduled")) is not None
        and condition.status == "False"
        and condition.message
    ]
    minimum = sum(group.min_replicas for group in gang.spec.podgroups)
    reason, message = explain((text for why, text in told if why == "Unschedulable"), minimum)
    if reason:
        return reason, message
    failures = sorted(text for why, text in told if why == SCHEDULER_ERROR)
    if failures:
        return SCHEDULER_ERROR, failures[0].rstrip(" .")
    # Without a reason: this passes in a moment unless koord-scheduler is down.
    return "", UNHEARD


def _unknown_quotas(installation: KoordinatorInstallation, facts: Facts) -> Iterator[str]:
    named = {pod.metadata.labels.get(KEY_QUOTA, "") for pod in facts.pods} - {""}
    if not named or not installation.features.quotas:
        return
    known = {quota.metadata.name for quota in facts.all(QUOTAS) if isinstance(quota, ObservedQuota)}
    for name in sorted(named - known):
        yield (
            f"ElasticQuota '{name}' does not exist, and Koordinator counts the pods against its"
            f" default quota: create it, or correct the label {KEY_QUOTA}"
        )
