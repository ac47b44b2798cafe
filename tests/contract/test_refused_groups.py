"""New sets that the API server refuses for their groups, claims or topology, with the words that its author reads."""

from typing import Any

import pytest

from tests.contract.conftest import UNCHECKED, Contract
from tests.contract.manifests import Manifest, changed, clique, pod_clique_set, scaling_group

pytestmark = pytest.mark.cluster

TEMPLATE = "spec.template"
A = f"{TEMPLATE}.cliques.0"
B = f"{TEMPLATE}.cliques.1"
GROUPS = f"{TEMPLATE}.podCliqueScalingGroups"
REQUESTS = {"spec": {"devices": {"requests": [{"name": "gpu"}]}}}
CLAIMS = {f"{TEMPLATE}.resourceClaimTemplates": [{"name": "gpus", "templateSpec": REQUESTS}]}


def sharing(**more: Any) -> list[Manifest]:
    return [{"name": "gpus", "scope": "AllReplicas", **more}]


def pack(**constraint: Any) -> Manifest:
    return {"topologyName": "net", "pack": {"required": "rack"}, **constraint}


SETS: dict[str, tuple[dict[str, Any], str]] = {
    "a group name that is no DNS label": (
        {GROUPS: [scaling_group("g.1", "a")]},
        'spec.template.podCliqueScalingGroups[0].name: Invalid value: "g.1": must consist of lower-case'
        " letters, digits and '-', and start and end with a letter or digit",
    ),
    "two groups of one name": (
        {GROUPS: [scaling_group("g", "a"), scaling_group("g", "b")]},
        'spec.template.podCliqueScalingGroups[1]: Duplicate value: {"name":"g"}',
    ),
    "a group of an unknown clique": (
        {GROUPS: [scaling_group("g", "a", "c")]},
        "spec.template.podCliqueScalingGroups: Invalid value: unidentified PodClique names found in scaling group g;"
        ' known are: ["a", "b"]',
    ),
    "a clique in two groups": (
        {GROUPS: [scaling_group("g", "a"), scaling_group("h", "a", "b")]},
        'spec.template.podCliqueScalingGroups: Invalid value: cliqueNames: Duplicate value: "a": a clique belongs to at most one group',
    ),
    "a group without replicas": (
        {GROUPS: [scaling_group("g", "a", replicas=0)]},
        "\n* spec.template.podCliqueScalingGroups[0].replicas: Invalid value: 0:"
        " spec.template.podCliqueScalingGroups[0].replicas in body should be greater than or equal to 1"
        "\n* spec.template.podCliqueScalingGroups[0].minAvailable: Invalid value: minAvailable must not be greater than replicas: minAvailable is 1, replicas is 0",
    ),
    "a group minimum of zero": (
        {GROUPS: [scaling_group("g", "a", minAvailable=0)]},
        "spec.template.podCliqueScalingGroups[0].minAvailable: Invalid value: 0:"
        " spec.template.podCliqueScalingGroups[0].minAvailable in body should be greater than or equal"
        " to 1",
    ),
    "more replicas than any group has": (
        {GROUPS: [scaling_group("g", "a", replicas=10_001)]},
        "spec.template.podCliqueScalingGroups[0].replicas: Invalid value: 10001:"
        " spec.template.podCliqueScalingGroups[0].replicas in body should be less than or equal to"
        " 10000",
    ),
    "a group minimum above its replicas": (
        {GROUPS: [scaling_group("g", "a", replicas=2, minAvailable=3)]},
        "spec.template.podCliqueScalingGroups[0].minAvailable: Invalid value: minAvailable must not be greater than replicas: minAvailable is 3, replicas is 2",
    ),
    "a group autoscaler that goes below the minimum": (
        {
            GROUPS: [
                scaling_group(
                    "g",
                    "a",
                    replicas=2,
                    minAvailable=2,
                    scaleConfig={"minReplicas": 1, "maxReplicas": 4},
                )
            ]
        },
        "spec.template.podCliqueScalingGroups[0].scaleConfig.minReplicas: Invalid value:"
        " scaleConfig.minReplicas must be greater than or equal to minAvailable: it is 1, minAvailable is 2",
    ),
    "a group autoscaler that ends below its start": (
        {GROUPS: [scaling_group("g", "a", replicas=3, scaleConfig={"maxReplicas": 2})]},
        "spec.template.podCliqueScalingGroups[0].scaleConfig.maxReplicas: Invalid value:"
        " scaleConfig.maxReplicas must be greater than or equal to minReplicas: it is 2, minReplicas is 3",
    ),
    "a group member with an autoscaler of its own": (
        {
            GROUPS: [scaling_group("g", "a")],
            f"{A}.spec.autoScalingConfig": {"maxReplicas": 3},
        },
        "spec.template.cliques: Forbidden: AutoScalingConfig is not allowed to be defined for PodClique that is part of scaling group, use scaleConfig of the group: a",
    ),
    "a group member with an update limit of its own": (
        {
            GROUPS: [scaling_group("g", "a")],
            f"{A}.rollingUpdate": {"maxUnavailable": 2},
        },
        "spec.template.cliques: Forbidden: a clique of a scaling group has no rollingUpdate, use"
        " rollingUpdate of the group: a",
    ),
    "a group of which an update may replace none": (
        {GROUPS: [scaling_group("g", "a", rollingUpdate={"maxUnavailable": 0})]},
        "spec.template.podCliqueScalingGroups[0].rollingUpdate.maxUnavailable: Invalid value: 0:"
        " spec.template.podCliqueScalingGroups[0].rollingUpdate.maxUnavailable in body should be"
        " greater than or equal to 1",
    ),
    "a clique of which an update may replace none": (
        {f"{A}.rollingUpdate": {"maxUnavailable": 0}},
        "spec.template.cliques[0].rollingUpdate.maxUnavailable: Invalid value: 0:"
        " spec.template.cliques[0].rollingUpdate.maxUnavailable in body should be greater than or"
        " equal to 1",
    ),
    "an update that may take no time": (
        {"spec.updateStrategy": {"rollingUpdate": {"progressDeadlineSeconds": 0}}},
        "spec.updateStrategy.rollingUpdate.progressDeadlineSeconds: Invalid value: 0:"
        " spec.updateStrategy.rollingUpdate.progressDeadlineSeconds in body should be greater than"
        " or equal to 1",
    ),
    "a claim template without requests": (
        {
            f"{TEMPLATE}.resourceClaimTemplates": [
                {"name": "gpus", "templateSpec": {"spec": {"devices": {"requests": []}}}}
            ]
        },
        "spec.template.resourceClaimTemplates[0].templateSpec: Required value: at least one device request is required: add one to spec.devices.requests",
    ),
    "two claim templates of one name": (
        {f"{TEMPLATE}.resourceClaimTemplates": [{"name": "gpus", "templateSpec": REQUESTS}] * 2},
        'spec.template.resourceClaimTemplates[1]: Duplicate value: {"name":"gpus"}',
    ),
    "a claim template without a name": (
        {f"{TEMPLATE}.resourceClaimTemplates": [{"name": "", "templateSpec": REQUESTS}]},
        'spec.template.resourceClaimTemplates[0].name: Invalid value: "":'
        " spec.template.resourceClaimTemplates[0].name in body should be at least 1 chars long",
    ),
    "a shared claim that is named twice": (
        {**CLAIMS, f"{TEMPLATE}.resourceSharing": sharing() * 2},
        'spec.template.resourceSharing[1]: Duplicate value: {"name":"gpus"}',
    ),
    "a shared claim of an unknown scope": (
        {**CLAIMS, f"{TEMPLATE}.resourceSharing": sharing(scope="Global")},
        '\n* spec.template.resourceSharing[0].scope: Unsupported value: "Global": supported values:'
        ' "AllReplicas", "PerReplica"' + UNCHECKED,
    ),
    "a namespace for a claim template of the set": (
        {**CLAIMS, f"{TEMPLATE}.resourceSharing": sharing(namespace="other")},
        "spec.template.resourceSharing: Invalid value: namespace must be empty when name matches an internal resourceClaimTemplate",
    ),
    "a namespace for a claim template of the set, in a clique": (
        {**CLAIMS, f"{A}.resourceSharing": sharing(namespace="other")},
        "spec.template.cliques: Invalid value: namespace must be empty when name matches an internal resourceClaimTemplate",
    ),
    "a namespace for a claim template of the set, in a group": (
        {
            **CLAIMS,
            GROUPS: [scaling_group("g", "a", resourceSharing=sharing(namespace="other"))],
        },
        "spec.template.podCliqueScalingGroups: Invalid value: namespace must be empty when name matches an internal resourceClaimTemplate",
    ),
    "a filter of nothing": (
        {**CLAIMS, f"{TEMPLATE}.resourceSharing": sharing(filter={})},
        "spec.template.resourceSharing[0].filter: Required value: filter must specify at least one childCliqueNames or childScalingGroupNames entry; without a filter all cliques use the claim",
    ),
    "a filter of nothing in a group": (
        {**CLAIMS, GROUPS: [scaling_group("g", "a", resourceSharing=sharing(filter={}))]},
        "spec.template.podCliqueScalingGroups[0].resourceSharing[0].filter: Required value: filter must"
        " specify at least one childCliqueNames entry; without a filter every clique of the group uses"
        " the claim",
    ),
    "autoscalers of one name": (
        {
            f"{A}.spec.autoScalingConfig": {"maxReplicas": 3},
            GROUPS: [scaling_group("a", "b", scaleConfig={"maxReplicas": 3})],
        },
        "spec.template.podCliqueScalingGroups: Invalid value: a clique and a scaling group that are both"
        " autoscaled need different names: a",
    ),
    "a filter of an unknown clique": (
        {**CLAIMS, f"{TEMPLATE}.resourceSharing": sharing(filter={"childCliqueNames": ["c"]})},
        "spec.template.resourceSharing: Invalid value: Not found: a filter of resourceSharing may only name cliques"
        ' of this set: ["a", "b"]',
    ),
    "a filter of an unknown group": (
        {
            **CLAIMS,
            f"{TEMPLATE}.resourceSharing": sharing(filter={"childScalingGroupNames": ["g"]}),
        },
        "spec.template.resourceSharing: Invalid value: Not found: a filter of resourceSharing may only name scaling"
        " groups of this set",
    ),
    "a group's filter of a clique outside": (
        {
            **CLAIMS,
            GROUPS: [
                scaling_group("g", "a", resourceSharing=sharing(filter={"childCliqueNames": ["b"]}))
            ],
        },
        "spec.template.podCliqueScalingGroups[0].resourceSharing: Invalid value: Not found: a"
        ' filter of resourceSharing may only name cliques of its group: ["a"]',
    ),
    "an annotation key of a group that is none": (
        {GROUPS: [scaling_group("g", "a", annotations={"no key": "x"})]},
        "spec.template.podCliqueScalingGroups[0].annotations: Invalid value: keys must be qualified names"
        " such as name or example.com/name",
    ),
    "an MNNVL group that is no name": (
        {f"{A}.annotations": {"grove.io/mnnvl-group": "Rack 1"}},
        "spec.template.cliques[0].annotations: Invalid value: annotation grove.io/mnnvl-group must be"
        " none or a name of at most 63 lower-case letters, digits and '-'",
    ),
    "a constraint without domains": (
        {f"{TEMPLATE}.topologyConstraint": {"topologyName": "net"}},
        "spec.template.topologyConstraint: Required value: topologyConstraint must specify pack or deprecated packDomain",
    ),
    "a pack without domains": (
        {f"{TEMPLATE}.topologyConstraint": pack(pack={})},
        "spec.template.topologyConstraint.pack: Required value: pack must specify at least one of required or preferred",
    ),
    "a domain that is no name": (
        {f"{TEMPLATE}.topologyConstraint": pack(pack={"preferred": "Rack"})},
        'spec.template.topologyConstraint.pack.preferred: Invalid value: "Rack":'
        " spec.template.topologyConstraint.pack.preferred in body should match '^[a-z][a-z0-9-]*$'",
    ),
    "the deprecated packDomain": (
        {f"{A}.topologyConstraint": {"topologyName": "net", "packDomain": "rack"}},
        "spec.template.cliques[0].topologyConstraint.packDomain: Forbidden: packDomain is deprecated and cannot be used on new workloads; use pack.required",
    ),
    "packDomain beside pack.required": (
        {GROUPS: [scaling_group("g", "a", topologyConstraint=pack(packDomain="rack"))]},
        "\n* spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain: Forbidden: must not set both pack.required and deprecated packDomain: set only pack.required"
        "\n* spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain: Forbidden: packDomain is deprecated and cannot be used on new workloads; use pack.required",
    ),
    "more claims than one set may have": (
        {
            "spec.replicas": 10_000,
            f"{TEMPLATE}.resourceSharing": [
                {"name": f"c{number}", "scope": "PerReplica"} for number in range(32)
            ],
        },
        "spec.replicas: Invalid value: a set has at most 20000 ResourceClaims: 10000 replicas would"
        " have 320000. Lower replicas, or make several sets",
    ),
    "more claims of cliques and scaling groups than one set may have": (
        {
            "spec.replicas": 1000,
            f"{A}.resourceSharing": [{"name": "c", "scope": "PerReplica"}],
            f"{A}.spec.replicas": 11,
            GROUPS: [
                scaling_group(
                    "g",
                    "b",
                    replicas=5,
                    resourceSharing=[{"name": name, "scope": "PerReplica"} for name in ("d", "e")],
                )
            ],
        },
        "spec.replicas: Invalid value: a set has at most 20000 ResourceClaims: 1000 replicas would"
        " have 21000. Lower replicas, or make several sets",
    ),
    "constraints of different topologies": (
        {
            f"{TEMPLATE}.topologyConstraint": pack(),
            f"{A}.topologyConstraint": pack(topologyName="other"),
        },
        "spec.template: Invalid value: all topologyConstraint.topologyName values within a"
        ' PodCliqueSet must match; found: ["net", "other"]',
    ),
    "a constraint of no topology": (
        {
            GROUPS: [scaling_group("g", "a", topologyConstraint=pack())],
            f"{B}.topologyConstraint": {"pack": {"preferred": "rack"}},
        },
        "spec.template: Required value: topologyName is required when topologyConstraint is set and cannot be inherited",
    ),
}


@pytest.mark.parametrize(("edits", "message"), SETS.values(), ids=SETS.keys())
def test_refuses_a_set_with(contract: Contract, edits: dict[str, Any], message: str) -> None:
    manifest = changed(pod_clique_set(clique("a"), clique("b")), edits)
    prefix = f'The PodCliqueSet "{manifest["metadata"]["name"]}" is invalid: '
    assert contract.refusal_of_create(manifest) == prefix + message
