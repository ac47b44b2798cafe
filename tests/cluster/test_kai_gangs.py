"""KAI's scheduler and binder place a gang that a hand-written PodGroup describes."""

from collections.abc import Iterator

import pytest

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from local_cluster.schedulers.kai import QUEUE
from local_cluster.waiting import wait_until
from tests.cluster.manifests import as_list, bound, kai_gang

pytestmark = pytest.mark.cluster


@pytest.fixture
def namespace(kai_cluster: Cluster) -> Iterator[str]:
    with fresh_namespace(kai_cluster) as name:
        yield name


def test_kai_binds_a_gang_that_fits(kai_cluster: Cluster, namespace: str) -> None:
    gang = kai_gang(f"fits-{namespace}", namespace, 5, cpu="1", queue=QUEUE)
    kai_cluster.kubectl("apply", "-f", "-", input=as_list(gang))
    path = f"/api/v1/namespaces/{namespace}/pods"
    wait_until(kai_cluster.kubeconfig, path, lambda items: bound(items) == 5, seconds=60)


def test_kai_binds_nothing_of_a_gang_that_does_not_fit(
    kai_cluster: Cluster, namespace: str
) -> None:
    gang = kai_gang(f"big-{namespace}", namespace, 9, cpu="20", queue=QUEUE)
    kai_cluster.kubectl("apply", "-f", "-", input=as_list(gang))
    groups = f"/apis/scheduling.run.ai/v2alpha2/namespaces/{namespace}/podgroups"
    wait_until(
        kai_cluster.kubeconfig,
        groups,
        lambda items: bool(items and items[0].get("status", {}).get("schedulingConditions")),
        seconds=60,
    )
    pods = wait_until(
        kai_cluster.kubeconfig,
        f"/api/v1/namespaces/{namespace}/pods",
        lambda items: len(items) == 9,
    )
    assert bound(pods) == 0
