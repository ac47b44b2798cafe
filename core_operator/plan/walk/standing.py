"""How far a gang is with its backend instance, from its conditions and pods.

Only what the backend reports decides whether it takes the gang: `Accepted`, `Programmed`, and pods
that were given back because the scheduler did not bind them in time. No scheduler is known here.
"""

from collections.abc import Sequence
from datetime import datetime

from core_operator.plan.pods.gang_pods import GroupPods, has_ungated_pod, released_on
from core_operator.plan.release import Release, WaitingFor
from core_operator.plan.statuses.conditions import find
from core_operator.plan.walk.steps import Refusal, Standing
from shared_api import names
from shared_api.models import PlacementOutcome, PodGang

REFUSALS = {
    names.REASON_NO_CAPACITY: PlacementOutcome.CAPACITY,
    names.REASON_CONFLICT: PlacementOutcome.INVALID,
    names.REASON_REJECTED: PlacementOutcome.INVALID,
}
"""Reasons of Programmed=False with which a backend does not take a gang."""

_NOT_OF_THE_BACKEND = frozenset({WaitingFor.PODS, WaitingFor.REFERENCES, WaitingFor.BASE_GANG})


def standing_of(
    gang: PodGang,
    groups: Sequence[GroupPods],
    release: Release | None,
    missing_since: datetime | None = None,
    base: str | None = None,
) -> Standing | None:
    """Return how far a gang is; None if it has no backend."""
    pods = [pod for group in groups for pod in group.live]
    labelled = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
    backend = released_on(pods) or labelled
    if backend is None:
        return None
    conditions = gang.status.conditions if gang.status is not None else ()
    scheduled = find(conditions, names.CONDITION_SCHEDULED)
    released = has_ungated_pod(groups)
    return Standing(
        uid=gang.metadata.uid or "",
        backend=backend,
        is_bound=any(pod.is_bound for pod in pods),
        is_released=released,
        waits_for_backend=released
        or (release is not None and release.reason not in _NOT_OF_THE_BACKEND),
        refusal=_refusal(gang),
        progress=scheduled.message if scheduled is not None and scheduled.status != "True" else "",
        missing_since=missing_since,
        base=base,
    )


def _refusal(gang: PodGang) -> Refusal | None:
    conditions = gang.status.conditions if gang.status is not None else ()
    accepted = find(conditions, names.CONDITION_ACCEPTED)
    if accepted is not None and accepted.status == "False":
        return Refusal(PlacementOutcome.INVALID, accepted.message)
    programmed = find(conditions, names.CONDITION_PROGRAMMED)
    if programmed is not None and programmed.status == "False" and programmed.reason in REFUSALS:
        return Refusal(REFUSALS[programmed.reason], programmed.message)
    bind = gang.status.bind_attempt if gang.status is not None else None
    if bind is not None and bind.retry_at is not None:
        text = f"only {bind.bound or 0} pods were bound before the bind timeout"
        return Refusal(PlacementOutcome.CAPACITY, text)
    return None
