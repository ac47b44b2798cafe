"""Paths of collections, objects and subresources, and names that must not become paths."""

import pytest

from shared_api.kube.resources import LEASES, NODES, PODS, Resource


def test_paths_follow_the_api() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("a") == "/api/v1/namespaces/a/pods"
    assert PODS.path("a", "b", "status") == "/api/v1/namespaces/a/pods/b/status"
    assert NODES.path(name="n") == "/api/v1/nodes/n"
    assert LEASES.path("a", "b") == "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"


def test_a_kind_is_declared_in_one_line() -> None:
    gangs = Resource("scheduler.grove.io", "v1alpha1", "podgangs", "PodGang")

    assert gangs.api_version == "scheduler.grove.io/v1alpha1"
    assert str(gangs) == "podgangs.scheduler.grove.io"
    assert PODS.api_version == "v1"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2fb", "a?b", "a#b", "a b", "ä"])
def test_a_name_cannot_leave_its_place_in_the_path(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        PODS.path("default", name)


def test_scope_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="no namespace"):
        NODES.path("a", "n")
    with pytest.raises(ValueError, match="none is given"):
        PODS.path(name="p")
    with pytest.raises(ValueError, match="needs the name"):
        PODS.path("a", subresource="status")


def test_names_of_rbac_may_hold_colons() -> None:
    roles = Resource(
        "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
    )

    assert roles.path(name="system:node").endswith("/clusterroles/system:node")
