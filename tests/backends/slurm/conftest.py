"""A Slurm, and settings of a backend that uses it."""

from collections.abc import Iterator
from typing import Any

import pytest

from backend_controllers.slurm.options import SlurmOptions, SlurmQueue
from tests.backends.slurm.lab import NEW, OLD, SlurmLab, missing


@pytest.fixture(scope="package", params=[OLD, NEW])
def slurm(request: pytest.FixtureRequest) -> Iterator[SlurmLab]:
    """A Slurm with six nodes, of both versions."""
    if problem := missing(request.param):
        pytest.skip(problem)
    with SlurmLab(request.param) as lab:
        yield lab


@pytest.fixture
def slurm_options(slurm: SlurmLab, namespace: str) -> SlurmOptions:
    """Settings whose jobs carry the test's namespace, and no job of an earlier test."""
    slurm.cancel_all()
    return options_for(slurm, namespace)


def options_for(lab: SlurmLab, cluster: str, **more: Any) -> SlurmOptions:
    """Settings with a queue for each partition, and short waits."""
    fields: dict[str, Any] = {
        "url": lab.url,
        "token_file": str(lab.token_file),
        "user": "root",
        "cluster": cluster,
        "queues": tuple(
            SlurmQueue(name=name, partition=name) for name in ("all", "large", "gpu", "cpu")
        ),
        "spool_directory": str(lab.logs),
        "spool_mount": str(lab.logs),
        "reserve_seconds": 6,
        "poll_seconds": 0.3,
        "idle_poll_seconds": 1.0,
        "control_seconds": 2,
        "topology": {"rack": ("rack-a", "rack-b")},
    }
    return SlurmOptions(**{**fields, **more})
