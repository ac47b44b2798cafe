"""A backend with hosts outside of the cluster touches its own pods, and no other's."""

from collections.abc import Iterator

import pytest

from local_cluster.cluster import Cluster
from shared_api import names
from tests.attacks.conftest import TakenOver
from tests.attacks.kit import Attacker
from tests.deploy.kit import DEPLOY, NAMESPACE
from tests.deploy.people import Object, Person

pytestmark = pytest.mark.cluster


def _pod(name: str, backend: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {names.LABEL_SCHEDULER_BACKEND: backend}},
        # No scheduler has this name, so only the attacker could bind it.
        "spec": {
            "schedulerName": "nobody",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
        },
    }


def _binding(pod: str, node: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


@pytest.fixture
def thief(product: Cluster, taken_over: TakenOver) -> Iterator[Attacker]:
    """The holder of the token of backend-docker, whose program does not run."""
    folder = str(DEPLOY / "backends" / "docker")
    product.kubectl("apply", "--server-side", "-k", folder)
    product.kubectl("scale", "deployment/backend-docker", f"-n{NAMESPACE}", "--replicas=0")
    yield taken_over("backend-docker")
    product.kubectl("delete", "-k", folder, "--ignore-not-found", "--wait=false")


def test_only_pods_with_its_own_label_are_deleted_and_bound(
    product: Cluster, home: str, thief: Attacker
) -> None:
    owner = Person(product, home)
    for name, backend in (("own", "docker"), ("foreign", "kai")):
        owner.do("create", "-f", "-", input=_pod(name, backend))
    assert "its own label" in thief.refused("delete", "pod", "foreign", "--wait=false")
    raw = f"/api/v1/namespaces/{home}/pods"
    elsewhere = _binding("own", "some-node")
    refused = thief.refused("create", "--raw", f"{raw}/own/binding", "-f", "-", input=elsewhere)
    assert "the Node of its own name" in refused
    own = _binding("own", "docker")
    assert not thief.refused("create", "--raw", f"{raw}/own/binding", "-f", "-", input=own)
    assert not thief.refused("delete", "pod", "own", "--wait=false")


def test_only_the_node_of_its_own_name_is_written(thief: Attacker) -> None:
    def node(name: str) -> Object:
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}

    assert thief.refused("apply", "--server-side", "-f", "-", input=node("some-node"))
    assert not thief.refused(
        "apply", "--server-side", "--dry-run=server", "-f", "-", input=node("docker")
    )
