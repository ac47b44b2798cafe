"""How this backend is set up, and what the installed CRDs let it do."""

import enum
from dataclasses import dataclass

from pydantic import Field

from backend_controllers.contract.declaration import Options
from backend_controllers.contract.installation import Installation
from backend_controllers.koordinator.api import SCHEDULER_NAME

LONGEST_WAIT = 900
"""Seconds; the scheduling framework cuts every wait at its Permit stage there."""


class Mode(enum.StrEnum):
    """What becomes of members that have room when another has none."""

    STRICT = "Strict"
    NON_STRICT = "NonStrict"


class MatchPolicy(enum.StrEnum):
    """Which pods count towards the minimum of a group."""

    WAITING_AND_RUNNING = "waiting-and-running"
    ONCE_SATISFIED = "once-satisfied"
    ONLY_WAITING = "only-waiting"


class KoordinatorOptions(Options):
    """Settings of this backend."""

    scheduler_name: str = Field(default=SCHEDULER_NAME, min_length=1, max_length=253)
    """Scheduler of pods that name none of Koordinator's; the profile's name in its configuration."""

    mode: Mode = Mode.STRICT
    """Strict: members that have room give it back at once when another member has none. NonStrict:
    they wait for it until the waiting time is over."""

    match_policy: MatchPolicy = MatchPolicy.WAITING_AND_RUNNING
    """Which pods count towards a group's minimum. waiting-and-running: those that run and those
    that have room. once-satisfied: a gang that ran once is no gang any more, and what it lost is
    bound pod by pod. only-waiting: those that run do not count, so that what a gang lost is bound
    only if all of it was."""

    waiting_seconds: int | None = Field(default=None, ge=1, le=LONGEST_WAIT)
    """How long members that have room hold it for the others. When absent, Koordinator's own
    setting decides (600 s)."""

    default_quota: str | None = Field(default=None, min_length=1, max_length=63)
    """ElasticQuota of gangs that name none. Without it Koordinator counts them against its own
    default quota."""


@dataclass(frozen=True, slots=True)
class Features:
    """Optional parts of the API that were found."""

    waiting_time: bool = True
    """spec.scheduleTimeoutSeconds."""
    topology: bool = True
    """ClusterNetworkTopology, v1.7."""
    quotas: bool = True
    """ElasticQuota."""


class KoordinatorInstallation(Installation[Features, KoordinatorOptions]):
    """Koordinator in this cluster, and the options of its backend."""
