"""`python -m local_cluster logs POD` finds a pod by the start of its name and shows its runs."""

import os
from pathlib import Path

import pytest

from local_cluster.cluster import Cluster
from local_cluster.errors import ClusterError
from local_cluster.process_logs import show_log
from local_cluster.process_node.logs import log_file, previous_log_file


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster("c", tmp_path)


def _printed(cluster: Cluster, namespace: str, pod: str, *, words: str, age: int = 0) -> Path:
    file = log_file(cluster.process_root, namespace, pod, "uid", "main")
    file.parent.mkdir(parents=True)
    file.write_text(words)
    os.utime(file.parent, (10**9 - age, 10**9 - age))
    return file


def test_newest_pod_with_that_start_is_shown(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    _printed(cluster, "a", "core-operator-1", words="old\n", age=60)
    _printed(cluster, "a", "core-operator-2", words="new\n")
    _printed(cluster, "a", "kai", words="other\n")
    assert show_log(cluster, "core", namespace=None) == 0
    assert capsys.readouterr().out == "new\n"


def test_run_before_a_crash_comes_first(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _printed(cluster, "a", "core", words="second run\n")
    previous_log_file(file).write_text("first run\n")
    show_log(cluster, "core", namespace="a")
    assert capsys.readouterr().out == "first run\nsecond run\n"


def test_unknown_pod_is_refused_with_a_next_step(cluster: Cluster) -> None:
    _printed(cluster, "a", "core", words="")
    with pytest.raises(ClusterError, match=r"no pod 'core' has run .* get pods -A"):
        show_log(cluster, "core", namespace="b")
