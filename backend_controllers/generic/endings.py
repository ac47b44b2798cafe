"""Gangs whose jobs have ended: core reports it by a condition once none of their pods runs.

The backend then deletes the scheduler's objects, so that the queue of the gang is free, and sets
its phase. This is the same for every scheduler.
"""

from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import PodGangPhase

_PHASES = {
    names.CONDITION_COMPLETED: PodGangPhase.SUCCEEDED,
    names.CONDITION_FAILED: PodGangPhase.FAILED,
}


def ended_phase(gang: ObservedPodGang) -> PodGangPhase | None:
    """Return the phase of a gang whose jobs have ended; None for all others."""
    for kind, phase in _PHASES.items():
        condition = gang.condition(kind)
        if condition is not None and condition.status == "True":
            return phase
    return None


def has_ended(gang: ObservedPodGang) -> bool:
    """Tell whether the jobs of a gang have ended."""
    return ended_phase(gang) is not None


def ending_changed(old: ObservedPodGang | None, new: ObservedPodGang | None) -> bool:
    """A gang has ended, or starts again."""
    return old is not None and new is not None and ended_phase(old) is not ended_phase(new)
