"""The inventory that a backend publishes on a real cluster."""

import pytest

from backend_controllers.default import BACKEND
from backend_controllers.generic.kinds import INVENTORIES
from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.models import BackendInventory
from tests.backends.kit import running_backend

pytestmark = pytest.mark.cluster


async def test_the_machines_of_a_cluster_are_published_once_and_not_again_at_rest(
    core_cluster: Cluster, client: Client
) -> None:
    async with running_backend(core_cluster, BACKEND) as backend:
        await backend.until_idle()
        found = await client.get(INVENTORIES, "default", into=BackendInventory)
        assert sum(row.total for row in found.spec.rows) > 0
        assert all(row.shape.cpu and row.free is None for row in found.spec.rows)
        version = found.metadata.resource_version
    async with running_backend(core_cluster, BACKEND) as again:
        await again.until_idle()
        assert again.writes.seen["apply", "backendinventories"] == 0
        found = await client.get(INVENTORIES, "default", into=BackendInventory)
        assert found.metadata.resource_version == version
