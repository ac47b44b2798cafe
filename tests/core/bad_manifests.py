"""Workloads with one thing wrong each, and what their author is told.

A thing is refused by the API server, which names the path, or it is found when core or the
server tries to carry it out. Each edit is applied to a set of two cliques, `a` of two pods
and `b` of one.
"""

from dataclasses import dataclass
from typing import Any

from tests.contract.manifests import changed
from tests.core.kit import Object, clique, pcs

TEMPLATE = "spec.template"
A = f"{TEMPLATE}.cliques.0"
POD = f"{A}.spec.podSpec"
CONTAINER = f"{POD}.containers.0"
GROUPS = f"{TEMPLATE}.podCliqueScalingGroups"
EXPLICIT = {f"{TEMPLATE}.cliqueStartupType": "CliqueStartupTypeExplicit"}

Edits = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """The reason and a part of the message of the set's Ready condition.

    An Event says the same, about the object whose name is the set's and `about`.
    """

    reason: str
    words: str
    about: str = "-0-a"


def bad(edits: Edits, name: str = "w") -> Object:
    """A workload that would be good without these edits."""
    return changed(pcs(name, clique("a", 2), clique("b", 1)), edits)


def group(*cliques: str, **config: Any) -> Object:
    return {"name": "s", "cliqueNames": list(cliques), **config}


REFUSED: dict[str, tuple[Edits, str]] = {
    "a name with a dot": ({"metadata.name": "my.set"}, "metadata.name: Invalid value"),
    "a name in capitals": ({"metadata.name": "Chat"}, "metadata.name: Invalid value"),
    "a name that begins with a digit": ({"metadata.name": "7b"}, "must begin with a letter"),
    "a name that is too long": ({"metadata.name": "w" * 46}, "Consider shortening"),
    "replicas in words": ({"spec.replicas": "three"}, "spec.replicas: Invalid value"),
    "negative replicas": ({"spec.replicas": -1}, "spec.replicas: Invalid value: -1"),
    "more replicas than anybody has": (
        {"spec.replicas": 10_001},
        "spec.replicas: Invalid value: 10001",
    ),
    "more pods of a clique than anybody has": (
        {f"{A}.spec.replicas": 1_000_000},
        "cliques[0].spec.replicas: Invalid value: 1000000",
    ),
    "more copies of a group than anybody has": (
        {GROUPS: [group("a", replicas=1_000_000)]},
        "podCliqueScalingGroups[0].replicas: Invalid value: 1000000",
    ),
    "no template": ({"spec": {"replicas": 1}}, "spec.template: Required value"),
    "no cliques": ({f"{TEMPLATE}.cliques": []}, "at least one PodClique must be defined"),
    "two cliques of one name": ({f"{TEMPLATE}.cliques.1.name": "a"}, "cliques[1]: Duplicate value"),
    "two cliques of one role": (
        {f"{TEMPLATE}.cliques.1.spec.roleName": "a"},
        "every clique needs a roleName of its own",
    ),
    "a clique name with a slash": ({f"{A}.name": "a/b"}, "cliques[0].name: Invalid value"),
    "a clique without pods": ({f"{A}.spec.replicas": 0}, "cliques[0].spec.replicas"),
    "a minimum above the replicas": (
        {f"{A}.spec.minAvailable": 3},
        "minAvailable must not be greater than replicas",
    ),
    "a minimum of zero": ({f"{A}.spec.minAvailable": 0}, "cliques[0].spec.minAvailable"),
    "a minimum in words": ({f"{A}.spec.minAvailable": "all"}, "cliques[0].spec.minAvailable"),
    "a label that is none": ({f"{A}.labels": {"a b": "c"}}, "cliques[0].labels: Invalid value"),
    "no containers": ({f"{POD}.containers": []}, "podSpec.containers: Invalid value"),
    "a pod spec that is a list": ({POD: []}, "cliques[0].spec.podSpec: Invalid value"),
    "two containers of one name": (
        {f"{POD}.containers": [{"name": "x", "image": "y"}, {"name": "x", "image": "y"}]},
        "podSpec.containers[1]: Duplicate value",
    ),
    "a variable that is set twice": (
        {f"{CONTAINER}.env": [{"name": "X"}, {"name": "X"}]},
        "containers[0].env[1]: Duplicate value",
    ),
    "pods that are bound by hand": (
        {f"{POD}.nodeName": "node-0"},
        "podSpec.nodeName: Invalid value: must not be set",
    ),
    "spread constraints": (
        {f"{POD}.topologySpreadConstraints": [{"maxSkew": 1}]},
        "podSpec.topologySpreadConstraints: Invalid value: must not be set",
    ),
    "different schedulers": (
        {f"{POD}.schedulerName": "one", f"{TEMPLATE}.cliques.1.spec.podSpec.schedulerName": "two"},
        "the schedulerName for all pods have to be the same",
    ),
    "an unknown startup type": (
        {f"{TEMPLATE}.cliqueStartupType": "Random"},
        "cliqueStartupType: Unsupported value",
    ),
    "a clique that waits for itself": (
        {**EXPLICIT, f"{A}.spec.startsAfter": ["a"]},
        "clique dependency cannot refer to itself",
    ),
    "a clique that waits for nobody known": (
        {**EXPLICIT, f"{A}.spec.startsAfter": ["z"]},
        "unknown clique names found",
    ),
    "a delay that is no duration": (
        {f"{TEMPLATE}.terminationDelay": "soon"},
        "terminationDelay: Invalid value",
    ),
    "a group of unknown cliques": ({GROUPS: [group("z")]}, "unidentified PodClique names found"),
    "a group of no cliques": ({GROUPS: [group()]}, "cliqueNames: Invalid value"),
    "a clique in two groups": (
        {GROUPS: [group("a"), {**group("a"), "name": "t"}]},
        "Duplicate value",
    ),
    "a group whose minimum is above its size": (
        {GROUPS: [group("a", replicas=1, minAvailable=2)]},
        "minAvailable must not be greater than replicas",
    ),
    "an autoscaler of a clique in a group": (
        {GROUPS: [group("a")], f"{A}.spec.autoScalingConfig": {"maxReplicas": 4}},
        "AutoScalingConfig is not allowed to be defined",
    ),
    "an autoscaler that ends below its start": (
        {f"{A}.spec.autoScalingConfig": {"maxReplicas": 1}},
        "maxReplicas: Invalid value: must be greater than or equal to replicas",
    ),
    "a priority class that is a number": (
        {f"{TEMPLATE}.priorityClassName": 7},
        "priorityClassName: Invalid value",
    ),
    "a quantity that is none": (
        {f"{CONTAINER}.resources": {"requests": {"cpu": "much"}}},
        "podSpec.containers[0].resources.requests.cpu: Invalid value",
    ),
    "a node selector that is a text": (
        {f"{POD}.nodeSelector": "fast"},
        "podSpec.nodeSelector: Invalid value",
    ),
    "a placement without a topology": (
        {f"{TEMPLATE}.topologyConstraint": {"pack": {"required": "rack"}}},
        "topologyName is required when topologyConstraint is set",
    ),
}

