"""Whether a released gang has to give back its pods, and until when it stays gated then.

Some schedulers know no gangs. Where the backend's record has `bindTimeoutSeconds`, core keeps the
guarantee from outside: a gang whose minimum is not bound in time gives back all ungated pods and
waits, each time longer. The waits differ by the gang's UID, so that two gangs that took each
other's capacity do not start together again.

Everything is decided from the pods and from `status.bindAttempt`, so it survives a restart. The
deadline is stored before the first pod is ungated, and the failure before the first pod is
deleted. A gang whose minimum is bound is never given back. One whose minimum was bound before has
no deadline: if it loses pods, it keeps the others, and `terminationDelay` decides.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core_operator.plan.pods.gang_pods import GroupPods, base_state, has_gate
from core_operator.plan.release import Release, WaitingFor
from core_operator.plan.statuses.breach import timestamp
from shared_api.kube.pods import Pod
from shared_api.models import BindAttempt, PodGang, SchedulerBackendSpec

# As shares of the timeout: with 300 s the waits are up to 60, 120, 240 ... 1800 s.
_FIRST_WAIT = 0.2
_LONGEST_WAIT = 6.0
_NO_ATTEMPT = BindAttempt()


@dataclass(frozen=True, slots=True)
class BindPlan:
    """What to store and to delete now, and the release that is left."""

    release: Release
    attempt: BindAttempt | None = None
    """The new `status.bindAttempt`; None removes it."""
    give_back: tuple[Pod, ...] = ()
    """The pods to delete: every ungated pod of the gang."""
    due: datetime | None = None
    """When to plan again."""
    failure: str = ""
    """Why the attempt has failed just now; empty if it has not."""
    countdown: str = ""
    """What happens at the deadline of a released gang."""


def plan_binding(
    gang: PodGang,
    groups: Sequence[GroupPods],
    record: SchedulerBackendSpec,
    release: Release,
    now: datetime,
    *,
    may_release: bool,
) -> BindPlan:
    """Return what the bind timeout demands; the release is unchanged where there is none."""
    seconds = record.release.bind_timeout_seconds
    state = base_state(gang.metadata.name, groups)
    # A gang of one pod is never bound in part.
    if seconds is None or state.is_scheduled or state.minimum < 2:
        return BindPlan(release)
    before = (gang.status.bind_attempt if gang.status is not None else None) or _NO_ATTEMPT
    begun = any(group.has_ungated(record.scheduling_gate) for group in groups)
    if begun and before.deadline is not None and before.deadline <= now:
        failures = before.failures + 1
        wait = timedelta(seconds=wait_seconds(gang.metadata.uid or "", failures, seconds))
        attempt = BindAttempt(failures=failures, bound=state.bound, retry_at=now + wait)
        failed = _waiting(release, groups, record, attempt)
        return replace(failed, failure=f"gang {gang.metadata.name}: {failed.release.message}")
    if before.retry_at is not None and (begun or now < before.retry_at):
        return _waiting(release, groups, record, before)
    if begun:
        return _starting(release, _attempt(before, before.deadline), state.minimum)
    if release.ungate and may_release:
        is_ahead = before.deadline is not None and now < before.deadline
        deadline = before.deadline if is_ahead else now + timedelta(seconds=seconds)
        return _starting(release, _attempt(before, deadline), state.minimum)
    return BindPlan(release, _attempt(before, None))


def wait_seconds(uid: str, failures: int, timeout: int) -> float:
    """Return how long a gang stays gated after so many failures in a row.

    It is between the half and the whole of a time that doubles, by a hash of UID and count.
    """
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures - 1, 16)) * timeout
    hashed = hashlib.blake2b(f"{uid}/{failures}".encode(), digest_size=8).digest()
    return longest * (0.5 + 0.5 * int.from_bytes(hashed) / 2.0**64)


def _waiting(
    release: Release,
    groups: Sequence[GroupPods],
    record: SchedulerBackendSpec,
    attempt: BindAttempt,
) -> BindPlan:
    """Return the plan of a gang that gives back its pods, or has done so."""
    gate = record.scheduling_gate
    minimum = base_state("", groups).minimum
    at = timestamp(attempt.retry_at) if attempt.retry_at is not None else ""
    message = (
        f"{attempt.bound or 0}/{minimum} pods bound within {record.release.bind_timeout_seconds} s,"
        f" given back; attempt {attempt.failures + 1} at {at}. Add capacity or lower minAvailable"
    )
    gated = replace(
        release, ungate=(), released=False, reason=WaitingFor.BIND_TIMEOUT, message=message
    )
    ungated = (pod for group in groups for pod in group.live if not has_gate(pod, gate))
    return BindPlan(gated, attempt, give_back=tuple(ungated), due=attempt.retry_at)


def _starting(release: Release, attempt: BindAttempt | None, minimum: int) -> BindPlan:
    if attempt is None or attempt.deadline is None:
        # Its minimum was bound before, or it was released without a timeout.
        return BindPlan(release, attempt)
    countdown = (
        f"attempt {attempt.failures + 1}: all pods are given back at {timestamp(attempt.deadline)}"
        f" unless {minimum} are bound"
    )
    return BindPlan(release, attempt, due=attempt.deadline, countdown=countdown)


def _attempt(before: BindAttempt, deadline: datetime | None) -> BindAttempt | None:
    """Return the next attempt with what is known about the last one; None if there is nothing."""
    known: dict[str, object] = {}
    if before.failures:
        known = {"failures": before.failures, "bound": before.bound or 0}
    if deadline is not None:
        known["deadline"] = deadline
    return BindAttempt.model_validate(known) if known else None
