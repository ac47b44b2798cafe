"""A cluster that somebody else runs: named context, ready binaries, or a container."""

from pathlib import Path

import pytest

from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.container import k3s_kubeconfig
from local_cluster.errors import ClusterError
from local_cluster.lifecycle import down, up
from local_cluster.waiting import wait_until
from tests.cluster.manifests import as_list, pod, ready

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


def _run_a_pod(cluster: Cluster) -> None:
    cluster.kubectl("apply", "-f", "-", input=as_list([pod("p", "default")]))
    path = "/api/v1/namespaces/default/pods"
    wait_until(cluster.kubeconfig, path, lambda items: ready(items) == 1)


def test_named_context_gets_nodes_that_go_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = ClusterOptions(nodes=0, process_node=False)
    theirs = up(bare, name="theirs", directory=tmp_path / "theirs", leashed=True)
    try:
        monkeypatch.setenv("KUBECONFIG", str(theirs.kubeconfig))
        options = ClusterOptions(context="local-theirs", nodes=2)
        ours = up(options, name="ours", directory=tmp_path / "ours", leashed=True)
        try:
            _run_a_pod(ours)
        finally:
            down(ours)
        assert theirs.running()
        wait_until(theirs.kubeconfig, "/api/v1/nodes", lambda nodes: not nodes)
    finally:
        down(theirs)


def test_ready_binaries_are_used_instead_of_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = ensure_built(build_of("kubernetes-1.36"))
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
        (assets / name).symlink_to(built / name)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    options = ClusterOptions(nodes=1, process_node=False)
    cluster = up(options, name="ready", directory=tmp_path / "ready", leashed=True)
    try:
        assert cluster.description().programs == str(assets)
        _run_a_pod(cluster)
    finally:
        down(cluster)


def test_container_serves_the_same_fixtures(tmp_path: Path) -> None:
    try:
        with k3s_kubeconfig(tmp_path) as kubeconfig:
            options = ClusterOptions(borrowed=str(kubeconfig), nodes=2, process_node=False)
            cluster = up(options, name="k3s", directory=tmp_path / "k3s", leashed=True)
            try:
                _run_a_pod(cluster)
            finally:
                down(cluster)
    except ClusterError as error:
        if not error.what.startswith("Docker cannot serve"):
            raise
        pytest.skip(str(error))
