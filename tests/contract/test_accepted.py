"""Every supported Kubernetes takes the CRDs, and with them every manifest written for Grove."""

import json

import pytest

from tests.contract.conftest import Contract, ContractOn
from tests.contract.manifests import changed, clique, pod_clique_set, scaling_group
from tests.contract.schemas import FAMILIES, SAMPLES, definitions

pytestmark = pytest.mark.cluster

MINORS = ("1.35", "1.36", "1.37")


@pytest.mark.parametrize("minor", MINORS)
def test_crds_are_established_and_structural(contract_on: ContractOn, minor: str) -> None:
    answer = contract_on(minor).server.kubectl("get", "crds", "-o", "json")
    conditions = {
        crd["spec"]["names"]["kind"]: {c["type"]: c["status"] for c in crd["status"]["conditions"]}
        for crd in json.loads(answer.stdout)["items"]
    }
    for kind in definitions():
        assert conditions[kind]["Established"] == "True"
        assert "NonStructuralSchema" not in conditions[kind]


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("family", FAMILIES)
def test_samples_are_accepted(contract_on: ContractOn, minor: str, family: str) -> None:
    folder = SAMPLES / family
    answer = contract_on(minor).server.kubectl(
        "create", "--dry-run=server", "--validate=strict", "-f", str(folder), check=False
    )
    assert answer.stderr == ""
    assert answer.stdout.count("created (server dry run)") == len(list(folder.iterdir()))


@pytest.mark.parametrize("minor", MINORS)
def test_the_largest_set_stays_within_the_cost_of_its_rules(
    contract_on: ContractOn, minor: str
) -> None:
    layers = [clique(f"c{n}", startsAfter=[f"c{m}" for m in _layer_below(n)]) for n in range(64)]
    largest = pod_clique_set(
        *layers,
        cliqueStartupType="CliqueStartupTypeExplicit",
        podCliqueScalingGroups=[scaling_group(f"g{n}", f"c{n}") for n in range(64)],
    )
    assert contract_on(minor).refusal_of_create(largest) == ""


def _layer_below(index: int) -> range:
    """16 layers of 4 cliques, each waiting for all of the layer below."""
    first = index // 4 * 4
    return range(max(0, first - 4), first)


def test_a_chain_that_is_longer_than_can_be_checked_is_refused(contract: Contract) -> None:
    chain = [clique("c0"), *(clique(f"c{n}", startsAfter=[f"c{n - 1}"]) for n in range(1, 17))]
    manifest = pod_clique_set(*chain, cliqueStartupType="CliqueStartupTypeExplicit")
    assert contract.refusal_of_create(manifest).endswith("nor a chain of more than 16 cliques")
    shorter = changed(manifest, {"spec.template.cliques.16.spec.startsAfter": ["c0"]})
    assert contract.refusal_of_create(shorter) == ""


def test_what_is_not_reported_is_defaulted_as_grove_does(contract: Contract) -> None:
    cliques = [clique("a"), clique("b")]
    del cliques[0]["spec"]["replicas"]
    manifest = pod_clique_set(*cliques, podCliqueScalingGroups=[scaling_group("g", "b")])
    manifest["metadata"]["name"] = "defaulted"
    del manifest["spec"]["replicas"]

    spec = contract.store(manifest)["spec"]

    template = spec["template"]
    assert spec["replicas"] == 0
    assert template["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"
    assert template["terminationDelay"] == "4h"
    assert template["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
    assert template["cliques"][0]["spec"]["replicas"] == 1
    group = template["podCliqueScalingGroups"][0]
    assert (group["replicas"], group["minAvailable"]) == (1, 1)


def test_a_pod_spec_is_stored_with_fields_that_nobody_knows(contract: Contract) -> None:
    pod_spec = {
        "containers": [
            {"name": "z", "image": "i", "future": {"z": 1, "a": [3, 1, 2]}, "env": [{"name": "A"}]},
            {"name": "a", "image": "i", "args": ["b", "a"], "securityContext": {}},
        ],
        "inventedField": [{"deep": {"deeper": None}}, "x"],
        "topologySpreadConstraints": [],
    }
    manifest = pod_clique_set(clique("a", podSpec=pod_spec), name="unknown-fields")
    stored = contract.store(manifest)
    assert stored["spec"]["template"]["cliques"][0]["spec"]["podSpec"] == pod_spec
