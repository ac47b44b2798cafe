"""The installed KAI: the features that its CRDs show, and the settings of this backend.

KAI's version is recorded nowhere in the cluster, and the server drops unknown fields without an
error. So every optional field is looked up in the schemas. A field that is missing must never be
sent: it would differ from the stored object forever.
"""

from dataclasses import dataclass

from pydantic import Field

from backend_controllers.contract.declaration import Options, Served
from backend_controllers.contract.installation import Installation
from backend_controllers.kai.api import PODGROUPS, TOPOLOGIES


class KaiOptions(Options):
    """Settings of this backend."""

    default_queue: str | None = Field(default=None, min_length=1, max_length=253)
    """Queue of gangs that set none. Without it such gangs are rejected."""

    staleness_grace_period: str | None = None
    """How long KAI waits before it evicts a gang that is below its minimum, as a Go duration.
    A negative value means forever. Needs KAI v0.17. If absent, the flag of KAI's scheduler
    decides."""


@dataclass(frozen=True, slots=True)
class KaiFeatures:
    """Optional parts of the API that were found."""

    preemptibility: bool = True
    """v0.10."""
    nested: bool = True
    """Sub-groups with parents and topology constraints, v0.10."""
    topology: bool = True
    """Topology objects and topology constraints."""
    min_sub_group: bool = True
    """v0.15. The same release reads the annotation skip-podgrouper."""
    empty_groups: bool = True
    """Sub-groups with a minimum of 0, v0.15."""
    strict_names: bool = True
    """Names of sub-groups must be DNS labels, v0.15."""
    delays: bool = True
    """preemptionDelay and stalenessGracePeriod, v0.17."""

    @property
    def release(self) -> str:
        """The KAI releases that have these features, for messages."""
        if self.delays:
            return "v0.17 or newer"
        if self.min_sub_group:
            return "v0.15 or v0.16"
        return "v0.10 to v0.14" if self.nested else "v0.9"


class KaiInstallation(Installation[KaiFeatures, KaiOptions]):
    """KAI in this cluster, and the options of its backend."""


def detect_features(served: Served) -> KaiFeatures:
    """Read the features from the schemas."""
    group = ("spec", "subGroups")
    minimum = (served.schema_of(PODGROUPS, *group, "minMember") or {}).get("minimum", 0)
    return KaiFeatures(
        preemptibility=served.has_field(PODGROUPS, "spec", "preemptibility"),
        nested=served.has_field(PODGROUPS, *group, "parent")
        and served.has_field(PODGROUPS, *group, "topologyConstraint"),
        topology=served.has(TOPOLOGIES)
        and served.has_field(PODGROUPS, "spec", "topologyConstraint"),
        min_sub_group=served.has_field(PODGROUPS, "spec", "minSubGroup")
        and served.has_field(PODGROUPS, *group, "minSubGroup"),
        # Before v0.15 the scheduler reads 0 as 1, even if the schema allows 0.
        empty_groups=minimum == 0 and served.has_field(PODGROUPS, *group, "minSubGroup"),
        strict_names="pattern" in (served.schema_of(PODGROUPS, *group, "name") or {}),
        delays=served.has_field(PODGROUPS, "spec", "preemptionDelay")
        and served.has_field(PODGROUPS, "spec", "stalenessGracePeriod"),
    )
