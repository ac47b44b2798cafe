"""Start-up order with real init containers: no clique starts before its predecessors are ready."""

import re
import statistics
import sys

import pytest

from local_cluster.cluster import Cluster
from tests.containers.kit import (
    Object,
    apply,
    container,
    logs,
    podclique,
    podcliqueset,
    pods,
    until_ready,
)

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(900)]

_RUNS = 10
_SLOWEST_SECONDS = 30.0
"""On a busy machine; the median is printed."""
# The machine's clock in hundredths of a second, when the container started.
_TELL = "cat /proc/uptime; trap 'exit 0' TERM; sleep infinity & wait"


def _first() -> Object:
    """A container that is ready a while after its start, and tells when."""
    script = f"sleep 1; cat /proc/uptime > /tmp/ready; cat /tmp/ready; {_TELL}"
    return container(
        *("sh", "-c", script),
        readinessProbe={"exec": {"command": ["cat", "/tmp/ready"]}, "periodSeconds": 1},
        volumeMounts=[{"name": "scratch", "mountPath": "/tmp"}],
    )


@pytest.mark.parametrize("order", ["InOrder", "Explicit"])
def test_a_clique_starts_only_after_its_predecessor_is_ready(
    product: Cluster, space: str, order: str, capsys: pytest.CaptureFixture[str]
) -> None:
    after = {"startsAfter": ["model"]} if order == "Explicit" else {}
    cliques = (
        podclique("model", 1, _first()),
        podclique("router", 1, container("sh", "-c", _TELL), **after),
    )
    # Each replica of the set has its own order.
    manifest = podcliqueset(
        "order", *cliques, replicas=_RUNS, cliqueStartupType=f"CliqueStartupType{order}"
    )
    apply(product, space, manifest)
    until_ready(product, space, "order")
    began: dict[str, dict[str, float]] = {"model": {}, "router": {}}
    for pod in pods(product, space):
        replica, clique = re.findall(r"order-(\d+)-(\w+)-", pod["metadata"]["name"])[0]
        began[clique][replica] = float(logs(product, space, pod).split()[0])
        waits = [one["name"] for one in pod["spec"].get("initContainers", [])]
        assert waits == (["grove-initc"] if clique == "router" else [])
    assert began["model"].keys() == began["router"].keys()
    delays = [began["router"][replica] - at for replica, at in began["model"].items()]
    assert len(delays) == _RUNS
    assert min(delays) > 0, "a router started before its model was ready"
    assert max(delays) < _SLOWEST_SECONDS, delays
    with capsys.disabled():
        median, slowest = statistics.median(delays), max(delays)
        sys.stdout.write(
            f"\n{order}: started {median:.2f} s (median, slowest {slowest:.2f}) after it might\n"
        )
