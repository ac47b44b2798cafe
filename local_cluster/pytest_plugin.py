"""Clusters as pytest fixtures. Tests that can share a cluster do: fixtures live for the session.

The clusters are leashed, so a killed test run leaves nothing behind. Two variables make
`cluster` take its API server from elsewhere: `CLUSTER_CONTEXT=NAME` from that context of the
user's kubeconfig, `CLUSTER_SOURCE=k3s` from a container.
"""

import fcntl
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.container import k3s_kubeconfig
from local_cluster.lifecycle import down, up
from local_cluster.places import builds_directory
from local_cluster.schedulers import extra_scheduler
from local_cluster.versions import DEFAULT_MINOR

ControlPlane = Callable[[str], Cluster]


@contextmanager
def running_cluster(
    options: ClusterOptions, directory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster for as long as the block lasts."""
    name = f"test-{uuid.uuid4().hex[:6]}"
    cluster = up(options, name=name, directory=directory.getbasetemp() / name, leashed=True)
    try:
        yield cluster
    finally:
        down(cluster)


_RUNNING: set[str] = set()
"""Schedulers of which there can be only one, and which this run of pytest has."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The default cluster: Kubernetes 1.36, 8 simulated nodes, the process node."""
    with ExitStack() as stack:
        borrowed = None
        if os.environ.get("CLUSTER_SOURCE") == "k3s":
            file = stack.enter_context(k3s_kubeconfig(tmp_path_factory.mktemp("k3s")))
            borrowed = str(file)
        options = ClusterOptions(
            context=os.environ.get("CLUSTER_CONTEXT"),
            yes_this_cluster=bool(os.environ.get("YES_THIS_CLUSTER")),
            borrowed=borrowed,
        )
        yield stack.enter_context(running_cluster(options, tmp_path_factory))


@pytest.fixture(scope="session")
def kai_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with KAI's scheduler and binder beside kube-scheduler."""
    options = ClusterOptions(schedulers=("kai",), process_node=False)
    with running_cluster(options, tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="session")
def koordinator_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with Koordinator's scheduler beside kube-scheduler."""
    options = ClusterOptions(schedulers=("koordinator",), process_node=False)
    with running_cluster(options, tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="session")
def volcano_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with Volcano's scheduler beside kube-scheduler."""
    options = ClusterOptions(schedulers=("volcano",), process_node=False)
    with running_cluster(options, tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="session")
def yunikorn_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with YuniKorn beside kube-scheduler; only one test run at a time has it."""
    options = ClusterOptions(schedulers=("yunikorn",), process_node=False)
    with alone("yunikorn"), running_cluster(options, tmp_path_factory) as running:
        yield running


@contextmanager
def alone(scheduler: str) -> Iterator[None]:
    """Wait for other test runs with a scheduler, if there can be only one of it."""
    if not extra_scheduler(scheduler).fixed_ports:
        yield
        return
    if scheduler in _RUNNING:
        # Waiting for ourselves would never end.
        pytest.fail(f"{scheduler} is in use by other tests of this run: run these on their own")
    builds_directory().mkdir(parents=True, exist_ok=True)
    with (builds_directory() / f"{scheduler}-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _RUNNING.add(scheduler)
        try:
            yield
        finally:
            _RUNNING.discard(scheduler)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A maker of bare API servers (etcd and kube-apiserver only), one per Kubernetes minor."""
    with ExitStack() as stack:
        started: dict[str, Cluster] = {}

        def of_minor(minor: str = DEFAULT_MINOR) -> Cluster:
            if minor not in started:
                options = ClusterOptions(kubernetes=minor, parts="api")
                started[minor] = stack.enter_context(running_cluster(options, tmp_path_factory))
            return started[minor]

        yield of_minor


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own."""
    with fresh_namespace(cluster) as name:
        yield name


@contextmanager
def fresh_namespace(cluster: Cluster) -> Iterator[str]:
    """Make a namespace that pods can be created in, and have it removed afterwards."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    account = ("serviceaccount/default", "--namespace", name)
    cluster.kubectl("wait", "--for=create", *account, "--timeout=20s")
    try:
        yield name
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false", check=False)
