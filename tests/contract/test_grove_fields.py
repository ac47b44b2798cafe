"""Fields, defaults, columns and scale paths are Grove's; what is added is named here."""

import pytest

from tests.contract.schemas import definitions, nodes, properties, version

TOPOLOGY = "topologyConstraint topologyConstraint.topologyName topologyConstraint.packDomain"
TOPOLOGY += (
    " topologyConstraint.pack topologyConstraint.pack.required topologyConstraint.pack.preferred"
)
SCALING = "{0} {0}.minReplicas {0}.maxReplicas {0}.metrics"
SHARING = (
    "resourceSharing resourceSharing[].name resourceSharing[].namespace resourceSharing[].scope"
)
CONDITION = (
    "conditions conditions[].type conditions[].status conditions[].reason conditions[].message"
)
CONDITION += " conditions[].lastTransitionTime conditions[].observedGeneration"
ERRORS = "lastErrors lastErrors[].code lastErrors[].description lastErrors[].observedAt"
PCLQ_SPEC = "roleName podSpec replicas minAvailable startsAfter " + SCALING.format(
    "autoScalingConfig"
)
UPDATE = "updateProgress updateProgress.updateStartedAt updateProgress.updateEndedAt"
COUNTS = "updateProgress.updatedPodCliquesCount updateProgress.totalPodCliquesCount"


def under(prefix: str, *fields: str) -> set[str]:
    return {f"{prefix}{field}" for words in fields for field in words.split()}


GROVE: dict[str, set[str]] = {
    "PodCliqueSet": under(
        ".spec.",
        "replicas updateStrategy updateStrategy.type template template.cliques",
    )
    | under(
        ".spec.template.",
        TOPOLOGY,
        SHARING,
        "cliqueStartupType priorityClassName headlessServiceConfig terminationDelay",
        "headlessServiceConfig.publishNotReadyAddresses resourceClaimTemplates",
        "resourceClaimTemplates[].name resourceClaimTemplates[].templateSpec resourceSharing[].filter",
        "resourceSharing[].filter.childCliqueNames resourceSharing[].filter.childScalingGroupNames",
        "podCliqueScalingGroups",
    )
    | under(".spec.template.cliques[].", "name labels annotations spec", TOPOLOGY, SHARING)
    | under(".spec.template.cliques[].spec.", PCLQ_SPEC)
    | under(
        ".spec.template.podCliqueScalingGroups[].",
        "name cliqueNames annotations replicas minAvailable resourceSharing[].filter",
        "resourceSharing[].filter.childCliqueNames",
        SCALING.format("scaleConfig"),
        SHARING,
        TOPOLOGY,
    )
    | under(
        ".status.",
        "observedGeneration replicas updatedReplicas availableReplicas hpaPodSelector",
        "currentGenerationHash podGangStatuses podGangStatuses[].name podGangStatuses[].phase",
        "updateProgress.updatedPodCliqueScalingGroupsCount updateProgress.currentlyUpdating",
        "updateProgress.totalPodCliqueScalingGroupsCount",
        "updateProgress.currentlyUpdating[].replicaIndex",
        "updateProgress.currentlyUpdating[].updateStartedAt",
        "updateProgress.currentlyUpdating[].updateEndedAt",
        CONDITION,
        ERRORS,
        UPDATE,
        COUNTS,
    )
    | under(".status.podGangStatuses[].", CONDITION),
    "PodClique": under(".spec.", PCLQ_SPEC)
    | under(
        ".status.",
        "observedGeneration replicas readyReplicas updatedReplicas scheduleGatedReplicas",
        "scheduledReplicas hpaPodSelector currentPodCliqueSetGenerationHash currentPodTemplateHash",
        "updateProgress.podCliqueSetGenerationHash updateProgress.podTemplateHash",
        "updateProgress.readyPodsSelectedToUpdate updateProgress.readyPodsSelectedToUpdate.current",
        "updateProgress.readyPodsSelectedToUpdate.completed",
        CONDITION,
        ERRORS,
        UPDATE,
    ),
    "PodCliqueScalingGroup": under(".spec.", "replicas minAvailable cliqueNames")
    | under(
        ".status.",
        "observedGeneration replicas scheduledReplicas availableReplicas updatedReplicas selector",
        "currentPodCliqueSetGenerationHash updateProgress.podCliqueSetGenerationHash",
        "updateProgress.readyReplicaIndicesSelectedToUpdate",
        "updateProgress.readyReplicaIndicesSelectedToUpdate.current",
        "updateProgress.readyReplicaIndicesSelectedToUpdate.completed",
        CONDITION,
        ERRORS,
        UPDATE,
        COUNTS,
    ),
    "ClusterTopologyBinding": under(
        ".spec.",
        "levels levels[].domain levels[].key schedulerTopologyBindings",
        "schedulerTopologyBindings[].schedulerName schedulerTopologyBindings[].topologyReference",
    )
    | under(".status.", CONDITION, "observedGeneration schedulerTopologyStatuses")
    | under(
        ".status.schedulerTopologyStatuses[].",
        "schedulerName topologyReference inSync message schedulerBackendTopologyObservedGeneration",
    ),
    "PodGang": under(
        ".spec.",
        "podgroups podgroups[].name podgroups[].podReferences podgroups[].podReferences[].namespace",
        "podgroups[].podReferences[].name podgroups[].minReplicas priorityClassName",
        "topologyConstraintGroupConfigs topologyConstraintGroupConfigs[].name",
        "topologyConstraintGroupConfigs[].podGroupNames reuseReservationRef",
        "reuseReservationRef.namespace reuseReservationRef.name",
    )
    | {
        f".spec.{owner}topologyConstraint{inner}"
        for owner in ("", "podgroups[].", "topologyConstraintGroupConfigs[].")
        for inner in (
            "",
            ".packConstraint",
            ".packConstraint.required",
            ".packConstraint.preferred",
        )
    }
    | under(".status.", "phase placementScore", CONDITION),
}

