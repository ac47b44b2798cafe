"""Sets that an older Grove stored under laxer rules can be mended here, and still be scaled."""

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.conftest import Contract
from tests.contract.manifests import ABSENT, changed, clique, pod_clique_set
from tests.contract.schemas import CRDS, definitions

pytestmark = pytest.mark.cluster

OLD = pod_clique_set(
    clique("a"), clique("b"), name="old-grove", topologyConstraint={"packDomain": "rack"}
)
CONSTRAINT = "spec.template.topologyConstraint"


def without_rules(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k != "x-kubernetes-validations"}
        return {k: without_rules(v) for k, v in kept.items()}
    return [without_rules(v) for v in value] if isinstance(value, list) else value


def until(attempt: Callable[[], bool]) -> None:
    """A changed CRD takes effect a moment later; every attempt is a request to the server."""
    deadline = time.monotonic() + 30
    while not attempt():
        assert time.monotonic() < deadline


@pytest.fixture(scope="module")
def old_contract(contract: Contract) -> Contract:
    """The contract, with a set stored that today's rules would refuse."""
    lax = without_rules(definitions()["PodCliqueSet"])

    def replace_crd(text: str) -> None:
        contract.server.kubectl("apply", "--server-side", "-f", "-", input=text)

    def stored() -> bool:
        try:
            contract.store(OLD)
        except subprocess.CalledProcessError:
            return False
        return True

    replace_crd(json.dumps(lax))
    until(stored)
    replace_crd((CRDS / "podcliquesets.grove.io.yaml").read_text())
    until(lambda: contract.refusal_of_create(changed(OLD, {"metadata.name": "new"})) != "")
    return contract


MENDED: dict[str, dict[str, Any]] = {
    "nothing but replicas": {"spec.replicas": 4},
    "the topology named": {f"{CONSTRAINT}.topologyName": "net"},
    "packDomain moved to pack.required": {
        f"{CONSTRAINT}.packDomain": ABSENT,
        f"{CONSTRAINT}.pack": {"required": "rack"},
    },
    "both at once": {CONSTRAINT: {"topologyName": "net", "pack": {"required": "rack"}}},
}


@pytest.mark.parametrize("edits", MENDED.values(), ids=MENDED.keys())
def test_an_old_set_is_accepted_with(old_contract: Contract, edits: dict[str, Any]) -> None:
    assert old_contract.refusal_of_update(OLD, changed(OLD, edits)) == ""


def test_an_old_set_keeps_its_domain(old_contract: Contract) -> None:
    edits = {CONSTRAINT: {"topologyName": "net", "pack": {"required": "host"}}}
    assert old_contract.refusal_of_update(OLD, changed(OLD, edits)) == (
        'The PodCliqueSet "old-grove" is invalid: spec.template.topologyConstraint: Forbidden: topology'
        ' constraint cannot be changed from required="rack" preferred="" to required="host" preferred="";'
        " deprecated packDomain migration can only move packDomain to pack.required without changing the"
        " required or preferred topology domain"
    )
