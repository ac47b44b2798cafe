"""Notices that a scheduler does not act on a gang that it could schedule: its process may be down.

A gang is overdue if its scheduler has its object, its members are ungated, and for some time neither the
scheduler's object nor a pod had a message. No API reports that a scheduler is down, so the message names
where to look. The time is counted from when this process first saw it; a gang that was reported before
a restart stays reported.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, timedelta

from backend_controllers.contract.declaration import Report
from backend_controllers.contract.pod_counts import members_are_ungated
from backend_controllers.contract.scheduling_conditions import scheduled_condition
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.runtime.clock import Clock

NOT_RESPONDING = names.REASON_SCHEDULER_NOT_RESPONDING
_NOT_SEEN = "the scheduler has not looked at the gang"
_GATED = "SchedulingGated"


class Silence:
    """Since when schedulers do not act on gangs."""

    def __init__(self, clock: Clock, seconds: float, where: str) -> None:
        self._clock = clock
        self._seconds = seconds
        self._where = where
        self._since: dict[str, float] = {}

    def judged(
        self, gang: ObservedPodGang, pods: tuple[Pod, ...], report: Report
    ) -> tuple[Report, float | None]:
        """Return the report about a gang that is not scheduled, and when to look at it again."""
        uid, now = gang.metadata.uid, self._clock.monotonic()
        if report.reason or _has_message(pods):
            self._since.pop(uid, None)
            return report, None
        if not members_are_ungated(gang, pods):
            self._since.pop(uid, None)
            # No event adds the key when the pods are ungated.
            return report, self._seconds
        before = scheduled_condition(gang)
        if before is not None and before.reason == NOT_RESPONDING and uid not in self._since:
            kept = before.message.partition(": ")[2]
            return replace(report, reason=NOT_RESPONDING, message=kept), None
        left = self._since.setdefault(uid, now) + self._seconds - now
        if left > 0:
            return report, left
        return replace(report, reason=NOT_RESPONDING, message=self._message(uid, report)), None

    def forget(self, uid: str) -> None:
        """Forget a gang that is scheduled or gone."""
        self._since.pop(uid, None)

    def _message(self, uid: str, report: Report) -> str:
        ago = timedelta(seconds=self._clock.monotonic() - self._since[uid])
        since = (self._clock.utc() - ago).astimezone(UTC).strftime("%H:%M:%SZ")
        text = f"{report.message or _NOT_SEEN} for more than {self._seconds:g} s, since {since}"
        return f"{text}. Check that the scheduler runs: {self._where}" if self._where else text


def _has_message(pods: Iterable[Pod]) -> bool:
    """Tell whether the scheduler has looked at a pod without a node since it was ungated."""
    conditions = (pod.condition("PodScheduled") for pod in pods if not pod.is_bound)
    return any(one is not None and one.reason != _GATED for one in conditions)