_FAILURE = (
    "policy policy.completion policy.completion.failure policy.completion.failure.maxRestarts"
)
_SUCCESS = "policy.completion.success policy.completion.success.completedNames"
# Where Grove's proposal of jobs has them; the rest about jobs is ours.
JOBS = {
    "PodCliqueSet": under(".spec.", _FAILURE, _SUCCESS)
    | under(".spec.template.cliques[].spec.", _FAILURE)
    | under(".spec.template.podCliqueScalingGroups[].", _FAILURE, _SUCCESS)
    | {
        ".spec.policy.completion.failure.maxRuntime",
        ".spec.policy.completion.ttlSecondsAfterFinished",
        ".status.replicaRestartCounts",
        ".status.completedIndexes",
        ".status.jobStartTime",
    },
    "PodClique": {".status.attempt", ".status.completedIndexes"},
    "PodCliqueScalingGroup": {
        ".status.attempt",
        ".status.completedIndexes",
        ".status.replicaRestartCounts",
    },
}

ADDED = {
    # The first four are where Grove's proposal of coherent updates has them.
    "PodCliqueSet": {
        ".spec.template.cliques[].rollingUpdate",
        ".spec.template.cliques[].rollingUpdate.maxUnavailable",
        ".spec.template.podCliqueScalingGroups[].rollingUpdate",
        ".spec.template.podCliqueScalingGroups[].rollingUpdate.maxUnavailable",
        ".spec.updateStrategy.rollingUpdate",
        ".spec.updateStrategy.rollingUpdate.progressDeadlineSeconds",
        ".status.updateProgress.lastProgressAt",
        ".status.updateProgress.updatedPodsCount",
        *JOBS["PodCliqueSet"],
    },
    "PodClique": JOBS["PodClique"],
    "PodCliqueScalingGroup": JOBS["PodCliqueScalingGroup"],
    "ClusterTopologyBinding": set[str](),
    "PodGang": {
        *under(".status.", "backendBlocker coreBlocker"),
        *under(".status.backendBlocker.", "reason message"),
        *under(".status.coreBlocker.", "reason message"),
        ".status.placement",
        *under(".status.placement.", "attempts tried rounds deadline retryAt"),
        *under(".status.placement.attempts[].", "backend from until outcome message"),
        ".status.bindAttempt",
        ".status.bindAttempt.bound",
        ".status.bindAttempt.deadline",
        ".status.bindAttempt.failures",
        ".status.bindAttempt.retryAt",
        ".status.incarnation",
        ".status.observedGeneration",
        ".status.placedIncarnation",
        ".status.podPreparations",
    },
}

