"""The cliques and scaling groups of a PodCliqueSet template.

Rules about one clique or one group are here. Rules about several are in `template_rules`. Both
lists are keyed by name, so `oldSelf` of an item is the item with the same name.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.cel import each, entry, items, number, text, unchanged
from shared_api.models.jobs import CliqueWorkloadPolicy, GroupWorkloadPolicy, is_job
from shared_api.models.meta import AnnotationMap, KubeModel, LabelMap
from shared_api.models.podclique import (
    MIN_WITHIN_REPLICAS,
    AutoScalingConfig,
    PodCliqueSpec,
    PositiveInt32,
    Replicas,
)
from shared_api.models.schema import Rule, forbidden, immutable, list_map, list_set, rules
from shared_api.models.sharing import (
    FIXED_SHARING,
    MAX_SHARED,
    ResourceSharingSpec,
    ScalingGroupResourceSharingSpec,
)
from shared_api.models.topology import FIXED_TOPOLOGY, TopologyConstraint

MAX_CLIQUES = 64
"""Maximum of cliques, and of scaling groups, in one set."""

_DNS_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

ChildName = Annotated[
    str,
    Field(max_length=63),
    rules(
        Rule(
            check=f"self.matches('{_DNS_LABEL}')",
            message="must consist of lower-case letters, digits and '-',"
            " and start and end with a letter or digit",
        )
    ),
]


def _fixed(field: str, check: str | None = None, *, name: str | None = None) -> Rule:
    check = check or f"self.{field} == oldSelf.{field}"
    return immutable(check, f"{name or field} cannot be changed", f".{field}")


_MNNVL = entry("self.annotations", names.ANNOTATION_MNNVL_GROUP)
_MNNVL_FIXED = f"annotation {names.ANNOTATION_MNNVL_GROUP}"

MNNVL_RULES = (
    # Not one regular expression: its estimated cost is its length times that of the annotation.
    Rule(
        check=f"[{_MNNVL}].all(v, v.matches('^[a-z0-9-]*$') && size(v) <= 63"
        " && !v.startsWith('-') && !v.endsWith('-'))",
        message=f"annotation {names.ANNOTATION_MNNVL_GROUP} must be {names.MNNVL_GROUP_NONE} or a name"
        " of at most 63 lower-case letters, digits and '-'",
        field=".annotations",
    ),
    Rule(
        check=unchanged(_MNNVL),
        message=f"field is immutable: {_MNNVL_FIXED} is immutable and cannot be changed after creation",
        # Without the values: an annotation may be very long.
        detail=f"""'field is immutable: {_MNNVL_FIXED} %s after creation'.format([
            {_MNNVL.replace("self.", "oldSelf.")} == '' ? 'cannot be added'
            : ({_MNNVL} == '' ? 'cannot be removed' : 'is immutable and cannot be changed')])""",
        field=".annotations",
    ),
)

_MIN_REPLICAS = number("self.autoScalingConfig.minReplicas", "self.replicas")
_MIN_AVAILABLE = number("self.minAvailable", "self.replicas")
_IS_JOB = is_job("self")
_GROUP_MIN_REPLICAS = number("self.scaleConfig.minReplicas", "self.replicas")


class CliqueSpec(PodCliqueSpec):
    """A clique in the template of a set."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        MIN_WITHIN_REPLICAS,
        Rule(
            check=f"!has(self.autoScalingConfig) || {_MIN_REPLICAS} >= {_MIN_AVAILABLE}",
            message="must be greater than or equal to podCliqueSpec.minAvailable",
            detail=f"""'must be greater than or equal to podCliqueSpec.minAvailable: it is %d,
                minAvailable is %d'.format([{_MIN_REPLICAS}, {_MIN_AVAILABLE}])""",
            field=".autoScalingConfig.minReplicas",
        ),
        Rule(
            check="!has(self.autoScalingConfig) || (self.autoScalingConfig.maxReplicas >= self.replicas"
            f" && self.autoScalingConfig.maxReplicas >= {_MIN_REPLICAS})",
            message="must be greater than or equal to replicas and podCliqueSpec.minReplicas",
            detail=f"""'must be greater than or equal to %s: it is %d, replicas is %d, minReplicas is %d'
                .format([self.autoScalingConfig.maxReplicas < self.replicas ? 'replicas'
                : 'podCliqueSpec.minReplicas', self.autoScalingConfig.maxReplicas,
                self.replicas, {_MIN_REPLICAS}])""",
            field=".autoScalingConfig.maxReplicas",
        ),
        Rule(
            check="!has(self.podSpec.nodeName) || self.podSpec.nodeName == ''",
            message="must not be set: a pod that is bound by hand is no member of a gang",
            field=".podSpec.nodeName",
        ),
        Rule(
            check="!has(self.podSpec.topologySpreadConstraints)"
            " || size(self.podSpec.topologySpreadConstraints) == 0",
            message="must not be set: use topologyConstraint of the clique",
            field=".podSpec.topologySpreadConstraints",
        ),
        forbidden(
            f"!has(self.autoScalingConfig) || !{_IS_JOB}",
            "autoScalingConfig must be absent: pods with this restartPolicy run to completion",
            ".autoScalingConfig",
        ),
        Rule(
            check=f"!has(self.policy) || {_IS_JOB}",
            message="policy needs podSpec.restartPolicy OnFailure or Never: with Always the clique serves",
            field=".policy",
        ),
        forbidden(
            unchanged(_IS_JOB),
            "restartPolicy cannot be changed between Always and OnFailure or Never after creation",
            ".podSpec.restartPolicy",
        ),
        # A Go client writes an empty role where there was none.
        _fixed("roleName", unchanged(text("self.roleName"))),
        # If absent, it equals replicas. So setting it to the number of replicas is no change.
        _fixed(
            "minAvailable",
            "(!has(self.minAvailable) && !has(oldSelf.minAvailable))"
            f" || {unchanged(_MIN_AVAILABLE)}",
        ),
        _fixed("startsAfter", unchanged(items("self.startsAfter"))),
        _fixed(
            "podSpec.schedulerName",
            unchanged(text("self.podSpec.schedulerName")),
            name="schedulerName",
        ),
    )

    replicas: Replicas = 1
    """Number of pods at creation."""

    policy: CliqueWorkloadPolicy | None = None
    """How the clique ends. Only for cliques that run to completion."""

    starts_after: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        list_set(at_most=MAX_CLIQUES),
    ] = ()
    """With CliqueStartupTypeExplicit: cliques whose minAvailable pods must be ready before these start."""


