"""Changes of stored objects that the API server refuses, and those that it must let pass."""

from typing import Any

import pytest

from tests.contract.conftest import Contract
from tests.contract.manifests import (
    ABSENT,
    Manifest,
    changed,
    clique,
    pod_clique_set,
    scaling_group,
)

pytestmark = pytest.mark.cluster

TEMPLATE = "spec.template"
A = f"{TEMPLATE}.cliques.0"
B = f"{TEMPLATE}.cliques.1"
GROUP = f"{TEMPLATE}.podCliqueScalingGroups.0"
PACK = {"topologyName": "net", "pack": {"required": "rack"}}
SHARED = [{"name": "gpus", "scope": "AllReplicas"}]
CLAIMS = [{"name": "gpus", "templateSpec": {"spec": {"devices": {"requests": [{"name": "gpu"}]}}}}]
MNNVL = "grove.io/mnnvl-group"

EVERYTHING = pod_clique_set(
    {
        **clique("a", minAvailable=1, startsAfter=["b"]),
        "topologyConstraint": PACK,
        "resourceSharing": SHARED,
        "annotations": {MNNVL: "one"},
    },
    clique("b", autoScalingConfig={"maxReplicas": 4}),
    clique("c"),
    name="everything",
    cliqueStartupType="CliqueStartupTypeExplicit",
    topologyConstraint=PACK,
    resourceClaimTemplates=CLAIMS,
    resourceSharing=SHARED,
    podCliqueScalingGroups=[
        scaling_group(
            "g",
            "c",
            replicas=3,
            minAvailable=2,
            topologyConstraint=PACK,
            resourceSharing=SHARED,
            annotations={MNNVL: "two"},
        )
    ],
)

