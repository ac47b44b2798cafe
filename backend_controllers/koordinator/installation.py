"""The installed Koordinator: the features that its CRDs show, and the settings of this backend."""

import enum
from dataclasses import dataclass

from pydantic import Field

from backend_controllers.contract.declaration import Options, Served
from backend_controllers.contract.installation import Installation
from backend_controllers.koordinator.api import PODGROUPS, QUOTAS, SCHEDULER_NAME, TOPOLOGIES

LONGEST_WAIT = 900
"""Seconds. The scheduling framework ends every wait at its Permit stage after that."""


class Mode(enum.StrEnum):
    """What happens to members that have capacity when another member has none."""

    STRICT = "Strict"
    NON_STRICT = "NonStrict"


class MatchPolicy(enum.StrEnum):
    """Which pods count for the minimum of a group."""

    WAITING_AND_RUNNING = "waiting-and-running"
    ONCE_SATISFIED = "once-satisfied"
    ONLY_WAITING = "only-waiting"


class KoordinatorOptions(Options):
    """Settings of this backend."""

    scheduler_name: str = Field(default=SCHEDULER_NAME, min_length=1, max_length=253)
    """Scheduler of pods that name no profile of Koordinator; the profile's name in its
    configuration."""

    mode: Mode = Mode.STRICT
    """Strict: if one member does not fit, the others release their capacity at once. NonStrict:
    they wait for it until the waiting time is over."""

    match_policy: MatchPolicy = MatchPolicy.WAITING_AND_RUNNING
    """Which pods count for a group's minimum. waiting-and-running: pods that run and pods that
    have capacity. once-satisfied: after its first start a gang is no gang any more, and lost pods
    are bound one by one. only-waiting: running pods do not count, so lost pods are bound only if
    all pods were lost."""

    waiting_seconds: int | None = Field(default=None, ge=1, le=LONGEST_WAIT)
    """How long members that have capacity wait for the others. If absent, Koordinator's own
    setting decides (600 s)."""

    default_quota: str | None = Field(default=None, min_length=1, max_length=63)
    """ElasticQuota of gangs that set none. Without it Koordinator counts them in its own default
    quota."""


@dataclass(frozen=True, slots=True)
class KoordinatorFeatures:
    """Optional parts of the API that were found."""

    waiting_time: bool = True
    """spec.scheduleTimeoutSeconds."""
    topology: bool = True
    """ClusterNetworkTopology, v1.7."""
    quotas: bool = True
    """ElasticQuota."""


class KoordinatorInstallation(Installation[KoordinatorFeatures, KoordinatorOptions]):
    """Koordinator in this cluster, and the options of its backend."""


def detect_features(served: Served) -> KoordinatorFeatures:
    """Read the features from the schemas."""
    return KoordinatorFeatures(
        waiting_time=served.has_field(PODGROUPS, "spec", "scheduleTimeoutSeconds"),
        topology=served.has_field(TOPOLOGIES, "spec", "networkTopologySpec", "labelKey"),
        quotas=served.has(QUOTAS),
    )
