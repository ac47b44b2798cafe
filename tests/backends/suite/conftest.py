"""A bed for each contender, made once: all tests of one contender run one after the other."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import running_cluster
from local_cluster.versions import DEFAULT_MINOR, MINORS, Minor
from tests.backends.suite.bed import Bed
from tests.backends.suite.contender import CONTENDERS, Contender, listed
from tests.backends.suite.stage import Stage, staged
from tests.core.conftest import CRDS

_HERE = Path(__file__).parent
_ORDER = {contender.name: index for index, contender in enumerate(CONTENDERS)}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the suite by contender; otherwise a cluster would start at every change of them."""
    places = [index for index, item in enumerate(items) if item.path.is_relative_to(_HERE)]
    ordered = sorted((items[index] for index in places), key=_turn)
    for index, item in zip(places, ordered, strict=True):
        items[index] = item


def _turn(item: pytest.Item) -> int:
    assert isinstance(item, pytest.Function)
    found = item.callspec.params["contender"]
    assert isinstance(found, Contender)
    return _ORDER[found.name]


@pytest.fixture(scope="package", params=listed(CONTENDERS))
def contender(request: pytest.FixtureRequest) -> Contender:
    """The backend that is put to the test."""
    found: Contender = request.param
    return found


# Starting a cluster runs an event loop of its own, so this may not be async.
@pytest.fixture(scope="package")
def bed(
    contender: Contender,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Bed]:
    """The contender on its cluster, with core."""
    with ExitStack() as stack:
        is_lent = bool(contender.extra) or contender.minor == DEFAULT_MINOR
        if contender.extra:
            cluster: Cluster = request.getfixturevalue(f"{contender.extra}_cluster")
            cluster.install_crds(CRDS)
        elif is_lent:
            cluster = request.getfixturevalue("core_cluster")
        else:
            lesser = {contender.minor: _lesser(contender)}
            stack.enter_context(patch.dict(MINORS, lesser))
            options = ClusterOptions(kubernetes=contender.minor, nodes=1)
            cluster = stack.enter_context(running_cluster(options, tmp_path_factory))
            cluster.install_crds(CRDS)
        yield stack.enter_context(Bed(contender, cluster).furnished(lent=is_lent))


def _lesser(contender: Contender) -> Minor:
    """The contender's Kubernetes without what it is to do without."""
    minor = MINORS[contender.minor]

    def rest(of: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in of if name not in contender.without)

    return replace(
        minor,
        api_gates=rest(minor.api_gates),
        scheduler_gates=rest(minor.scheduler_gates),
        served=rest(minor.served),
    )


@pytest.fixture
async def stage(bed: Bed) -> AsyncIterator[Stage]:
    """A namespace with nodes of its own."""
    async with staged(bed) as opened:
        yield opened
