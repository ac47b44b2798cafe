"""YuniKorn's real scheduler, with core and this backend in the test's own event loop."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backend_controllers.yunikorn import BACKEND
from backend_controllers.yunikorn.options import YuniKornOptions
from local_cluster.cluster import Cluster
from local_cluster.schedulers.yunikorn import QUEUE
from tests.backends.kit import backend_settings, running_backend
from tests.backends.suite.bed import Bed
from tests.backends.suite.contender import YUNIKORN
from tests.backends.suite.stage import Stage, staged
from tests.core.kit import running_operator

CRDS = Path(__file__).parents[3] / "crds"


@pytest.fixture(scope="session")
def yunikorn_with_gangs(yunikorn_cluster: Cluster) -> Cluster:
    """YuniKorn's cluster, which also knows PodGangs."""
    yunikorn_cluster.install_crds(CRDS)
    return yunikorn_cluster


@pytest.fixture
async def stage(yunikorn_with_gangs: Cluster) -> AsyncIterator[Stage]:
    """A namespace with nodes of its own, on which gangs are served."""
    cluster = yunikorn_with_gangs
    chosen = backend_settings(YuniKornOptions(default_queue=QUEUE))
    async with (
        running_operator(cluster),
        running_backend(cluster, BACKEND, chosen),
        staged(Bed(YUNIKORN, cluster)) as opened,
    ):
        yield opened
