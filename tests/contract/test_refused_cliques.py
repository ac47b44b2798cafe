"""New sets that the API server refuses for their cliques, each with the words that its author reads."""

from typing import Any

import pytest

from tests.contract.conftest import UNCHECKED, Contract
from tests.contract.manifests import ABSENT, changed, clique, pod_clique_set, scaling_group

pytestmark = pytest.mark.cluster

TEMPLATE = "spec.template"
A = f"{TEMPLATE}.cliques.0"
B = f"{TEMPLATE}.cliques.1"
GROUPS = f"{TEMPLATE}.podCliqueScalingGroups"
EXPLICIT = {f"{TEMPLATE}.cliqueStartupType": "CliqueStartupTypeExplicit"}

SETS: dict[str, tuple[dict[str, Any], str]] = {
    "a name with a dot": (
        {"metadata.name": "my.set"},
        "metadata.name: Invalid value: metadata.name must not contain '.': Services and host names"
        " are made of it",
    ),
    "a name that begins with a digit": (
        {"metadata.name": "7b-chat"},
        "metadata.name: Invalid value: metadata.name must begin with a letter: Services are named"
        " after it",
    ),
    "a negative number of replicas": (
        {"spec.replicas": -1},
        "\n* spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0"
        "\n* .spec.replicas: Invalid value: -1: should be a non-negative integer",
    ),
    "an unknown startup type": (
        {f"{TEMPLATE}.cliqueStartupType": "Random"},
        '\n* spec.template.cliqueStartupType: Unsupported value: "Random": supported values:'
        ' "CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"'
        + UNCHECKED,
    ),
    "an unknown update strategy": (
        {"spec.updateStrategy": {"type": "Coherent"}},
        '\n* spec.updateStrategy.type: Unsupported value: "Coherent": supported values:'
        ' "RollingRecreate", "OnDelete"' + UNCHECKED,
    ),
    "a termination delay of zero": (
        {f"{TEMPLATE}.terminationDelay": "0s"},
        'spec.template.terminationDelay: Invalid value: "0s": terminationDelay must be greater than 0:'
        " a duration such as 30s, 10m or 4h",
    ),
    "a termination delay that is no duration": (
        {f"{TEMPLATE}.terminationDelay": "soon"},
        'spec.template.terminationDelay: Invalid value: "soon": terminationDelay must be greater than 0:'
        " a duration such as 30s, 10m or 4h",
    ),
    "no clique": (
        {f"{TEMPLATE}.cliques": []},
        "spec.template.cliques: Required value: at least one PodClique must be defined",
    ),
    "a clique without a name": (
        {f"{A}.name": ""},
        'spec.template.cliques[0].name: Invalid value: "": must consist of lower-case letters, digits'
        " and '-', and start and end with a letter or digit",
    ),
    "a clique name that is no DNS label": (
        {f"{A}.name": "Pre_fill"},
        'spec.template.cliques[0].name: Invalid value: "Pre_fill": must consist of lower-case letters,'
        " digits and '-', and start and end with a letter or digit",
    ),
    "a clique name with a dot": (
        {f"{A}.name": "pre.fill"},
        'spec.template.cliques[0].name: Invalid value: "pre.fill": must consist of lower-case letters,'
        " digits and '-', and start and end with a letter or digit",
    ),
    "two cliques of one name": (
        {f"{B}.name": "a"},
        'spec.template.cliques[1]: Duplicate value: {"name":"a"}',
    ),
    "two cliques of one role": (
        {f"{B}.spec.roleName": "a"},
        'spec.template.cliques: Invalid value: roleName: Duplicate value: "a": every clique needs a'
        " roleName of its own",
    ),
    "two cliques without a role": (
        {f"{A}.spec.roleName": ABSENT, f"{B}.spec.roleName": ""},
        'spec.template.cliques: Invalid value: roleName: Duplicate value: "": every clique needs a'
        " roleName of its own",
    ),
    "a label key that is none": (
        {f"{A}.labels": {"no key": "x"}},
        "spec.template.cliques[0].labels: Invalid value: keys must be qualified names such as name"
        " or example.com/name",
    ),
    "an annotation key that is none": (
        {f"{A}.annotations": {"no key": "x"}},
        "spec.template.cliques[0].annotations: Invalid value: keys must be qualified names such as name"
        " or example.com/name",
    ),
    "a label value that is none": (
        {f"{A}.labels": {"key": "no value"}},
        'spec.template.cliques[0].labels.key: Invalid value: "no value":'
        " spec.template.cliques[0].labels.key in body should match"
        " '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'",
    ),
    "names of set and clique that are too long together": (
        {"metadata.name": "s" * 40, f"{A}.name": "prefill"},
        "metadata.name: Invalid value: combined resource name length 47 exceeds 45-character limit"
        f" required for pod naming. Consider shortening: PodCliqueSet {'s' * 40} or PodClique prefill",
    ),
    "names of set, group and clique that are too long together": (
        {
            "metadata.name": "s" * 35,
            f"{A}.name": "prefill",
            GROUPS: [scaling_group("workers", "b", "prefill")],
        },
        "metadata.name: Invalid value: combined resource name length 49 exceeds 45-character limit"
        f" required for pod naming. Consider shortening: PodCliqueSet {'s' * 35},"
        " PodCliqueScalingGroup workers, or PodClique prefill",
    ),
    "cliques of different schedulers": (
        {f"{A}.spec.podSpec.schedulerName": "one", f"{B}.spec.podSpec.schedulerName": "two"},
        "spec.template.cliques: Invalid value: the schedulerName for all pods have to be the same, or empty;"
        ' found: ["one", "two"]',
    ),
    "more replicas than any set has": (
        {"spec.replicas": 10_001},
        "spec.replicas: Invalid value: 10001: spec.replicas in body should be less than or equal"
        " to 10000",
    ),
    "more replicas than any clique has": (
        {f"{A}.spec.replicas": 10_001},
        "spec.template.cliques[0].spec.replicas: Invalid value: 10001:"
        " spec.template.cliques[0].spec.replicas in body should be less than or equal to 10000",
    ),
    "a clique without replicas": (
        {f"{A}.spec.replicas": 0},
        "spec.template.cliques[0].spec.replicas: Invalid value: 0:"
        " spec.template.cliques[0].spec.replicas in body should be greater than or equal to 1",
    ),
    "a minimum of zero": (
        {f"{A}.spec.minAvailable": 0},
        "spec.template.cliques[0].spec.minAvailable: Invalid value: 0:"
        " spec.template.cliques[0].spec.minAvailable in body should be greater than or equal to 1",
    ),
    "a minimum above the replicas": (
        {f"{A}.spec.minAvailable": 3},
        "spec.template.cliques[0].spec.minAvailable: Invalid value: minAvailable must not be greater than replicas: minAvailable is 3, replicas is 2",
    ),
    "a clique that waits for itself": (
        {**EXPLICIT, f"{A}.spec.startsAfter": ["a"]},
        "spec.template.cliques: Invalid value: clique dependency cannot refer to itself in startsAfter: a",
    ),
    "a clique that waits for an unknown one": (
        {**EXPLICIT, f"{A}.spec.startsAfter": ["c"]},
        "spec.template.cliques: Invalid value: unknown clique names found, all clique dependencies must be defined as cliques: startsAfter of clique a;"
        ' known are: ["a", "b"]',
    ),
    "a clique that waits twice for another": (
        {**EXPLICIT, f"{A}.spec.startsAfter": ["b", "b"]},
        'spec.template.cliques[0].spec.startsAfter[1]: Duplicate value: "b"',
    ),
    "a clique that waits for no name": (
        {**EXPLICIT, f"{A}.spec.startsAfter": [""]},
        "spec.template.cliques: Invalid value: unknown clique names found, all clique dependencies must be defined as cliques: startsAfter of clique a;"
        ' known are: ["a", "b"]',
    ),
    "cliques that wait for each other": (
        {**EXPLICIT, f"{A}.spec.startsAfter": ["b"], f"{B}.spec.startsAfter": ["a"]},
        "spec.template.cliques: Invalid value: clique must not have circular dependencies in startsAfter, nor a chain of more"
        " than 16 cliques",
    ),
    "an autoscaler that goes below the minimum": (
        {f"{A}.spec.autoScalingConfig": {"minReplicas": 1, "maxReplicas": 4}},
        "spec.template.cliques[0].spec.autoScalingConfig.minReplicas: Invalid value:"
        " must be greater than or equal to podCliqueSpec.minAvailable: it is 1, minAvailable is 2",
    ),
    "an autoscaler that ends below its start": (
        {f"{A}.spec.minAvailable": 1, f"{A}.spec.autoScalingConfig": {"maxReplicas": 1}},
        "spec.template.cliques[0].spec.autoScalingConfig.maxReplicas: Invalid value:"
        " must be greater than or equal to replicas: it is 1,"
        " replicas is 2, minReplicas is 2",
    ),
    "pods without containers": (
        {f"{A}.spec.podSpec.containers": []},
        "spec.template.cliques[0].spec.podSpec.containers: Invalid value: 0:"
        " spec.template.cliques[0].spec.podSpec.containers in body should have at least 1 items",
    ),
    "pods that are bound by hand": (
        {f"{A}.spec.podSpec.nodeName": "node-1"},
        "spec.template.cliques[0].spec.podSpec.nodeName: Invalid value: must not be set: a pod that"
        " is bound by hand is no member of a gang",
    ),
    "pods with spread constraints": (
        {f"{A}.spec.podSpec.topologySpreadConstraints": [{"maxSkew": 1}]},
        "spec.template.cliques[0].spec.podSpec.topologySpreadConstraints: Invalid value: must not be set: use topologyConstraint of the clique",
    ),
    "a variable that is set twice": (
        {f"{A}.spec.podSpec.containers.0.env": [{"name": "X"}, {"name": "X"}]},
        'spec.template.cliques[0].spec.podSpec.containers[0].env[1]: Duplicate value: {"name":"X"}',
    ),
    "a variable of an impossible name": (
        {f"{A}.spec.podSpec.initContainers": [{"name": "init", "env": [{"name": "X=Y"}]}]},
        'spec.template.cliques[0].spec.podSpec.initContainers[0].env[0].name: Invalid value: "X=Y":'
        " spec.template.cliques[0].spec.podSpec.initContainers[0].env[0].name in body should match"
        " '^[ -<>-~]+$'",
    ),
}


@pytest.mark.parametrize(("edits", "message"), SETS.values(), ids=SETS.keys())
def test_refuses_a_set_with(contract: Contract, edits: dict[str, Any], message: str) -> None:
    manifest = changed(pod_clique_set(clique("a"), clique("b")), edits)
    prefix = f'The PodCliqueSet "{manifest["metadata"]["name"]}" is invalid: '
    assert contract.refusal_of_create(manifest) == prefix + message
