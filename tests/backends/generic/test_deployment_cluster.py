"""Backends as they are deployed: two replicas each, with the rights that they have."""

import asyncio
import json
from collections.abc import Iterator

import pytest
import yaml

from backend_controllers.generic.kinds import BACKENDS, GANGS
from local_cluster.cluster import Cluster
from local_cluster.process_node.placement import place_on_process_node
from local_cluster.waiting import wait_until
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import LEASES
from tests.backends.generic.gangs import Eyes
from tests.backends.generic.test_rights import DEPLOY
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

NAMESPACE = "grove-system"
NAMES = ("default", "kai")


@pytest.fixture
def deployed(core_cluster: Cluster) -> Iterator[Cluster]:
    """Both backends in a cluster that has no KAI."""
    kubectl = core_cluster.kubectl
    # What backends need of core's folder when there is no core.
    for file in ("namespace.yaml", "priority.yaml"):
        kubectl("apply", "--server-side", "-f", str(DEPLOY.parent / "core" / file))
    items = [
        place_on_process_node(manifest)
        for name in NAMES
        for manifest in yaml.safe_load_all(kubectl("kustomize", str(DEPLOY / name)).stdout)
    ]
    listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl("apply", "--server-side", "-f", "-", input=listing)
    for name in NAMES:
        place = f"--namespace={NAMESPACE}"
        kubectl("rollout", "status", f"deployment/backend-{name}", place, "--timeout=120s")
    yield core_cluster
    kubectl("delete", "-f", "-", "--wait=false", input=listing)
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    wait_until(core_cluster.kubeconfig, pods, lambda found: not found)
    kubectl("delete", "schedulerbackend", *NAMES, "--ignore-not-found")


async def test_deployed_backends_serve_or_report_what_is_missing(
    deployed: Cluster, person: Onlooker
) -> None:
    async with Eyes(person.client, BACKENDS, "").watching() as records:
        await records.until(lambda: holds(records.get("default"), "Ready"))
        await records.until(
            lambda: condition(records.get("kai"), "Ready").get("reason") == "SchedulerApiMissing"
        )
        async with running_operator(deployed):
            await person.create(pcs("w", clique("a", 2), replicas=2))
            await person.until(
                lambda: all(holds(person.get(GANGS, name), "Ready") for name in ("w-0", "w-1")), 60
            )
            # The leader goes, the other one takes over: a new gang is served.
            lease = await person.client.get(LEASES, "backend-default", NAMESPACE, into=LooseObject)
            leader = lease.spec["holderIdentity"].rsplit("_", 1)[0]
            await asyncio.to_thread(
                deployed.kubectl, "delete", "pod", leader, f"-n{NAMESPACE}", "--wait=false"
            )
            await person.create(pcs("x", clique("a", 2)))
            await person.until(lambda: holds(person.get(GANGS, "x-0"), "Ready"), 90)
