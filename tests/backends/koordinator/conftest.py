"""Koordinator's real scheduler, with the product's CRDs beside Koordinator's own."""

from collections.abc import AsyncIterator

import pytest

from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.cluster import Cluster
from tests.backends.suite.bed import Bed
from tests.backends.suite.contender import KOORDINATOR
from tests.backends.suite.stage import Stage, staged
from tests.core.conftest import CRDS

ASSETS = "assets"
QUOTA_CRD = "scheduling.sigs.k8s.io_elasticquotas.yaml"


@pytest.fixture(scope="session")
def koordinator_with_gangs(koordinator_cluster: Cluster) -> Cluster:
    """Koordinator's cluster, which also knows PodGangs and quotas."""
    koordinator_cluster.install_crds(CRDS)
    quotas = ensure_built(build_of("koordinator")) / ASSETS / QUOTA_CRD
    koordinator_cluster.kubectl("apply", "--server-side", "-f", str(quotas))
    return koordinator_cluster


@pytest.fixture
async def stage(koordinator_with_gangs: Cluster) -> AsyncIterator[Stage]:
    """A namespace with nodes of its own; core and the backend are the test's business."""
    async with staged(Bed(KOORDINATOR, koordinator_with_gangs)) as opened:
        yield opened
