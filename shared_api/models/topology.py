"""Where pods of a workload may be placed relative to each other.

A workload names topology *domains* ("rack"); a ClusterTopologyBinding says which node label
stands for which domain in this cluster. What needs the binding (does the domain exist, is
the child narrower than its parent) cannot be checked by a schema and is reported by core.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.cel import text, unchanged
from shared_api.models.meta import Conditions, KubeModel, KubeObject
from shared_api.models.schema import Int64, Rule, list_atomic, list_map, rules

TopologyDomain = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z][a-z0-9-]*$")]

_LABEL_KEY = (
    r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
)


class TopologyPack(KubeModel):
    """How closely pods are packed."""

    RULES: ClassVar = (
        Rule(
            check="has(self.required) || has(self.preferred)",
            message="pack needs required, preferred or both",
            reason="FieldValueRequired",
        ),
    )

    required: TopologyDomain | None = None
    """All pods are placed in one domain of this level, or not at all."""

    preferred: TopologyDomain | None = None
    """The scheduler tries to place all pods in one domain of this level."""


_REQUIRED = (
    "(has(self.pack) && has(self.pack.required) ? self.pack.required"
    " : (has(self.packDomain) ? self.packDomain : ''))"
)
_PREFERRED = "(has(self.pack) && has(self.pack.preferred) ? self.pack.preferred : '')"
_CHANGED = "topology constraints are fixed at creation"


class TopologyConstraint(KubeModel):
    """Placement of the pods of a set, a scaling group replica or a clique."""

    RULES: ClassVar = (
        Rule(
            check="has(self.pack) || has(self.packDomain)",
            message="a topology constraint needs pack",
            reason="FieldValueRequired",
        ),
        Rule(
            check="!has(self.packDomain) || !has(self.pack) || !has(self.pack.required)",
            message="packDomain is the old name of pack.required: set only pack.required",
            field=".packDomain",
            reason="FieldValueForbidden",
        ),
        Rule(
            check="oldSelf.hasValue() || !has(self.packDomain)",
            message="packDomain is deprecated and refused in new objects: use pack.required",
            field=".packDomain",
            reason="FieldValueForbidden",
            on_create=True,
        ),
        Rule(
            check=f"{unchanged(_REQUIRED)} && {unchanged(_PREFERRED)}",
            message=f"{_CHANGED}; packDomain may move to pack.required with the same domain",
            reason="FieldValueForbidden",
        ),
        Rule(
            check=f"{unchanged(text('self.topologyName'))}"
            " || (!has(oldSelf.topologyName) && has(oldSelf.packDomain) && !has(oldSelf.pack))",
            message=f"{_CHANGED}; topologyName may only be added beside an old packDomain",
            field=".topologyName",
            reason="FieldValueForbidden",
        ),
    )

    topology_name: Annotated[str, Field(max_length=253)] | None = None
    """Name of the ClusterTopologyBinding; when absent, that of the level above."""

    pack: TopologyPack | None = None
    """The domains in which the pods are kept together."""

    pack_domain: TopologyDomain | None = None
    """Deprecated: use pack.required."""

    @property
    def required(self) -> str | None:
        """The domain that must not be left, by its new name or its old one."""
        return self.pack.required if self.pack and self.pack.required else self.pack_domain

    @property
    def preferred(self) -> str | None:
        """The domain that is better not left."""
        return self.pack.preferred if self.pack else None


FIXED_TOPOLOGY = Rule(
    check="has(self.topologyConstraint) == has(oldSelf.topologyConstraint)",
    message=f"{_CHANGED}: a constraint can be neither added nor removed",
    field=".topologyConstraint",
    reason="FieldValueForbidden",
)


class TopologyLevel(KubeModel):
    """One level of the cluster's topology."""

    domain: TopologyDomain
    """Name of the level, as workloads use it: region, zone, block, rack, host, numa or any other."""

    key: Annotated[str, Field(min_length=1, max_length=63, pattern=_LABEL_KEY)]
    """Key of the node label whose value names the domain that a node is in."""


class SchedulerTopologyBinding(KubeModel):
    """A topology object that somebody else keeps."""

    scheduler_name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the scheduler (or of its SchedulerBackend) that the object belongs to."""

    topology_reference: Annotated[str, Field(min_length=1, max_length=253)]
    """Name of the scheduler's topology object; it is compared, never written."""


def _unique(key: str) -> Rule:
    return Rule(
        check=f"self.all(a, self.exists_one(b, b.{key} == a.{key}))",
        message=f"every level needs a {key} of its own",
        detail=f"""'every level needs a {key} of its own; used more than once: %s'.format([
            self.filter(a, !self.exists_one(b, b.{key} == a.{key}))[0].{key}])""",
    )


class ClusterTopologyBindingSpec(KubeModel):
    """The cluster's levels, and who keeps the schedulers' own topology objects."""

    levels: Annotated[
        tuple[TopologyLevel, ...],
        list_atomic(at_least=1, at_most=16),
        rules(_unique("domain"), _unique("key")),
    ]
    """Levels from the broadest to the narrowest."""

    scheduler_topology_bindings: Annotated[
        tuple[SchedulerTopologyBinding, ...], list_map("schedulerName", at_most=64)
    ] = ()
    """Schedulers whose topology object is kept by somebody else; the others' are kept in step."""


class SchedulerTopologyStatus(KubeModel):
    """How one scheduler's topology object compares with the binding."""

    scheduler_name: Annotated[str, Field(max_length=63)]
    """Name of the scheduler (or of its SchedulerBackend)."""

    topology_reference: str
    """Name of the scheduler's topology object."""

    in_sync: bool
    """Whether the object has the binding's levels."""

    scheduler_backend_topology_observed_generation: Int64 | None = None
    """Generation of the scheduler's object that was compared."""

    message: str | None = None
    """What differs, or why it could not be compared."""


class ClusterTopologyBindingStatus(KubeModel):
    """What is known about the binding."""

    conditions: Conditions = ()
    """Current state by aspect."""

    observed_generation: Int64 | None = None
    """Generation of the spec that the status describes."""

    scheduler_topology_statuses: Annotated[
        tuple[SchedulerTopologyStatus, ...], list_map("schedulerName")
    ] = ()
    """One entry per scheduler, each written by its own backend."""


class ClusterTopologyBinding(KubeObject):
    """Which node labels stand for which topology domains in this cluster."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "ClusterTopologyBinding"

    spec: ClusterTopologyBindingSpec
    """The levels."""

    status: ClusterTopologyBindingStatus | None = None
    """What the schedulers made of them."""
