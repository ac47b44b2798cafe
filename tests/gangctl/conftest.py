"""A stage with core and Kubernetes' own backend, and the command line as a program."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from local_cluster.cluster import Cluster
from tests.core.conftest import core_cluster
from tests.core.stage import Stage, on_stage
from tests.gangctl.program import Program

__all__ = ["core_cluster"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    """Core and a real backend, for all tests of a module."""
    async with on_stage(core_cluster) as shared:
        yield shared


@pytest.fixture
def gang(stage: Stage) -> Program:
    """`kubectl gang` in the namespace of the stage."""
    return Program(stage.cluster.kubeconfig, stage.person.namespace)
