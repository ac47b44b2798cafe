"""What the installed KAI can do, read from the schemas of its CRDs, and how it is set up.

The version of KAI is written nowhere in the cluster, and a field that the CRD lacks is
dropped by the server without a word. So every optional field is looked up, and none that
is missing is ever sent: it would be wanted and absent for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from backend_controllers.contract.declaration import Options, Served
from backend_controllers.contract.installation import Installation
from backend_controllers.kai.api import PODGROUPS, TOPOLOGIES


class KaiOptions(Options):
    """Settings of this backend."""

    default_queue: str | None = Field(default=None, min_length=1, max_length=253)
    """Queue of gangs that name none. Without it such gangs are refused."""

    staleness_grace_period: str | None = None
    """How long KAI leaves a gang alone that fell below its minimum, as a Go duration; negative
    for ever. Needs KAI v0.17. When absent, the flag of KAI's scheduler decides."""


@dataclass(frozen=True, slots=True)
class Features:
    """Optional parts of the API that were found."""

    preemptibility: bool = True
    """v0.10."""
    nested: bool = True
    """Sub-groups with parents and placements of their own, v0.10."""
    topology: bool = True
    """Topology objects and placements."""
    min_sub_group: bool = True
    """v0.15. The same release heeds skip-podgrouper."""
    empty_groups: bool = True
    """A sub-group whose minimum is 0, v0.15."""
    strict_names: bool = True
    """Sub-groups must be DNS labels, v0.15."""
    delays: bool = True
    """preemptionDelay and stalenessGracePeriod, v0.17."""

    @property
    def release(self) -> str:
        """The range of KAI releases that this looks like, for messages."""
        if self.delays:
            return "v0.17 or newer"
        if self.min_sub_group:
            return "v0.15 or v0.16"
        return "v0.10 to v0.14" if self.nested else "v0.9"


class KaiInstallation(Installation[Features, KaiOptions]):
    """KAI in this cluster, and the options of its backend."""


def find(served: Served) -> Features:
    """Look at the schemas."""
    group = ("spec", "subGroups")
    minimum = _node(served, *group, "minMember").get("minimum", 0)
    return Features(
        preemptibility=served.has_field(PODGROUPS, "spec", "preemptibility"),
        nested=served.has_field(PODGROUPS, *group, "parent")
        and served.has_field(PODGROUPS, *group, "topologyConstraint"),
        topology=served.has(TOPOLOGIES)
        and served.has_field(PODGROUPS, "spec", "topologyConstraint"),
        min_sub_group=served.has_field(PODGROUPS, "spec", "minSubGroup")
        and served.has_field(PODGROUPS, *group, "minSubGroup"),
        # Before v0.15 the scheduler reads 0 as 1 even where the schema lets it pass.
        empty_groups=minimum == 0 and served.has_field(PODGROUPS, *group, "minSubGroup"),
        strict_names="pattern" in _node(served, *group, "name"),
        delays=served.has_field(PODGROUPS, "spec", "preemptionDelay")
        and served.has_field(PODGROUPS, "spec", "stalenessGracePeriod"),
    )


def _node(served: Served, *path: str) -> Mapping[str, object]:
    key = (PODGROUPS.group, PODGROUPS.version, PODGROUPS.plural)
    node: object = served.schemas.get(key)
    for name in path:
        while isinstance(node, Mapping) and "items" in node:
            node = node["items"]
        properties = node.get("properties") if isinstance(node, Mapping) else None
        node = properties.get(name) if isinstance(properties, Mapping) else None
    return node if isinstance(node, Mapping) else {}
