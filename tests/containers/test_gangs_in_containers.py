"""Gangs of real processes: they find each other, compute together, and fail visibly."""

import json

import pytest

from local_cluster.cluster import Cluster
from tests.containers.kit import (
    ROOT,
    apply,
    container,
    logs,
    podclique,
    podcliqueset,
    pods,
    python,
    until_message,
    until_ready,
)

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(900)]

_SAMPLE = ROOT / "docs" / "samples" / "containers" / "all-reduce.yaml"
_RANKS = 4


def test_four_processes_of_a_gang_compute_an_all_reduce_over_their_addresses(
    product: Cluster, space: str
) -> None:
    product.kubectl("apply", f"-n{space}", "-f", str(_SAMPLE))
    until_ready(product, space, "all-reduce", condition="Completed")
    results = [json.loads(logs(product, space, pod)) for pod in pods(product, space)]
    assert sorted(result["rank"] for result in results) == list(range(_RANKS))
    expected = [sum(rank * 10.0 + column for rank in range(_RANKS)) for column in range(8)]
    assert all(result["total"] == expected for result in results)
    found = pods(product, space)
    assert {pod["status"]["phase"] for pod in found} == {"Succeeded"}
    assert {result["peer"] for result in results} == {pod["status"]["podIP"] for pod in found}


def test_exec_and_logs_reach_the_container_of_a_gang(product: Cluster, space: str) -> None:
    main = container("sh", "-c", "echo started; trap 'exit 0' TERM; sleep infinity & wait")
    apply(product, space, podcliqueset("talk", podclique("one", 1, main)))
    until_ready(product, space, "talk")
    (pod,) = pods(product, space)
    assert logs(product, space, pod) == "started\n"
    name = pod["metadata"]["name"]
    done = product.kubectl("exec", f"-n{space}", name, "--", "sh", "-c", "echo $GROVE_PCS_NAME")
    assert done.stdout == "talk\n"


def test_a_crash_loop_is_named_in_the_sets_condition(product: Cluster, space: str) -> None:
    main = container("sh", "-c", "echo no model found; exit 3")
    apply(product, space, podcliqueset("crash", podclique("worker", 1, main)))
    words = ("0/1 pods ready; 1 in CrashLoopBackOff: container main", "exit code 3")
    until_message(product, space, "crash", *words)
    (pod,) = pods(product, space)
    assert logs(product, space, pod) == "no model found\n"


def test_an_image_that_cannot_be_pulled_is_named_in_the_sets_condition(
    product: Cluster, space: str
) -> None:
    main = container("true", image="registry.invalid/model-server:1")
    apply(product, space, podcliqueset("pull", podclique("worker", 1, main)))
    words = ("0/1 pods ready; 1 in ImagePullBackOff", "image registry.invalid/model-server:1")
    until_message(product, space, "pull", *words)


def test_a_container_that_exceeds_its_memory_is_named_in_the_sets_condition(
    product: Cluster, space: str
) -> None:
    hungry = "x = bytearray(200 * 2**20)"
    main = python(hungry, resources={"limits": {"memory": "48Mi"}})
    apply(product, space, podcliqueset("hungry", podclique("worker", 1, main)))
    words = ("0/1 pods ready; 1 in CrashLoopBackOff", "exit code 137 (OOMKilled)")
    until_message(product, space, "hungry", *words)
    (pod,) = pods(product, space)
    (status,) = pod["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["reason"] == "OOMKilled"


def test_a_pod_that_the_namespace_refuses_is_named_in_the_sets_condition(
    product: Cluster, space: str
) -> None:
    lax = container("true", securityContext={"allowPrivilegeEscalation": True})
    apply(product, space, podcliqueset("lax", podclique("worker", 1, lax)))
    message = until_message(product, space, "lax", 'violates PodSecurity "restricted:latest"')
    assert "allowPrivilegeEscalation" in message
    assert pods(product, space) == []
