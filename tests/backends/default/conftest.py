"""The forms of the API on real control planes; minors beside the default one start once."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import fresh_namespace, running_cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.backends.default.stage import Form, Stage
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker


@pytest.fixture(scope="package")
def whole_cluster(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Cluster]]:
    """A maker of clusters with a scheduler, one per Kubernetes minor."""
    with ExitStack() as stack:
        started: dict[str, Cluster] = {}

        def of_minor(minor: str) -> Cluster:
            if minor == "1.36":
                shared: Cluster = request.getfixturevalue("core_cluster")
                return shared
            if minor not in started:
                options = ClusterOptions(kubernetes=minor, nodes=1, process_node=False)
                cluster = stack.enter_context(running_cluster(options, tmp_path_factory))
                cluster.install_crds(CRDS)
                started[minor] = cluster
            return started[minor]

        yield of_minor


# Starting a cluster runs an event loop of its own, so none of these three may be async.
@pytest.fixture(scope="module")
def form_cluster(form: Form, whole_cluster: Callable[[str], Cluster]) -> Cluster:
    """The cluster that serves the form."""
    return whole_cluster(form.minor)


@pytest.fixture
def form_namespace(form_cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own."""
    with fresh_namespace(form_cluster) as name:
        yield name
    # A backend serves all namespaces: what is left here would be among what the next test counts.
    form_cluster.kubectl("wait", "--for=delete", f"namespace/{name}", "--timeout=90s", check=False)


@pytest.fixture
async def stage(form: Form, form_cluster: Cluster, form_namespace: str) -> AsyncIterator[Stage]:
    """A namespace with nodes of its own on a cluster that serves the form."""
    async with (
        Client(from_kubeconfig(form_cluster.kubeconfig)) as client,
        Onlooker(client, form_namespace).watching() as person,
    ):
        made = Stage(form_cluster, form, person)
        try:
            yield made
        finally:
            await made.clean_up()
