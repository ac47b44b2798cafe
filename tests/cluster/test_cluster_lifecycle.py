"""Clusters start beside each other and leave no process, port or file behind, however they end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.components import API_SERVER
from local_cluster.lifecycle import down, up
from tests.cluster.processes import gone, listening, processes_of

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

_SMALL = ClusterOptions(nodes=1, process_node=False)

_PARENT = """
import sys, pathlib
from local_cluster.cluster import ClusterOptions
from local_cluster.lifecycle import up
directory = pathlib.Path(sys.argv[1])
up(ClusterOptions(nodes=1), name="orphan", directory=directory, leashed=True, say=lambda _: None)
print("up", flush=True)
sys.stdin.read()
"""


def _port(cluster: Cluster) -> int:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    server: str = config["clusters"][0]["cluster"]["server"]
    return int(server.rpartition(":")[2])


def _namespaces(cluster: Cluster) -> set[str]:
    listed = json.loads(cluster.kubectl("get", "namespaces", "-o", "json").stdout)
    return {item["metadata"]["name"] for item in listed["items"]}


def test_two_clusters_run_side_by_side_and_know_nothing_of_each_other(tmp_path: Path) -> None:
    first = up(_SMALL, name="first", directory=tmp_path / "first", leashed=True)
    second = up(_SMALL, name="second", directory=tmp_path / "second", leashed=True)
    try:
        first.kubectl("create", "namespace", "only-in-first")
        assert "only-in-first" in _namespaces(first)
        assert "only-in-first" not in _namespaces(second)
        port = _port(first)
        down(first)
        assert not listening(port)
        assert "default" in _namespaces(second), "ending one must not touch the other"
    finally:
        down(first)
        down(second)
    assert gone(tmp_path)
    assert not (tmp_path / "first").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_parent_that_is_killed_takes_the_cluster_along(tmp_path: Path, number: int) -> None:
    directory = tmp_path / "orphan"
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline().strip() == "up"
        port = _port(Cluster("orphan", directory))
        parent.send_signal(number)
    assert gone(tmp_path)
    assert not listening(port)


def test_killed_supervisor_leaves_no_process_and_the_next_up_works(tmp_path: Path) -> None:
    directory = tmp_path / "again"
    cluster = up(_SMALL, name="again", directory=directory, leashed=True)
    supervisor = next(
        pid
        for pid in processes_of(directory)
        if b"local_cluster.supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    os.kill(supervisor, signal.SIGKILL)
    assert gone(tmp_path)
    # A killed process gives up its lock a moment after its command line; its end is awaited.
    cluster.control.down()
    assert not cluster.running()
    assert directory.exists(), "a hard kill cleans nothing up, or this test shows nothing"
    again = up(_SMALL, name="again", directory=directory, leashed=True)
    try:
        assert "default" in _namespaces(again)
    finally:
        down(again)


def test_killed_component_is_started_again(cluster: Cluster) -> None:
    before = cluster.control.components()[API_SERVER]
    cluster.signal(API_SERVER, signal.SIGKILL)
    cluster.wait_for_api()
    after = cluster.control.components()[API_SERVER]
    assert after["pid"] != before["pid"]
    assert after["restarts"] == before["restarts"] + 1