_CLIQUES_FIXED = "Forbidden: not allowed to change clique composition: cliques can be neither added, removed nor renamed"
_GROUPS_FIXED = "Forbidden: not allowed to add or remove PodCliqueScalingGroupConfigs, nor to change scaling group composition"
_TOPOLOGY_FIXED = "Forbidden: topology constraint"
_GONE = "Forbidden: topology constraint cannot be removed after creation"
_ADDED = "Forbidden: topology constraint cannot be added after creation"
_MOVE_ONLY = (
    "deprecated packDomain migration can only move packDomain to pack.required without changing the"
    " required or preferred topology domain"
)
_ORDER = "Invalid value: clique order cannot be changed when StartupType is InOrder or Explicit"

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "adding a clique": (
        {f"{TEMPLATE}.cliques": [*EVERYTHING["spec"]["template"]["cliques"], clique("d")]},
        f"spec.template.cliques: {_CLIQUES_FIXED}",
    ),
    "removing a clique": (
        {f"{TEMPLATE}.cliques": EVERYTHING["spec"]["template"]["cliques"][1:]},
        f"spec.template.cliques: {_CLIQUES_FIXED}",
    ),
    "renaming a clique": ({f"{A}.name": "d"}, f"spec.template.cliques: {_CLIQUES_FIXED}"),
    "reordering cliques that start in order": (
        {f"{TEMPLATE}.cliques": EVERYTHING["spec"]["template"]["cliques"][::-1]},
        f"spec.template.cliques: {_ORDER}",
    ),
    "changing the startup type": (
        {f"{TEMPLATE}.cliqueStartupType": "CliqueStartupTypeAnyOrder"},
        "spec.template.cliqueStartupType: Invalid value: field is immutable: cliqueStartupType cannot be changed after creation",
    ),
    "changing a role": (
        {f"{B}.spec.roleName": "other"},
        "spec.template.cliques[1].spec.roleName: Invalid value: field is immutable: roleName cannot be changed after creation",
    ),
    "changing a minimum": (
        {f"{A}.spec.minAvailable": 2},
        "spec.template.cliques[0].spec.minAvailable: Invalid value: field is immutable: minAvailable cannot be changed after creation",
    ),
    "setting another minimum than the implied one": (
        {f"{B}.spec.minAvailable": 1},
        "spec.template.cliques[1].spec.minAvailable: Invalid value: field is immutable: minAvailable cannot be changed after creation",
    ),
    "changing what a clique waits for": (
        {f"{A}.spec.startsAfter": ["c"]},
        "spec.template.cliques[0].spec.startsAfter: Invalid value: field is immutable: startsAfter cannot be changed after creation",
    ),
    "changing the scheduler of a clique": (
        {f"{A}.spec.podSpec.schedulerName": "other"},
        "spec.template.cliques[0].spec.podSpec.schedulerName: Invalid value: field is immutable: schedulerName cannot be changed after creation",
    ),
    "binding pods by hand": (
        {f"{A}.spec.podSpec.nodeName": "node-1"},
        "spec.template.cliques[0].spec.podSpec.nodeName: Invalid value: must not be set: a pod that is bound by hand is no member of a gang",
    ),
    "adding spread constraints": (
        {f"{A}.spec.podSpec.topologySpreadConstraints": [{"maxSkew": 1}]},
        "spec.template.cliques[0].spec.podSpec.topologySpreadConstraints: Invalid value: must not be set: use topologyConstraint of the clique",
    ),
    "changing the claims of a clique": (
        {f"{A}.resourceSharing.0.scope": "PerReplica"},
        "spec.template.cliques[0].resourceSharing: Invalid value: field is immutable: resource sharing cannot be changed after creation",
    ),
    "removing the MNNVL group of a clique": (
        {f"{A}.annotations": {}},
        "spec.template.cliques[0].annotations: Invalid value: field is immutable: annotation grove.io/mnnvl-group cannot be removed after creation",
    ),
    "adding an MNNVL group to a clique": (
        {f"{B}.annotations": {MNNVL: "one"}},
        "spec.template.cliques[1].annotations: Invalid value: field is immutable: annotation grove.io/mnnvl-group cannot be added after creation",
    ),
    "adding a scaling group": (
        {
            f"{TEMPLATE}.podCliqueScalingGroups": [
                *EVERYTHING["spec"]["template"]["podCliqueScalingGroups"],
                scaling_group("h", "a"),
            ]
        },
        f"spec.template.podCliqueScalingGroups: {_GROUPS_FIXED}",
    ),
    "emptying the scaling groups": (
        {f"{TEMPLATE}.podCliqueScalingGroups": []},
        f"spec.template.podCliqueScalingGroups: {_GROUPS_FIXED}",
    ),
    "removing all scaling groups": (
        {f"{TEMPLATE}.podCliqueScalingGroups": ABSENT},
        f"spec.template.podCliqueScalingGroups: {_GROUPS_FIXED}",
    ),
    "changing the members of a group": (
        {f"{GROUP}.cliqueNames": ["a", "c"]},
        "spec.template.podCliqueScalingGroups[0].cliqueNames: Invalid value: field is immutable: cliqueNames cannot be changed after creation",
    ),
    "changing the minimum of a group": (
        {f"{GROUP}.minAvailable": 1},
        "spec.template.podCliqueScalingGroups[0].minAvailable: Invalid value: field is immutable: minAvailable cannot be changed after creation",
    ),
    "changing the claims of a group": (
        {f"{GROUP}.resourceSharing": ABSENT},
        "spec.template.podCliqueScalingGroups[0].resourceSharing: Invalid value: field is immutable: resource sharing cannot be changed after creation",
    ),
    "changing the MNNVL group of a group": (
        {f"{GROUP}.annotations": {MNNVL: "none"}},
        "spec.template.podCliqueScalingGroups[0].annotations: Invalid value: field is immutable: annotation grove.io/mnnvl-group is immutable and cannot be changed after creation",
    ),
    "changing the labels of a claim template": (
        {f"{TEMPLATE}.resourceClaimTemplates.0.templateSpec.metadata": {"labels": {"a": "b"}}},
        "spec.template.resourceClaimTemplates[0].templateSpec: Invalid value: field is immutable: a claim template cannot be changed after creation",
    ),
    "changing a claim template": (
        {
            f"{TEMPLATE}.resourceClaimTemplates.0.templateSpec.spec.devices.requests": [
                {"name": "gpu", "exactly": {"count": 2}}
            ]
        },
        "spec.template.resourceClaimTemplates[0].templateSpec: Invalid value: field is immutable: a claim template cannot be changed after creation",
    ),
    "removing the claim templates": (
        {f"{TEMPLATE}.resourceClaimTemplates": ABSENT},
        "spec.template.resourceClaimTemplates: Invalid value: field is immutable: resource claim templates can be neither added,"
        " removed nor renamed after creation",
    ),
    "changing the claims of the set": (
        {f"{TEMPLATE}.resourceSharing": ABSENT},
        "spec.template.resourceSharing: Invalid value: field is immutable: resource sharing cannot be changed after creation",
    ),
    "removing the constraint of the set": (
        {f"{TEMPLATE}.topologyConstraint": ABSENT},
        f"spec.template.topologyConstraint: {_GONE}",
    ),
    "adding a constraint to a clique": (
        {f"{B}.topologyConstraint": PACK},
        f"spec.template.cliques[1].topologyConstraint: {_ADDED}",
    ),
    "changing the constraint of a group": (
        {f"{GROUP}.topologyConstraint.pack.required": "host"},
        f"spec.template.podCliqueScalingGroups[0].topologyConstraint: {_TOPOLOGY_FIXED} cannot be changed"
        f' from required="rack" preferred="" to required="host" preferred=""; {_MOVE_ONLY}',
    ),
    "adding a preference to a constraint": (
        {f"{A}.topologyConstraint.pack.preferred": "host"},
        f"spec.template.cliques[0].topologyConstraint: {_TOPOLOGY_FIXED} cannot be changed"
        f' from required="rack" preferred="" to required="rack" preferred="host"; {_MOVE_ONLY}',
    ),
    "changing the topology of a constraint": (
        {f"{TEMPLATE}.topologyConstraint.topologyName": "other"},
        f"spec.template.topologyConstraint.topologyName: {_TOPOLOGY_FIXED} topologyName cannot be changed"
        ' from "net" to "other"; it may only be added beside an old packDomain',
    ),
}


