"""The contract's own fixtures: API servers that know our kinds, and nothing else running."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from local_cluster.cluster import Cluster
from tests.contract.manifests import Manifest

CRDS = Path(__file__).parents[2] / "crds"


UNCHECKED = (
    "\n* <nil>: Invalid value: null: some validation rules were not checked because the object was"
    " invalid; correct the existing errors to complete validation"
)
"""What the server adds when a value is so wrong that it does not try the rules."""


class Contract:
    """An API server with the generated CRDs on it."""

    def __init__(self, server: Cluster) -> None:
        self.server = server
        self._stored: dict[str, Manifest] = {}
        server.kubectl("apply", "--server-side", "-f", str(CRDS))
        server.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRDS))

    def refusal_of_create(self, manifest: Manifest) -> str:
        """What the server says to a new object; empty when it takes it."""
        return self._refusal("create", manifest)

    def refusal_of_update(self, old: Manifest, new: Manifest) -> str:
        """What the server says when `old` is stored and `new` is sent; empty when it takes it."""
        self.store(old)
        return self._refusal("replace", new)

    def store(self, manifest: Manifest) -> Manifest:
        """Keep an object on the server, once however often it is asked for; what it became."""
        key = json.dumps([manifest["kind"], manifest["metadata"]])
        if key not in self._stored:
            text = json.dumps(manifest)
            answer = self.server.kubectl("create", "-f", "-", "-o", "json", input=text)
            self._stored[key] = json.loads(answer.stdout)
        return self._stored[key]

    def _refusal(self, verb: str, manifest: Manifest) -> str:
        answer = self.server.kubectl(
            verb, "--dry-run=server", "-f", "-", input=json.dumps(manifest), check=False
        )
        return answer.stderr.strip()


ContractOn = Callable[[str], Contract]


@pytest.fixture(scope="session")
def contract_on(control_plane: Callable[[str], Cluster]) -> ContractOn:
    """The contract on a bare API server of a Kubernetes minor."""
    installed: dict[str, Contract] = {}

    def of_minor(minor: str) -> Contract:
        if minor not in installed:
            installed[minor] = Contract(control_plane(minor))
        return installed[minor]

    return of_minor


@pytest.fixture(scope="session")
def contract(contract_on: ContractOn) -> Contract:
    """The contract on the Kubernetes minor that most tests use."""
    return contract_on("1.36")
