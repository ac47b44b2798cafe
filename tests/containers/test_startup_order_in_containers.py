"""Start-up order with real init containers: no clique starts before its predecessors are ready."""

import re
import statistics
import sys

import pytest

from local_cluster.cluster import Cluster
from local_cluster.container_node.product_image import image_name
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

_RUNS = 20
_AT_ONCE = 10
"""Replicas of one set: more containers than that start slowly on two CPUs."""
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
    began: dict[str, dict[str, float]] = {"model": {}, "router": {}}
    for name in (f"order{number}" for number in range(_RUNS // _AT_ONCE)):
        # Each replica of the set has its own order.
        manifest = podcliqueset(
            name, *cliques, replicas=_AT_ONCE, cliqueStartupType=f"CliqueStartupType{order}"
        )
        apply(product, space, manifest)
        until_ready(product, space, name)
        for pod in pods(product, space):
            replica, clique = re.findall(r"(order\d+-\d+)-(\w+)-", pod["metadata"]["name"])[0]
            began[clique][replica] = float(logs(product, space, pod).split()[0])
            waits = {one["name"]: one["image"] for one in pod["spec"].get("initContainers", [])}
            assert waits == ({"grove-initc": image_name()} if clique == "router" else {})
        product.kubectl("delete", "pcs", name, f"-n{space}")
        product.kubectl("wait", "pods", "--all", f"-n{space}", "--for=delete", "--timeout=120s")
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
