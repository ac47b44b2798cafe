"""PodCliqueSet: the object that users write.

A set is a number of replicas of a template, which has cliques (roles) and scaling groups. The API
server validates with these rules what Grove validates in its webhooks. Core reports as a condition
what needs another object or a setting.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models import template_rules
from shared_api.models.cel import some
from shared_api.models.clique_template import (
    MAX_CLIQUES,
    PodCliqueScalingGroupConfig,
    PodCliqueTemplateSpec,
)
from shared_api.models.jobs import SetWorkloadPolicy, is_job, positive_duration
from shared_api.models.meta import KubeModel, KubeObject
from shared_api.models.podclique import PositiveInt32, SetReplicas
from shared_api.models.podcliqueset_status import PodCliqueSetStatus
from shared_api.models.schema import Markers, Rule, forbidden, list_map, rules
from shared_api.models.sharing import (
    FIXED_SHARING,
    MAX_CLAIMS,
    MAX_SHARED,
    PodCliqueSetResourceSharingSpec,
    ResourceClaimTemplateConfig,
)
from shared_api.models.topology import FIXED_TOPOLOGY, TopologyConstraint


class CliqueStartupType(StrEnum):
    """Order in which the cliques of a gang start their containers."""

    ANY_ORDER = "CliqueStartupTypeAnyOrder"
    IN_ORDER = "CliqueStartupTypeInOrder"
    EXPLICIT = "CliqueStartupTypeExplicit"


class UpdateStrategyType(StrEnum):
    """Who replaces pods that have an old template."""

    ROLLING_RECREATE = "RollingRecreate"
    ON_DELETE = "OnDelete"


class RollingUpdateDeadline(KubeModel):
    """How long an update may make no progress. Ignored with OnDelete."""

    progress_deadline_seconds: PositiveInt32 | None = None
    """Seconds without another updated pod that is ready, after which the condition Updating has the reason
    ProgressDeadlineExceeded. The update is neither stopped nor rolled back. Defaults to no deadline."""


class PodCliqueSetUpdateStrategy(KubeModel):
    """How pods that have an old template are replaced."""

    type: UpdateStrategyType = UpdateStrategyType.ROLLING_RECREATE
    """RollingRecreate: core replaces one replica after the other. OnDelete: users delete the pods."""

    rolling_update: RollingUpdateDeadline | None = None
    """Limits of an update of the whole set; those of one clique or scaling group are in its rollingUpdate."""


class HeadlessServiceConfig(KubeModel):
    """The headless Service of each replica."""

    publish_not_ready_addresses: bool = True
    """Whether pods have a DNS name before they are ready."""


TerminationDelay = Annotated[str, Field(max_length=32), positive_duration("terminationDelay")]


class PodCliqueSetTemplateSpec(KubeModel):
    """One replica of the workload."""

    RULES: ClassVar = (
        *template_rules.PRESENCE,
        *template_rules.STARTUP,
        *template_rules.GROUP_MEMBERS,
        *template_rules.SHARING,
        *template_rules.TOPOLOGY,
        *template_rules.JOBS,
        FIXED_TOPOLOGY,
        FIXED_SHARING,
    )

    cliques: Annotated[
        tuple[PodCliqueTemplateSpec, ...],
        list_map("name", at_most=MAX_CLIQUES),
        rules(*template_rules.CLIQUES),
    ]
    """The roles of the workload."""

    clique_startup_type: CliqueStartupType = CliqueStartupType.ANY_ORDER
    """Order in which cliques start their containers. All pods of a gang are scheduled together in any case."""

    priority_class_name: str | None = None
    """Priority class of the gangs."""

    headless_service_config: Annotated[
        HeadlessServiceConfig, Markers({"default": {"publishNotReadyAddresses": True}})
    ] = Field(default_factory=HeadlessServiceConfig)
    """The headless Service of each replica."""

    topology_constraint: TopologyConstraint | None = None
    """Topology constraint of all pods of a replica."""

    termination_delay: TerminationDelay = "4h"
    """How long a gang may be below its minimum before it is terminated and recreated."""

    resource_claim_templates: Annotated[
        tuple[ResourceClaimTemplateConfig, ...],
        list_map("name", at_most=MAX_SHARED),
        rules(*template_rules.CLAIM_TEMPLATES),
    ] = ()
    """ResourceClaim templates for resourceSharing."""

    resource_sharing: Annotated[
        tuple[PodCliqueSetResourceSharingSpec, ...], list_map("name", at_most=MAX_SHARED)
    ] = ()
    """ResourceClaims that pods of the set share."""

    pod_clique_scaling_groups: Annotated[
        tuple[PodCliqueScalingGroupConfig, ...],
        list_map("name", at_most=MAX_CLIQUES),
        rules(*template_rules.SCALING_GROUPS),
    ] = ()
    """Cliques that are scaled together."""


def _per_replica(path: str) -> str:
    return f"(has({path}) ? size({path}.filter(s, s.scope == 'PerReplica')) : 0)"


_PER_SET = _per_replica("self.template.resourceSharing")
_PER_CLIQUE = (
    f"self.template.cliques.map(c, c.spec.replicas * {_per_replica('c.resourceSharing')}).sum()"
)
_SCALED = "self.template.podCliqueScalingGroups"
_PER_GROUP = f"(has({_SCALED}) ? {_SCALED}.map(g, g.replicas * {_per_replica('g.resourceSharing')}).sum() : 0)"
# A lower bound: it leaves out that cliques of a scaling group have claims in each of its replicas.
_CLAIMS = f"self.replicas * ({_PER_SET} + {_PER_CLIQUE} + {_PER_GROUP})"


_HAS_JOB = f"self.template.cliques.exists(c, {is_job('c.spec')})"


class PodCliqueSetSpec(KubeModel):
    """A number of replicas of a template."""

    RULES: ClassVar = (
        Rule(
            check=f"{_CLAIMS} <= {MAX_CLAIMS}",
            message=f"a set has at most {MAX_CLAIMS} ResourceClaims",
            detail=f"""'a set has at most {MAX_CLAIMS} ResourceClaims: %d replicas would have %d. Lower
                replicas, or make several sets'.format([self.replicas, {_CLAIMS}])""",
            field=".replicas",
        ),
        forbidden(
            f"self.replicas == oldSelf.replicas || oldSelf.replicas == 0 || !{_HAS_JOB}",
            "replicas is fixed at creation, except from 0: a clique runs to completion",
            ".replicas",
        ),
        *template_rules.SET_POLICY,
    )

    replicas: SetReplicas = 0
    """Number of replicas."""

    policy: SetWorkloadPolicy | None = None
    """How the replicas end. Only for sets with a clique that runs to completion."""

    update_strategy: PodCliqueSetUpdateStrategy | None = None
    """How pods that have an old template are replaced. Defaults to RollingRecreate."""

    template: PodCliqueSetTemplateSpec
    """Template of a replica."""

    @property
    def updates_automatically(self) -> bool:
        """Return whether core replaces outdated pods; with OnDelete the user does."""
        strategy = self.update_strategy
        return strategy is None or strategy.type is UpdateStrategyType.ROLLING_RECREATE


