"""What earlier versions of the operator made is taken over: no pod is touched, nothing rewritten."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster.cluster import Cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.core.kit import Onlooker, running_operator
from tests.core.stand_in import StandIn
from tests.upgrade.record import NAMESPACE, PODS
from tests.upgrade.restore import owners_first, restore

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.yaml"))


@pytest.fixture
def recorded_namespace(cluster: Cluster) -> Iterator[str]:
    """The namespace that recordings are of: pods carry its name in their environment."""
    cluster.kubectl("create", "namespace", NAMESPACE)
    account = ("serviceaccount/default", "-n", NAMESPACE, "--timeout=20s")
    cluster.kubectl("wait", "--for=create", *account)
    try:
        yield NAMESPACE
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s", check=False)


@pytest.mark.cluster
@pytest.mark.timeout(180)
@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
async def test_what_an_earlier_version_made_is_kept_as_it_is(
    core_cluster: Cluster, recorded_namespace: str, file: Path
) -> None:
    await asyncio.to_thread(restore, core_cluster, file)
    async with (
        Client(from_kubeconfig(core_cluster.kubeconfig)) as client,
        Onlooker(client, recorded_namespace).watching() as person,
        StandIn(client, "default").serving(),
    ):
        await person.until_ready(PODS)
        before = {pod.metadata.name: pod.metadata.uid for pod in person.pods}
        async with running_operator(core_cluster) as operator:
            await operator.until_idle()
            seen = operator.writes.seen
            assert [what for what in seen if not what[1].endswith("/status")] == []
            assert {pod.metadata.name: pod.metadata.uid for pod in person.pods} == before


def test_recordings_exist() -> None:
    assert FIXTURES


def test_owners_are_restored_before_what_they_own() -> None:
    def thing(uid: str, *owners: str) -> dict[str, Any]:
        references = [{"uid": owner} for owner in owners]
        return {"metadata": {"name": uid, "uid": uid, "ownerReferences": references}}

    pod, clique, set_ = thing("pod", "clique"), thing("clique", "set"), thing("set")
    assert [*owners_first([pod, clique, set_])] == [set_, clique, pod]
    with pytest.raises(ValueError, match="without their owners"):
        [*owners_first([pod])]
