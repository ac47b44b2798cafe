"""Workloads that end: sets and changes of them that the API server refuses, and those that pass."""

from typing import Any

import pytest

from tests.contract.conftest import Contract
from tests.contract.manifests import Manifest, changed, clique, pod_clique_set, scaling_group

pytestmark = pytest.mark.cluster

TEMPLATE = "spec.template"
A = f"{TEMPLATE}.cliques.0"
B = f"{TEMPLATE}.cliques.1"
GROUPS = f"{TEMPLATE}.podCliqueScalingGroups"
NEVER = {f"{A}.spec.podSpec.restartPolicy": "Never"}
RESTARTS = {"completion": {"failure": {"maxRestarts": 3}}}
_FIXED = "spec.replicas: Forbidden: replicas is fixed at creation"


def named(*names: str) -> Manifest:
    return {"completion": {"success": {"completedNames": [*names]}}}


SETS: dict[str, tuple[dict[str, Any], str]] = {
    "a policy and no job": (
        {"spec.policy": RESTARTS},
        "spec.policy: Invalid value: policy needs a clique with podSpec.restartPolicy OnFailure or Never",
    ),
    "an empty policy": (
        {**NEVER, "spec.policy": {"completion": {}}},
        "spec.policy.completion: Invalid value: must have success or failure or ttlSecondsAfterFinished",
    ),
    "an empty failure policy": (
        {**NEVER, "spec.policy": {"completion": {"failure": {}}}},
        "spec.policy.completion.failure: Invalid value: must have maxRestarts or maxRuntime",
    ),
    "a name that is no job": (
        {**NEVER, "spec.policy": named("b")},
        "spec.policy: Invalid value: completedNames may only name scaling groups, and cliques that run"
        " to completion: restartPolicy OnFailure or Never",
    ),
    "a name of a clique in a group": (
        {**NEVER, GROUPS: [scaling_group("g", "a")], "spec.policy": named("a")},
        "spec.policy: Invalid value: completedNames of a set must not name a clique of a scaling group:"
        " name the group, and the clique in completedNames of the group",
    ),
    "a name of a group that serves": (
        {**NEVER, GROUPS: [scaling_group("g", "b")], "spec.policy": named("g")},
        "spec.policy: Invalid value: completedNames may only name scaling groups with a clique that runs"
        " to completion",
    ),
    "a policy of a group that serves": (
        {**NEVER, GROUPS: [scaling_group("g", "b", policy=RESTARTS)]},
        "spec.template.podCliqueScalingGroups: Invalid value: policy of a scaling group needs a clique"
        " with podSpec.restartPolicy OnFailure or Never",
    ),
    "an empty policy of a group": (
        {**NEVER, GROUPS: [scaling_group("g", "a", policy={"completion": {}})]},
        "spec.template.podCliqueScalingGroups[0].policy.completion: Invalid value: must have success or"
        " failure",
    ),
    "a name in a group that is no job": (
        {**NEVER, GROUPS: [scaling_group("g", "a", "b", policy=named("b"))]},
        "spec.template.podCliqueScalingGroups: Invalid value: completedNames of a scaling group may only"
        " name its cliques that run to completion: restartPolicy OnFailure or Never",
    ),
    "an autoscaler of a group with a job": (
        {**NEVER, GROUPS: [scaling_group("g", "a", scaleConfig={"maxReplicas": 3})]},
        "spec.template.podCliqueScalingGroups: Forbidden: a scaling group with a clique that runs to"
        " completion has no scaleConfig",
    ),
    "an autoscaler of a job": (
        {**NEVER, f"{A}.spec.autoScalingConfig": {"maxReplicas": 3}},
        "spec.template.cliques[0].spec.autoScalingConfig: Forbidden: autoScalingConfig must be absent:"
        " pods with this restartPolicy run to completion",
    ),
    "a policy of a clique that serves": (
        {**NEVER, f"{B}.spec.policy": {"completion": {"failure": {"maxRestarts": 0}}}},
        "spec.template.cliques[1].spec.policy: Invalid value: policy needs podSpec.restartPolicy"
        " OnFailure or Never: with Always the clique serves",
    ),
    "a restart of a single pod": (
        {**NEVER, f"{A}.spec.policy": {"completion": {"failure": {"maxRestarts": 1}}}},
        "spec.template.cliques[0].spec.policy.completion.failure.maxRestarts: Invalid value: 1:"
        " spec.template.cliques[0].spec.policy.completion.failure.maxRestarts in body should be less than"
        " or equal to 0",
    ),
    "a runtime that is no duration": (
        {**NEVER, "spec.policy": {"completion": {"failure": {"maxRuntime": "a day"}}}},
        'spec.policy.completion.failure.maxRuntime: Invalid value: "a day": maxRuntime must be greater'
        " than 0: a duration such as 30s, 10m or 4h",
    ),
}


@pytest.mark.parametrize(("edits", "message"), SETS.values(), ids=SETS.keys())
def test_refuses_a_set_with(contract: Contract, edits: dict[str, Any], message: str) -> None:
    manifest = changed(pod_clique_set(clique("a"), clique("b")), edits)
    assert contract.refusal_of_create(manifest) == f'The PodCliqueSet "set" is invalid: {message}'


JOB = changed(pod_clique_set(clique("a"), clique("b"), name="job"), NEVER)
PODCLIQUE = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodClique",
    "metadata": {"name": "job-0-a", "namespace": "default"},
    "spec": JOB["spec"]["template"]["cliques"][0]["spec"],
}

UPDATES: dict[str, tuple[Manifest, dict[str, Any], str]] = {
    "scaling a set with a job": (
        JOB,
        {"spec.replicas": 2},
        f"{_FIXED}, except from 0: a clique runs to completion",
    ),
    "scaling a job": (
        PODCLIQUE,
        {"spec.replicas": 3},
        f"{_FIXED}: the pods run to completion",
    ),
    "making a service of a job": (
        JOB,
        {f"{A}.spec.podSpec.restartPolicy": "Always"},
        "spec.template.cliques[0].spec.podSpec.restartPolicy: Forbidden: restartPolicy cannot be changed"
        " between Always and OnFailure or Never after creation",
    ),
}


@pytest.mark.parametrize(("old", "edits", "message"), UPDATES.values(), ids=UPDATES.keys())
def test_refuses_to_change(
    contract: Contract, old: Manifest, edits: dict[str, Any], message: str
) -> None:
    prefix = f'The {old["kind"]} "{old["metadata"]["name"]}" is invalid: '
    assert contract.refusal_of_update(old, changed(old, edits)) == prefix + message


ACCEPTED: dict[str, dict[str, Any]] = {
    "a policy with everything": {
        **NEVER,
        GROUPS: [scaling_group("g", "b", policy={"completion": named("b")["completion"]})],
        f"{B}.spec.podSpec.restartPolicy": "OnFailure",
        f"{A}.spec.policy": {"completion": {"failure": {"maxRestarts": 0}}},
        "spec.policy": {
            "completion": {
                "success": {"completedNames": ["a", "g"]},
                "failure": {"maxRestarts": 2, "maxRuntime": "24h"},
                "ttlSecondsAfterFinished": 0,
            }
        },
    },
    "a job beside a service": NEVER,
    "a job that starts later": {**NEVER, "spec.replicas": 0},
}


@pytest.mark.parametrize("edits", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepts_a_set_with(contract: Contract, edits: dict[str, Any]) -> None:
    manifest = changed(pod_clique_set(clique("a"), clique("b")), edits)
    assert contract.refusal_of_create(manifest) == ""