@pytest.mark.parametrize(("edits", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refuses(contract: Contract, edits: dict[str, Any], message: str) -> None:
    answer = contract.refusal_of_update(EVERYTHING, changed(EVERYTHING, edits))
    assert answer == f'The PodCliqueSet "everything" is invalid: {message}'


ANY_ORDER = pod_clique_set(clique("a"), clique("b"), name="any-order")

NO_ROLE = pod_clique_set(changed(clique("a"), {"spec.roleName": ABSENT}), name="no-role")

ALLOWED: dict[str, tuple[Manifest, dict[str, Any]]] = {
    "scaling": (EVERYTHING, {"spec.replicas": 0, f"{A}.spec.replicas": 7, f"{GROUP}.replicas": 5}),
    "another pod template": (
        EVERYTHING,
        {
            f"{A}.spec.podSpec.containers.0.image": "registry.example.com/app:2",
            f"{A}.labels": {"a": "b"},
            f"{TEMPLATE}.priorityClassName": "high",
        },
    ),
    "other delays and strategies": (
        EVERYTHING,
        {
            f"{TEMPLATE}.terminationDelay": "1h30m",
            "spec.updateStrategy": {"type": "OnDelete"},
            f"{TEMPLATE}.headlessServiceConfig": {"publishNotReadyAddresses": False},
        },
    ),
    "another autoscaler": (EVERYTHING, {f"{B}.spec.autoScalingConfig.maxReplicas": 9}),
    "the implied minimum said aloud": (EVERYTHING, {f"{B}.spec.minAvailable": 2}),
    "replicas while the minimum is implied": (ANY_ORDER, {f"{A}.spec.replicas": 5}),
    "empty lists where there were none": (
        ANY_ORDER,
        {
            f"{TEMPLATE}.podCliqueScalingGroups": [],
            f"{TEMPLATE}.resourceClaimTemplates": [],
            f"{TEMPLATE}.resourceSharing": [],
            f"{A}.spec.startsAfter": [],
        },
    ),
    "a role as Go clients write it": (NO_ROLE, {f"{A}.spec.roleName": ""}),
    "a claim template as Go clients write it": (
        EVERYTHING,
        {f"{TEMPLATE}.resourceClaimTemplates.0.templateSpec.metadata": {"labels": {}}},
    ),
    "a claim template as older Go clients write it": (
        EVERYTHING,
        {
            f"{TEMPLATE}.resourceClaimTemplates.0.templateSpec.metadata": {
                "creationTimestamp": None
            },
            "metadata.creationTimestamp": None,
        },
    ),
    "another order while order means nothing": (
        ANY_ORDER,
        {f"{TEMPLATE}.cliques": ANY_ORDER["spec"]["template"]["cliques"][::-1]},
    ),
}


@pytest.mark.parametrize(("old", "edits"), ALLOWED.values(), ids=ALLOWED.keys())
def test_allows(contract: Contract, old: Manifest, edits: dict[str, Any]) -> None:
    assert contract.refusal_of_update(old, changed(old, edits)) == ""
