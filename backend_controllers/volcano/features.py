"""What the installed Volcano can do, read from the schemas of its CRDs, and how it is set up.

The version of Volcano is written nowhere in the cluster, and a field that the CRD lacks is
dropped by the server without a word. So every optional field is looked up, and none that is
missing is ever sent.
"""

from dataclasses import dataclass

from pydantic import Field

from backend_controllers.contract.declaration import Options, Served
from backend_controllers.contract.installation import Installation
from backend_controllers.volcano.api import HYPERNODES, PODGROUPS


class VolcanoOptions(Options):
    """Settings of this backend."""

    default_queue: str = Field(default="default", min_length=1, max_length=253)
    """Queue of gangs that name none. Volcano makes a queue `default` itself."""

    queue_admission: bool = False
    """Whether a PodGroup states what its minimum asks for (minResources). Volcano then lets a gang
    into its queue only if queue and cluster could hold that, and says of one that waits outside
    neither which nodes nor how many. Without it every gang is let in at once."""


@dataclass(frozen=True, slots=True)
class Features:
    """Optional parts of the API that were found."""

    sub_groups: bool = True
    """subGroupPolicy with minSubGroups, v1.14: minimums and placements of groups."""
    tasks: bool = True
    """minTaskMember: minimums of groups where there are no sub-groups."""
    topology: bool = True
    """networkTopology and HyperNodes, v1.11."""
    nested: bool = True
    """networkTopology of a sub-group, v1.14."""
    min_resources: bool = True
    """minResources, which every release has that is still in use."""

    @property
    def release(self) -> str:
        """The range of Volcano releases that this looks like, for messages."""
        if self.sub_groups:
            return "v1.14 or newer"
        return "v1.11 to v1.13" if self.topology else "before v1.11"


@dataclass(frozen=True, slots=True)
class VolcanoInstallation(Installation[Features, VolcanoOptions]):
    """Volcano in this cluster, and the options of its backend."""

    @property
    def states_minimum(self) -> bool:
        """Tell whether PodGroups carry minResources."""
        return self.options.queue_admission and self.features.min_resources


def find(served: Served) -> Features:
    """Look at the schemas."""
    policy = ("spec", "subGroupPolicy")
    sub_groups = served.has_field(PODGROUPS, *policy, "minSubGroups") and served.has_field(
        PODGROUPS, *policy, "matchLabelKeys"
    )
    # The gang is given a number and never the name of a tier: v1.14.1 does not heed the name in
    # a sub-group, and rewrites it.
    topology = served.has(HYPERNODES) and served.has_field(
        PODGROUPS, "spec", "networkTopology", "highestTierAllowed"
    )
    return Features(
        sub_groups=sub_groups,
        tasks=served.has_field(PODGROUPS, "spec", "minTaskMember"),
        topology=topology,
        min_resources=served.has_field(PODGROUPS, "spec", "minResources"),
        nested=topology
        and sub_groups
        and served.has_field(PODGROUPS, *policy, "networkTopology", "highestTierAllowed"),
    )
