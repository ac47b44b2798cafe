"""Two controllers on one PodGang, people with kubectl, and autoscalers on the scale subresource."""

import json
from typing import Any

import pytest

from shared_api import names
from tests.contract.conftest import Contract
from tests.contract.manifests import Manifest, clique, pod_clique_set, pod_gang

pytestmark = pytest.mark.cluster

NOW = "2026-01-01T00:00:00Z"


def condition(type_: str, status: str, reason: str) -> Manifest:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": NOW,
    }


def apply_status(contract: Contract, gang: Manifest, manager: str, **status: Any) -> Manifest:
    """Server-side apply of a status, without force: a conflict would fail the test."""
    body = {k: gang[k] for k in ("apiVersion", "kind", "metadata")} | {"status": status}
    arguments = ("apply", "--server-side", "--subresource=status", f"--field-manager={manager}")
    answer = contract.server.kubectl(*arguments, "-f", "-", "-o", "json", input=json.dumps(body))
    result: Manifest = json.loads(answer.stdout)
    return dict(result["status"])


def types(status: Manifest) -> dict[str, str]:
    return {c["type"]: c["status"] for c in status["conditions"]}


def test_core_and_backend_apply_conditions_and_neither_erases_the_others(
    contract: Contract,
) -> None:
    gang = pod_gang("w-0-a", "w-0-b", name="shared")
    contract.store(gang)
    core, backend = names.FIELD_MANAGER_CORE, names.FIELD_MANAGER_BACKEND_PREFIX + "example"
    patch = {"annotations": {"example.com/groups": '[{"name": "{group}"}]'}}

    status = apply_status(
        contract, gang, core, conditions=[condition("Initialized", "False", "PodsPending")]
    )
    assert status["phase"] == "Pending", "the default shows before the backend has spoken"

    apply_status(
        contract,
        gang,
        backend,
        phase="Starting",
        placementScore=0.5,
        podPreparations=[{"name": "w-0-a", "members": patch}],
        conditions=[condition("Programmed", "True", "Written")],
    )
    status = apply_status(
        contract, gang, core, conditions=[condition("Initialized", "True", "PodsCreated")]
    )
    assert types(status) == {"Initialized": "True", "Programmed": "True"}
    assert (status["phase"], status["placementScore"]) == ("Starting", 0.5)
    assert status["podPreparations"] == [{"name": "w-0-a", "members": patch}]

    status = apply_status(
        contract, gang, backend, conditions=[condition("Scheduled", "True", "Placed")]
    )
    assert types(status) == {"Initialized": "True", "Scheduled": "True"}
    assert "podPreparations" not in status, "the backend withdrew what was its own"


def clique_object(name: str, replicas: int, minimum: int) -> Manifest:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodClique",
        "metadata": {"name": name, "namespace": "default"},
        "spec": clique(name, replicas=replicas, minAvailable=minimum)["spec"],
    }


def test_a_clique_is_scaled_below_its_minimum_to_nothing_and_back(contract: Contract) -> None:
    contract.store(clique_object("scaled", 3, 2))
    for replicas in ("1", "0", "3"):
        contract.server.kubectl("scale", "podclique/scaled", f"--replicas={replicas}")
        answer = contract.server.kubectl(
            "get", "podclique/scaled", "-o", "jsonpath={.spec.replicas}"
        )
        assert answer.stdout == replicas


def test_a_set_is_scaled_to_nothing_and_back(contract: Contract) -> None:
    contract.store(pod_clique_set(clique("a"), name="scalable"))
    for replicas in ("0", "3"):
        contract.server.kubectl("scale", "pcs/scalable", f"--replicas={replicas}")
        answer = contract.server.kubectl("get", "pcs/scalable", "-o", "jsonpath={.spec.replicas}")
        assert answer.stdout == replicas


HEADINGS = {
    "pcs": "NAME READY REASON REPLICAS AVAILABLE UPDATED COMPLETED AGE",
    "pclq": "NAME REASON MINAVAIL REPLICAS READY SCHEDULED UPDATED AGE",
    "pg": "NAME PHASE REASON BACKEND AGE",
}


@pytest.mark.parametrize("resource", HEADINGS)
def test_kubectl_get_shows_what_a_user_wants(contract: Contract, resource: str) -> None:
    contract.store(pod_clique_set(clique("a"), name="shown"))
    contract.store(clique_object("shown", 3, 2))
    gang = pod_gang("shown-0-a", name="shown")
    gang["metadata"]["labels"] = {names.LABEL_SCHEDULER_BACKEND: "example"}
    contract.store(gang)
    heading, *rows = contract.server.kubectl("get", resource).stdout.splitlines()
    assert heading.split() == HEADINGS[resource].split()
    if resource == "pg":
        (row,) = (r for r in rows if r.startswith("shown "))
        assert row.split()[-2] == "example"
