"""Topology constraints of workloads, and the ClusterTopologyBinding that they refer to.

A workload names topology *domains* ("rack"). A ClusterTopologyBinding maps each domain to a node
label. A schema cannot check what needs the binding (does the domain exist, is the child narrower
than its parent): core reports that as a condition.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.cel import duplicate, text, unchanged
from shared_api.models.meta import KubeModel, KubeObject, KubeStatus
from shared_api.models.schema import Int64, Rule, forbidden, list_atomic, list_map, rules

TopologyDomain = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z][a-z0-9-]*$")]

_LABEL_KEY = (
    r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
)


class TopologyPack(KubeModel):
    """Domains that pods are packed into."""

    RULES: ClassVar = (
        Rule(
            check="has(self.required) || has(self.preferred)",
            message="pack must specify at least one of required or preferred",
            reason="FieldValueRequired",
        ),
    )

    required: TopologyDomain | None = None
    """All pods are scheduled to one domain of this level, or none is."""

    preferred: TopologyDomain | None = None
    """If possible, all pods are scheduled to one domain of this level."""


_REQUIRED = (
    "(has(self.pack) && has(self.pack.required) ? self.pack.required"
    " : (has(self.packDomain) ? self.packDomain : ''))"
)
_PREFERRED = "(has(self.pack) && has(self.pack.preferred) ? self.pack.preferred : '')"
_MOVE_ONLY = (
    "deprecated packDomain migration can only move packDomain to pack.required without changing the"
    " required or preferred topology domain"
)
_OLD_NAME, _NAME = text("oldSelf.topologyName"), text("self.topologyName")


def _old(value: str) -> str:
    return value.replace("self.", "oldSelf.")


class TopologyConstraint(KubeModel):
    """Topology constraint of a set, a scaling group replica or a clique."""

    RULES: ClassVar = (
        Rule(
            check="has(self.pack) || has(self.packDomain)",
            message="topologyConstraint must specify pack or deprecated packDomain",
            reason="FieldValueRequired",
        ),
        forbidden(
            "!has(self.packDomain) || !has(self.pack) || !has(self.pack.required)",
            "must not set both pack.required and deprecated packDomain: set only pack.required",
            ".packDomain",
        ),
        Rule(
            check="oldSelf.hasValue() || !has(self.packDomain)",
            message="packDomain is deprecated and cannot be used on new workloads; use pack.required",
            field=".packDomain",
            reason="FieldValueForbidden",
            on_create=True,
        ),
        Rule(
            check=f"{unchanged(_REQUIRED)} && {unchanged(_PREFERRED)}",
            message=f"topology constraint cannot be changed; {_MOVE_ONLY}",
            detail=f"""'topology constraint cannot be changed from required="%s" preferred="%s" to required="%s"
                preferred="%s"; {_MOVE_ONLY}'.format([{_old(_REQUIRED)}, {_old(_PREFERRED)},
                {_REQUIRED}, {_PREFERRED}])""",
            reason="FieldValueForbidden",
        ),
        Rule(
            check=f"{_NAME} == {_OLD_NAME}"
            " || (!has(oldSelf.topologyName) && has(oldSelf.packDomain) && !has(oldSelf.pack))",
            message="topology constraint topologyName cannot be changed",
            detail=f"""'topology constraint topologyName cannot be changed from "%s" to "%s"; it may only be
                added beside an old packDomain'.format([{_OLD_NAME}, {_NAME}])""",
            field=".topologyName",
            reason="FieldValueForbidden",
        ),
    )

    topology_name: Annotated[str, Field(max_length=253)] | None = None
    """Name of the ClusterTopologyBinding. Defaults to that of the level above."""

    pack: TopologyPack | None = None
    """Domains that the pods are packed into."""

    pack_domain: TopologyDomain | None = None
    """Deprecated: use pack.required."""

    @property
    def required(self) -> str | None:
        """The required domain, from `pack` or the deprecated `packDomain`."""
        return self.pack.required if self.pack and self.pack.required else self.pack_domain

    @property
    def preferred(self) -> str | None:
        """The preferred domain."""
        return self.pack.preferred if self.pack else None


FIXED_TOPOLOGY = Rule(
    check="has(self.topologyConstraint) == has(oldSelf.topologyConstraint)",
    message="topology constraint cannot be added or removed after creation",
    detail="""'topology constraint cannot be %s after creation'.format([
        has(self.topologyConstraint) ? 'added' : 'removed'])""",
    field=".topologyConstraint",
    reason="FieldValueForbidden",
)


class TopologyLevel(KubeModel):
    """One level of the cluster's topology."""

    domain: TopologyDomain
    """Name of the level that workloads use: region, zone, block, rack, host, numa or any other."""

    key: Annotated[str, Field(min_length=1, max_length=63, pattern=_LABEL_KEY)]
    """Key of the node label whose value is the name of the node's domain."""


class SchedulerTopologyBinding(KubeModel):
    """A topology object of a scheduler that an administrator manages."""

    scheduler_name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the scheduler, or of its SchedulerBackend."""

    topology_reference: Annotated[str, Field(min_length=1, max_length=253)]
    """Name of the scheduler's topology object. The backend compares it and never writes it."""


_MAX_LEVELS = 16


def _unique(key: str) -> Rule:
    again, places = duplicate("self", key), [*range(_MAX_LEVELS)]
    # The path with the index, as in errors about lists: a rule can only report the path of its list.
    second = f"{places}.filter(i, i < size(self) && self[i].{key} == again)[1]"
    return Rule(
        check=f"self.all(a, self.exists_one(b, b.{key} == a.{key}))",
        message=f"Duplicate value: every level needs a {key} of its own",
        detail=f"""'spec.levels[%d].{key}: Duplicate value: "%s"'.format(
            [{again}].map(again, [dyn({second}), again])[0])""",
    )


class ClusterTopologyBindingSpec(KubeModel):
    """The topology levels of the cluster, and the topology objects that administrators manage."""

    levels: Annotated[
        tuple[TopologyLevel, ...],
        list_atomic(at_least=1, at_most=_MAX_LEVELS),
        rules(_unique("domain"), _unique("key")),
    ]
    """Levels from the broadest to the narrowest."""

    scheduler_topology_bindings: Annotated[
        tuple[SchedulerTopologyBinding, ...], list_map("schedulerName", at_most=64)
    ] = ()
    """Schedulers whose topology object an administrator manages. Backends manage the others."""


class SchedulerTopologyStatus(KubeModel):
    """Comparison of one scheduler's topology object with the binding."""

    scheduler_name: Annotated[str, Field(max_length=63)]
    """Name of the scheduler, or of its SchedulerBackend."""

    topology_reference: str
    """Name of the scheduler's topology object."""

    in_sync: bool
    """Whether the object has the levels of the binding."""

    scheduler_backend_topology_observed_generation: Int64 | None = None
    """Generation of the topology object that was compared."""

    message: str | None = None
    """What differs, or why the comparison failed."""


class ClusterTopologyBindingStatus(KubeStatus):
    """Observed state of the binding."""

    scheduler_topology_statuses: Annotated[
        tuple[SchedulerTopologyStatus, ...], list_map("schedulerName")
    ] = ()
    """One entry per scheduler. Its backend writes it."""


class ClusterTopologyBinding(KubeObject):
    """Maps the topology domains of this cluster to node labels."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "ClusterTopologyBinding"

    spec: ClusterTopologyBindingSpec
    """Topology levels of the cluster."""

    status: ClusterTopologyBindingStatus | None = None
    """Observed state of the binding."""