_REFUSED_PODS: dict[str, tuple[Edits, str]] = {
    "a container without an image": ({CONTAINER: {"name": "main"}}, "image: Required value"),
    "an impossible restart policy": ({f"{POD}.restartPolicy": "Sometimes"}, "restartPolicy"),
    "an impossible pull policy": ({f"{CONTAINER}.imagePullPolicy": "Maybe"}, "imagePullPolicy"),
    "less than nothing of a resource": (
        {f"{CONTAINER}.resources": {"requests": {"cpu": "-1"}}},
        "requests[cpu]",
    ),
    "more asked for than allowed": (
        {f"{CONTAINER}.resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        "must be less than or equal to cpu limit",
    ),
    "a mount of no volume": (
        {f"{CONTAINER}.volumeMounts": [{"name": "none", "mountPath": "/x"}]},
        "volumeMounts[0].name: Not found",
    ),
    "a port that no host has": (
        {f"{CONTAINER}.ports": [{"containerPort": 70000}]},
        "containerPort",
    ),
    "a node selector that is none": ({f"{POD}.nodeSelector": {"a b": "c"}}, "nodeSelector"),
    "an unknown toleration": (
        {f"{POD}.tolerations": [{"operator": "Perhaps"}]},
        "tolerations[0].operator",
    ),
    "a deadline in the past": (
        {f"{POD}.activeDeadlineSeconds": -1},
        "activeDeadlineSeconds",
    ),
    "ephemeral containers": (
        {f"{POD}.ephemeralContainers": [{"name": "debug", "image": "x"}]},
        "ephemeralContainers",
    ),
    "an unknown service account": ({f"{POD}.serviceAccountName": "nobody"}, "nobody"),
    "an unknown runtime class": ({f"{POD}.runtimeClassName": "unheard-of"}, "unheard-of"),
    "an unknown priority class": (
        {f"{TEMPLATE}.priorityClassName": "unheard-of"},
        "no PriorityClass with name unheard-of",
    ),
}

TOLD: dict[str, tuple[Edits, Told]] = {
    **{name: (edits, Told("PodsRefused", words)) for name, (edits, words) in _REFUSED_PODS.items()},
    "an unknown backend": (
        {"metadata.annotations": {"grove.io/scheduler-backend": "unheard-of"}},
        Told("BackendUnknown", "no backend 'unheard-of'; known: ", ""),
    ),
    "a list of unknown backends": (
        {"metadata.annotations": {"grove.io/scheduler-backend": "neither, nor"}},
        Told("BackendUnknown", "no backend 'neither'; no backend 'nor'; known: ", ""),
    ),
    "a scheduler that nobody answers for": (
        {f"{POD}.schedulerName": "unheard-of"},
        Told("BackendUnknown", "no backend has schedulerName 'unheard-of'", ""),
    ),
    "a placement in a topology that nobody described": (
        {
            f"{TEMPLATE}.topologyConstraint": {
                "topologyName": "t",
                "pack": {"required": "rack"},
            }
        },
        Told("ClusterTopologyNotFound", "ClusterTopologyBinding 't' does not exist", ""),
    ),
    "more pods than one set may have": (
        {"spec.replicas": 7_000},
        Told("TooLarge", "at most 20000 pods: 6666 of 7000 replicas have 19998", ""),
    ),
    "cliques whose full names are one": (
        {f"{A}.name": "s-0-b", GROUPS: [group("b")]},
        Told("Conflict", "-0-s-0-b", ""),
    ),
}
