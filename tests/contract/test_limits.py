"""Numbers that the API server limits or fills in, each a row of the comparison with Grove."""

import json
from typing import Any

import pytest

from tests.contract.conftest import Contract
from tests.contract.manifests import (
    Manifest,
    changed,
    clique,
    pod_clique_set,
    pod_gang,
    scaling_group,
    topology_binding,
)

pytestmark = pytest.mark.cluster

SHARED = [{"name": f"claim{n}", "scope": "AllReplicas"} for n in range(33)]
CLAIM = {"spec": {"devices": {"requests": [{"name": "gpu"}]}}}
SMALL = pod_clique_set(clique("a"), podCliqueScalingGroups=[scaling_group("g", "a")])
TEMPLATE = "spec.template"
GROUP = f"{TEMPLATE}.podCliqueScalingGroups.0"

TOO_MANY: dict[str, tuple[Manifest, str]] = {
    "65 cliques": (
        pod_clique_set(*(clique(f"c{n}") for n in range(65))),
        "spec.template.cliques: Too many: 65: must have at most 64 items",
    ),
    "65 scaling groups": (
        pod_clique_set(
            clique("a"), podCliqueScalingGroups=[scaling_group(f"g{n}", "a") for n in range(65)]
        ),
        "spec.template.podCliqueScalingGroups: Too many: 65: must have at most 64 items",
    ),
    "65 labels of a clique": (
        changed(SMALL, {f"{TEMPLATE}.cliques.0.labels": {f"l{n}": "v" for n in range(65)}}),
        "spec.template.cliques[0].labels: Too many: 65: must have at most 64 items",
    ),
    "33 claim templates": (
        changed(
            SMALL,
            {
                f"{TEMPLATE}.resourceClaimTemplates": [
                    {"name": f"t{n}", "templateSpec": CLAIM} for n in range(33)
                ]
            },
        ),
        "spec.template.resourceClaimTemplates: Too many: 33: must have at most 32 items",
    ),
    "33 shared claims of a set": (
        changed(SMALL, {f"{TEMPLATE}.resourceSharing": SHARED}),
        "spec.template.resourceSharing: Too many: 33: must have at most 32 items",
    ),
    "33 shared claims of a clique": (
        changed(SMALL, {f"{TEMPLATE}.cliques.0.resourceSharing": SHARED}),
        "spec.template.cliques[0].resourceSharing: Too many: 33: must have at most 32 items",
    ),
    "33 shared claims of a group": (
        changed(SMALL, {f"{GROUP}.resourceSharing": SHARED}),
        "spec.template.podCliqueScalingGroups[0].resourceSharing: Too many: 33:"
        " must have at most 32 items",
    ),
    "17 levels of a topology": (
        topology_binding(*((f"d{n}", f"k{n}") for n in range(17))),
        "spec.levels: Too many: 17: must have at most 16 items",
    ),
    "65 schedulers of a topology": (
        topology_binding(
            ("zone", "k"),
            schedulerTopologyBindings=[
                {"schedulerName": f"s{n}", "topologyReference": "t"} for n in range(65)
            ],
        ),
        "spec.schedulerTopologyBindings: Too many: 65: must have at most 64 items",
    ),
}


@pytest.mark.parametrize(("manifest", "message"), TOO_MANY.values(), ids=TOO_MANY.keys())
def test_refuses_more_than_is_ever_needed(
    contract: Contract, manifest: Manifest, message: str
) -> None:
    assert message in contract.refusal_of_create(manifest)


def of_kind(kind: str, name: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


SCALED = {
    "pcs": pod_clique_set(clique("a"), name="limited"),
    "pclq": of_kind("PodClique", "limited", clique("limited")["spec"]),
    "pcsg": of_kind("PodCliqueScalingGroup", "limited", {"replicas": 1, "cliqueNames": ["a"]}),
}


@pytest.mark.parametrize(("kind", "manifest"), SCALED.items(), ids=SCALED.keys())
def test_nothing_is_scaled_above_ten_thousand(
    contract: Contract, kind: str, manifest: Manifest
) -> None:
    contract.store(manifest)
    scale = ("scale", kind, "limited", "--replicas=10001")
    answer = contract.server.kubectl(*scale, check=False)
    assert "should be less than or equal to 10000" in answer.stderr


def with_status(contract: Contract, manifest: Manifest, **status: Any) -> dict[str, Any]:
    """The status that the server stores."""
    stored = contract.store(manifest)
    words = ("patch", stored["kind"], stored["metadata"]["name"], "--subresource=status")
    text = json.dumps({"status": status})
    answer = contract.server.kubectl(*words, "--type=merge", "-p", text, "-o", "json")
    return dict(json.loads(answer.stdout)["status"])


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        ("pcs", "availableReplicas updatedReplicas"),
        ("pclq", "readyReplicas scheduleGatedReplicas scheduledReplicas updatedReplicas"),
        ("pcsg", "availableReplicas scheduledReplicas updatedReplicas"),
    ],
)
def test_counts_that_are_not_written_are_zero(contract: Contract, kind: str, counts: str) -> None:
    status = with_status(contract, SCALED[kind], observedGeneration=1)
    assert {name: status[name] for name in counts.split()} == dict.fromkeys(counts.split(), 0)


def test_a_gang_is_pending_until_its_backend_reports_and_its_score_is_a_share(
    contract: Contract,
) -> None:
    gang = pod_gang("w-0-a", name="scored")
    assert with_status(contract, gang, observedGeneration=1)["phase"] == "Pending"
    assert with_status(contract, gang, placementScore=1)["placementScore"] == 1
    for score in (-0.1, 1.1):
        text = json.dumps({"status": {"placementScore": score}})
        words = ("patch", "podgang", "scored", "--subresource=status", "--type=merge", "-p", text)
        answer = contract.server.kubectl(*words, check=False)
        assert "status.placementScore: Invalid value" in answer.stderr
