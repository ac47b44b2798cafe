"""The installed Volcano: the features that its CRDs show, and the settings of this backend.

Volcano's version is recorded nowhere in the cluster, and the server drops unknown fields without
an error. So every optional field is looked up in the schemas, and a missing field is never sent.
"""

from dataclasses import dataclass

from pydantic import Field

from backend_controllers.contract.declaration import Options, Served
from backend_controllers.contract.installation import Installation
from backend_controllers.volcano.api import HYPERNODES, PODGROUPS


class VolcanoOptions(Options):
    """Settings of this backend."""

    default_queue: str = Field(default="default", min_length=1, max_length=253)
    """Queue of gangs that set none. Volcano creates a queue `default` itself."""

    queue_admission: bool = False
    """Whether a PodGroup has the requests of its minimum (minResources). If so, Volcano admits a
    gang to its queue only if queue and cluster have that capacity. For a gang that it does not
    admit, Volcano reports neither nodes nor numbers. If not, every gang is admitted at once."""


@dataclass(frozen=True, slots=True)
class VolcanoFeatures:
    """Optional parts of the API that were found."""

    sub_groups: bool = True
    """subGroupPolicy with minSubGroups, v1.14: minimums and topology of groups."""
    tasks: bool = True
    """minTaskMember: minimums of groups if there are no sub-groups."""
    topology: bool = True
    """networkTopology and HyperNodes, v1.11."""
    nested: bool = True
    """networkTopology of a sub-group, v1.14."""
    min_resources: bool = True
    """minResources, which every release in use has."""

    @property
    def release(self) -> str:
        """The Volcano releases that have these features, for messages."""
        if self.sub_groups:
            return "v1.14 or newer"
        return "v1.11 to v1.13" if self.topology else "before v1.11"


@dataclass(frozen=True, slots=True)
class VolcanoInstallation(Installation[VolcanoFeatures, VolcanoOptions]):
    """Volcano in this cluster, and the options of its backend."""

    @property
    def has_min_resources(self) -> bool:
        """Tell whether PodGroups are written with minResources."""
        return self.options.queue_admission and self.features.min_resources


def detect_features(served: Served) -> VolcanoFeatures:
    """Read the features from the schemas."""
    policy = ("spec", "subGroupPolicy")
    sub_groups = served.has_field(PODGROUPS, *policy, "minSubGroups") and served.has_field(
        PODGROUPS, *policy, "matchLabelKeys"
    )
    # A gang gets the number of a tier and never its name: v1.14.1 ignores the name in a
    # sub-group, and rewrites it.
    topology = served.has(HYPERNODES) and served.has_field(
        PODGROUPS, "spec", "networkTopology", "highestTierAllowed"
    )
    return VolcanoFeatures(
        sub_groups=sub_groups,
        tasks=served.has_field(PODGROUPS, "spec", "minTaskMember"),
        topology=topology,
        min_resources=served.has_field(PODGROUPS, "spec", "minResources"),
        nested=topology
        and sub_groups
        and served.has_field(PODGROUPS, *policy, "networkTopology", "highestTierAllowed"),
    )
