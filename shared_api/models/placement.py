"""PlacementPolicy: which backend instances may have a gang, in which order, and when it moves on.

A PodCliqueSet names a policy of its namespace by the annotation `grove.io/placement-policy`. The
policy describes a wish; core decides with it and explains the decision in each PodGang.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import durations, names
from shared_api.models.compute import Currency, Money, Place
from shared_api.models.jobs import positive_duration
from shared_api.models.meta import KubeModel, KubeObject, LabelMap, Name
from shared_api.models.schema import Int32, Rule, forbidden, list_atomic, list_set, rules

# Every instance that s selects is selected by a too. Labels narrow what is avoided: they contradict
# nothing here, and a policy that leaves no backend is reported.
_COVERED = (
    "(!has(a.labels) || size(a.labels) == 0)"
    " && (!has(a.name) || (has(s.name) && s.name == a.name))"
    " && (!has(a.kind) || (has(s.kind) && s.kind == a.kind))"
)


def _not_avoided(listed: str) -> Rule:
    return forbidden(
        f"!has(self.avoid) || !has(self.{listed}) ||"
        f" !self.{listed}.exists(s, self.avoid.exists(a, {_COVERED}))",
        f"a backend that is avoided cannot be {listed} too: remove it from one of the two",
        ".avoid",
    )


class BackendSelector(KubeModel):
    """Backend instances by name, kind or labels. All that is given must match."""

    RULES: ClassVar = (
        Rule(
            check="has(self.name) || has(self.kind) || (has(self.labels) && size(self.labels) > 0)",
            message="must have a name, a kind or labels",
        ),
    )

    name: Name | None = None
    """Name of an instance, which is that of its SchedulerBackend."""

    kind: Name | None = None
    """Kind of backend, such as kai or slurm."""

    labels: LabelMap = Field(default_factory=dict)
    """Labels of the SchedulerBackend."""


class PreferredBackend(BackendSelector):
    """Backend instances that are preferred."""

    weight: Annotated[Int32, Field(ge=1, le=100)]
    """How much, from 1 to 100. If several entries match an instance, the highest weight counts."""


class PlacementCandidates(KubeModel):
    """Who may have the gang."""

    RULES: ClassVar = (_not_avoided("required"), _not_avoided("preferred"))

    required: Annotated[tuple[BackendSelector, ...], list_atomic(at_most=16)] = ()
    """Only instances that match one of these. Empty: any."""

    preferred: Annotated[tuple[PreferredBackend, ...], list_atomic(at_most=16)] = ()
    """Instances that come first."""

    avoid: Annotated[tuple[BackendSelector, ...], list_atomic(at_most=16)] = ()
    """Never an instance that matches one of these."""


class PlacementObjective(StrEnum):
    """What orders the candidates first."""

    ORDER = "Order"
    COST = "Cost"
    PERFORMANCE = "Performance"
    LOCALITY = "Locality"


class LocationFilter(KubeModel):
    """Where a gang may run. An instance whose location is unknown is not a candidate."""

    regions: Annotated[tuple[Place, ...], list_set(at_most=32)] = ()
    """Regions, of which one must match. Empty: any."""

    zones: Annotated[tuple[Place, ...], list_set(at_most=32)] = ()
    """Zones, of which one must match. Empty: any."""

    datacenters: Annotated[tuple[Place, ...], list_set(at_most=32)] = ()
    """Data centers, of which one must match. Empty: any."""


class LostAction(StrEnum):
    """What happens to a released gang without a bound pod whose backend is down."""

    WAIT = "Wait"
    RELOCATE = "Relocate"


class LostPolicy(KubeModel):
    """What happens to a released gang without a bound pod whose backend is down."""

    after: Annotated[str, Field(max_length=32), positive_duration("after")] = "10m"
    """How long the backend must be down."""

    action: LostAction = LostAction.WAIT
    """Wait: the gang stays until the backend is back. Relocate: it goes to the next candidate."""


class PlacementPolicySpec(KubeModel):
    """Which backend instances may have a gang, and in which order."""

    candidates: PlacementCandidates = Field(default_factory=PlacementCandidates)
    """Who may have the gang."""

    objective: PlacementObjective = PlacementObjective.ORDER
    """Order: by weight, then by the order of `required`. Cost: the lowest known price first.
    Performance: the instance that can hold the gang most often first. Locality: the instance that is
    nearest to the base gang first. Equal candidates are ordered as with Order."""

    max_hourly_cost: Money | None = None
    """What the gang may cost per hour. An instance with an unknown price is not a candidate then."""

    currency: Currency = "USD"
    """Currency of maxHourlyCost and of compared prices. A price in another currency is unknown."""

    location: LocationFilter | None = None
    """Where the gang may run."""

    admission_timeout: Annotated[
        str | None,
        Field(max_length=32),
        rules(
            Rule(
                check=f"self.matches('^{durations.PATTERN}$') && duration(self) >= duration('1s')",
                message="must be a duration of at least 1s, such as 30s, 10m or 4h",
            )
        ),
    ] = None
    """How long a gang may wait to be scheduled by one candidate. Time in which it waits for its own
    pods or for its base gang does not count. Absent: no limit."""

    lost: LostPolicy | None = None
    """What happens to a released gang without a bound pod whose backend is down. Absent: it waits."""


class PlacementPolicy(KubeObject):
    """How gangs of PodCliqueSets in this namespace choose a backend instance."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PlacementPolicy"

    spec: PlacementPolicySpec = Field(default_factory=PlacementPolicySpec)
    """Which backend instances, and in which order."""
