"""How Koordinator schedules a gang: reason and message.

The status of PodGroups is not usable: it is not refreshed when pods are deleted, and has no
message. Pods have the reason. Pods that wait for a PodGroup or for another group have no
condition, so a gang without any condition has not been tried yet. While members are gated, older
messages are not repeated.
"""

from collections.abc import Iterator, Sequence

from backend_controllers.contract.declaration import Facts, Report
from backend_controllers.contract.scheduling_conditions import unscheduled_conditions
from backend_controllers.koordinator.api import KEY_QUOTA, PODGROUPS, QUOTAS
from backend_controllers.koordinator.installation import KoordinatorInstallation
from backend_controllers.koordinator.membership import is_scheduled, members
from backend_controllers.koordinator.messages import explain
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod

SCHEDULER_ERROR = "SchedulerError"
NOT_TRIED = "Koordinator has not tried it yet"


def mirror(installation: KoordinatorInstallation, gang: ObservedPodGang, facts: Facts) -> Report:
    """Return what Koordinator reports about a gang."""
    remarks = tuple(_missing_quotas(installation, facts))
    waiting = [pod for _, pods in members(gang, facts.pods) for pod in pods if not pod.is_bound]
    if (
        is_scheduled(gang, facts.pods)
        or not facts.owned(PODGROUPS)
        or any(pod.is_gated for pod in waiting)
    ):
        return Report(remarks=remarks)
    reason, message = _why_unscheduled(gang, waiting)
    return Report(reason, message, remarks=remarks)


def _why_unscheduled(gang: ObservedPodGang, waiting: Sequence[Pod]) -> tuple[str, str]:
    found = list(unscheduled_conditions(waiting, "Unschedulable", SCHEDULER_ERROR))
    messages = [one.message for one in found if one.reason == "Unschedulable" and one.message]
    reason, message = explain(messages, sum(group.min_replicas for group in gang.spec.podgroups))
    if reason:
        return reason, message
    errors = sorted(one.message for one in found if one.reason == SCHEDULER_ERROR and one.message)
    if errors:
        return SCHEDULER_ERROR, errors[0].rstrip(" .")
    # No reason: this ends soon unless koord-scheduler is down.
    return "", NOT_TRIED


def _missing_quotas(installation: KoordinatorInstallation, facts: Facts) -> Iterator[str]:
    named = {pod.metadata.labels.get(KEY_QUOTA, "") for pod in facts.pods} - {""}
    if not named or not installation.features.quotas:
        return
    # Pods name a quota without its namespace.
    existing = {quota.metadata.name for quota in facts.all(QUOTAS)}
    for name in sorted(named - existing):
        yield (
            f"ElasticQuota '{name}' does not exist: Koordinator counts the pods in its default"
            f" quota. Create it, or correct the label {KEY_QUOTA}"
        )