class RollingUpdateConfiguration(KubeModel):
    """How far the update of one clique or scaling group may go at a time. Ignored with OnDelete."""

    max_unavailable: PositiveInt32 | None = None
    """Pods of a clique, or replicas of a scaling group, that an update may replace at a time. It never
    goes below minAvailable for that. Defaults to 1."""

    @property
    def limit(self) -> int:
        """Return how many may be replaced at a time."""
        return 1 if self.max_unavailable is None else self.max_unavailable


class PodCliqueTemplateSpec(KubeModel):
    """One role of the workload."""

    RULES: ClassVar = (FIXED_TOPOLOGY, FIXED_SHARING, *MNNVL_RULES)

    name: ChildName
    """Name of the clique, unique in the set."""

    labels: LabelMap = Field(default_factory=dict)
    """Labels of the PodClique and its pods."""

    annotations: AnnotationMap = Field(default_factory=dict)
    """Annotations of the PodClique and its pods."""

    topology_constraint: TopologyConstraint | None = None
    """Topology constraint of the clique's pods."""

    resource_sharing: Annotated[
        tuple[ResourceSharingSpec, ...], list_map("name", at_most=MAX_SHARED)
    ] = ()
    """Claims that the clique's pods share."""

    spec: CliqueSpec
    """Spec of the PodClique."""

    rolling_update: RollingUpdateConfiguration | None = None
    """How many pods an update replaces at a time. Not allowed for cliques of a scaling group."""


class PodCliqueScalingGroupConfig(KubeModel):
    """Cliques that are scaled together. Each replica of the group has all of them."""

    RULES: ClassVar = (
        MIN_WITHIN_REPLICAS,
        Rule(
            check=f"!has(self.scaleConfig) || {_GROUP_MIN_REPLICAS} >= self.minAvailable",
            message="scaleConfig.minReplicas must be greater than or equal to minAvailable",
            detail=f"""'scaleConfig.minReplicas must be greater than or equal to minAvailable: it is %d,
                minAvailable is %d'.format([{_GROUP_MIN_REPLICAS}, self.minAvailable])""",
            field=".scaleConfig.minReplicas",
        ),
        Rule(
            check=f"!has(self.scaleConfig) || self.scaleConfig.maxReplicas >= {_GROUP_MIN_REPLICAS}",
            message="scaleConfig.maxReplicas must be greater than or equal to minReplicas",
            detail=f"""'scaleConfig.maxReplicas must be greater than or equal to minReplicas: it is %d,
                minReplicas is %d'.format([self.scaleConfig.maxReplicas, {_GROUP_MIN_REPLICAS}])""",
            field=".scaleConfig.maxReplicas",
        ),
        Rule(
            check=each(
                "self.resourceSharing",
                "s",
                "!has(s.filter) || "
                + each("s.filter.childCliqueNames", "n", "n in self.cliqueNames"),
            ),
            message="Not found: a filter of resourceSharing may only name cliques of its group",
            detail="""'Not found: a filter of resourceSharing may only name cliques of its group: %s'
                .format([self.cliqueNames])""",
            field=".resourceSharing",
        ),
        _fixed("minAvailable"),
        _fixed("cliqueNames"),
        FIXED_TOPOLOGY,
        FIXED_SHARING,
        *MNNVL_RULES,
    )

    name: ChildName
    """Name of the group, unique in the set."""

    clique_names: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        list_set(at_least=1, at_most=MAX_CLIQUES),
    ]
    """Cliques of one replica of the group. A clique belongs to at most one group."""

    annotations: AnnotationMap = Field(default_factory=dict)
    """Annotations of the PodCliqueScalingGroup."""

    replicas: Replicas = 1
    """Number of replicas at creation."""

    min_available: PositiveInt32 = 1
    """Replicas that belong to the base gang. Every other replica is a gang of its own."""

    scale_config: AutoScalingConfig | None = None
    """HorizontalPodAutoscaler of the group."""

    resource_sharing: Annotated[
        tuple[ScalingGroupResourceSharingSpec, ...], list_map("name", at_most=MAX_SHARED)
    ] = ()
    """Claims that pods of the group share."""

    topology_constraint: TopologyConstraint | None = None
    """Topology constraint of the pods of each replica."""

    rolling_update: RollingUpdateConfiguration | None = None
    """How many replicas an update replaces at a time."""

    policy: GroupWorkloadPolicy | None = None
    """How the replicas end. Only for scaling groups with a clique that runs to completion."""
