"""Fixtures for every test: real clusters, started when the first test asks for one.

`make test` needs one Kubernetes with its own scheduler. What needs another minor or another
scheduler is marked here, by what its parameters and fixtures name, and runs in
`make test-matrix`.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from local_cluster.pytest_plugin import (
    cluster,
    control_plane,
    kai_cluster,
    koordinator_cluster,
    namespace,
    volcano_cluster,
    yunikorn_cluster,
)
from local_cluster.schedulers import EXTRA_SCHEDULERS
from local_cluster.versions import DEFAULT_MINOR, MINORS

__all__ = [
    "cluster",
    "control_plane",
    "kai_cluster",
    "koordinator_cluster",
    "namespace",
    "volcano_cluster",
    "yunikorn_cluster",
]

# That a busy machine is slow is no finding.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("many", settings.get_profile("patient"), max_examples=2000)
settings.load_profile("patient")

_OTHERS = (*EXTRA_SCHEDULERS, *(minor for minor in MINORS if minor != DEFAULT_MINOR))


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory for a cluster: pytest's own are too deep for the sockets in it."""
    with tempfile.TemporaryDirectory(prefix="t-") as directory:
        yield Path(directory)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is not for `make test`."""
    for item in items:
        if item.get_closest_marker("cluster") is not None and _names_another(item):
            item.add_marker(pytest.mark.matrix)


def _names_another(item: pytest.Item) -> bool:
    parameters = (
        item.callspec.id if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""
    )
    fixtures = item.fixturenames if isinstance(item, pytest.Function) else ()
    return any(other in parameters or f"{other}_cluster" in fixtures for other in _OTHERS)