_SUM = template_rules.MAX_NAME_SUM
_GROUPS = "self.spec.template.podCliqueScalingGroups"
_GROUPED = some(_GROUPS, "g", "c.name in g.cliqueNames")
_LENGTH = "size(self.metadata.name) + size(c.name)"
_LENGTH_IN_GROUP = "size(self.metadata.name) + size(g.name) + size(n)"
_TOO_LONG = f"{_LENGTH} > {_SUM} && !{_GROUPED}"
_TOO_LONG_IN_GROUP = f"g.cliqueNames.exists(n, {_LENGTH_IN_GROUP} > {_SUM})"


class PodCliqueSet(KubeObject):
    """A multi-pod workload whose pods are scheduled together or not at all."""

    RULES: ClassVar = (
        Rule(
            check="!self.metadata.name.contains('.')",
            message="metadata.name must not contain '.': Services and host names are made of it",
            field=".metadata.name",
        ),
        Rule(
            check="!self.metadata.name.matches('^[0-9]')",
            message="metadata.name must begin with a letter: Services are named after it",
            field=".metadata.name",
        ),
        Rule(
            check=f"!self.spec.template.cliques.exists(c, {_TOO_LONG})",
            message=f"combined resource name length exceeds {_SUM}-character limit required for pod naming",
            detail=f"""'combined resource name length %d exceeds {_SUM}-character limit required for pod
                naming. Consider shortening: PodCliqueSet %s or PodClique %s'.format(
                self.spec.template.cliques.filter(c, {_TOO_LONG}).map(
                c, [dyn({_LENGTH}), self.metadata.name, c.name])[0])""",
            field=".metadata.name",
        ),
        Rule(
            check=f"!{some(_GROUPS, 'g', _TOO_LONG_IN_GROUP)}",
            message=f"combined resource name length exceeds {_SUM}-character limit required for pod naming",
            detail=f"""'combined resource name length %d exceeds {_SUM}-character limit required for pod
                naming. Consider shortening: PodCliqueSet %s, PodCliqueScalingGroup %s, or PodClique %s'
                .format({_GROUPS}.map(g, g.cliqueNames.filter(n, {_LENGTH_IN_GROUP} > {_SUM}).map(
                n, [dyn({_LENGTH_IN_GROUP}), self.metadata.name, g.name, n])).filter(
                found, size(found) > 0)[0][0])""",
            field=".metadata.name",
        ),
    )

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "PodCliqueSet"

    spec: PodCliqueSetSpec
    """Desired state of the set."""

    status: PodCliqueSetStatus | None = None
    """Observed state of the set."""