# Below these, everything is ours or the user's.
NOT_GROVES = (".podSpec.", ".templateSpec.", ".podPreparations[].")


@pytest.mark.parametrize("kind", GROVE)
def test_has_groves_fields_and_no_undocumented_others(kind: str) -> None:
    fields = {p.path for p in properties(kind) if not any(n in p.path for n in NOT_GROVES)}
    assert fields == GROVE[kind] | ADDED[kind]


def test_defaults() -> None:
    found = {
        f"{kind}{node.path}": node.schema["default"]
        for kind in GROVE
        for node in nodes(kind)
        if "default" in node.schema and ".status." not in node.path
    }
    assert found == {
        "PodCliqueSet.spec.replicas": 0,
        "PodCliqueSet.spec.updateStrategy.type": "RollingRecreate",
        "PodCliqueSet.spec.template.cliqueStartupType": "CliqueStartupTypeAnyOrder",
        "PodCliqueSet.spec.template.terminationDelay": "4h",
        "PodCliqueSet.spec.template.headlessServiceConfig": {"publishNotReadyAddresses": True},
        "PodCliqueSet.spec.template.headlessServiceConfig.publishNotReadyAddresses": True,
        "PodCliqueSet.spec.template.cliques[].spec.replicas": 1,
        "PodCliqueSet.spec.template.podCliqueScalingGroups[].replicas": 1,
        "PodCliqueSet.spec.template.podCliqueScalingGroups[].minAvailable": 1,
        "PodClique.spec.replicas": 1,
        "PodCliqueScalingGroup.spec.replicas": 1,
        "PodCliqueScalingGroup.spec.minAvailable": 1,
    }


NAMES = {
    "PodCliqueSet": ("podcliquesets.grove.io", ["pcs"], "Namespaced", ".status.hpaPodSelector"),
    "PodClique": ("podcliques.grove.io", ["pclq"], "Namespaced", ".status.hpaPodSelector"),
    "PodCliqueScalingGroup": (
        "podcliquescalinggroups.grove.io",
        ["pcsg"],
        "Namespaced",
        ".status.selector",
    ),
    "ClusterTopologyBinding": ("clustertopologybindings.grove.io", ["ct"], "Cluster", None),
    "PodGang": ("podgangs.scheduler.grove.io", ["pg"], "Namespaced", None),
    # Kinds that Grove does not have.
    "SchedulerBackend": ("schedulerbackends.grove.io", ["sbe"], "Cluster", None),
    "PlacementPolicy": ("placementpolicies.grove.io", ["pp"], "Namespaced", None),
    "BackendInventory": ("backendinventories.grove.io", ["binv"], "Cluster", None),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_scope_and_scale(kind: str) -> None:
    crd = definitions()[kind]
    scale = version(kind)["subresources"].get("scale", {})
    assert NAMES[kind] == (
        crd["metadata"]["name"],
        crd["spec"]["names"]["shortNames"],
        crd["spec"]["scope"],
        scale.get("labelSelectorPath"),
    )
    if scale:
        assert scale["specReplicasPath"] == ".spec.replicas"
        assert scale["statusReplicasPath"] == ".status.replicas"


COLUMNS = {
    "PodCliqueSet": "Replicas Available Updated PCLQs-Updated PCLQs-Total PCSGs-Updated PCSGs-Total Age",
    "PodClique": "MinAvail Replicas Ready Scheduled Updated Gated MinBreached Age",
    "PodCliqueScalingGroup": "MinAvail Replicas Available Scheduled Updated PCLQs-Updated PCLQs-Total"
    " MinBreached Age",
    "ClusterTopologyBinding": "Domains Age",
    "PodGang": "Phase Age",
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_groves_columns_are_there(kind: str) -> None:
    headings = {column["name"] for column in version(kind)["additionalPrinterColumns"]}
    assert set(COLUMNS[kind].split()) <= headings
