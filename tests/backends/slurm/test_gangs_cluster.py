"""Gangs as jobs of a real Slurm, from a PodCliqueSet to exit codes."""

import asyncio
from typing import Any

import pytest

from backend_controllers.slurm import BACKEND
from backend_controllers.slurm.mapping import QUEUE_LABEL
from backend_controllers.slurm.options import SlurmOptions
from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.resources import PODS
from tests.backends.docker.test_logs_cluster import until_log
from tests.backends.kit import backend_settings, running_backend
from tests.backends.slurm.lab import SlurmLab
from tests.core.kit import Onlooker, clique, condition, pcs, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


def pods(name: str, count: int, command: str, queue: str, gpus: int = 0, **spec: Any) -> Any:
    """A clique of pods that run a shell script on nodes of a queue."""
    requests = {"cpu": "1", "memory": "100Mi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    container = {
        "name": "main",
        "image": "host",
        "command": ["sh", "-c", command],
        "resources": {"requests": requests, "limits": requests},
    }
    pod = {"schedulerName": "podgang-slurm", "containers": [container], **spec}
    return {**clique(name, count, podSpec=pod), "labels": {QUEUE_LABEL: queue}}


def phases(person: Onlooker) -> list[str]:
    return sorted(str(pod.status.get("phase")) for pod in person.all(PODS))


async def until_released(cluster: Cluster, person: Onlooker) -> None:
    """Delete all sets; a RemoteGang goes only when nothing of it is left."""
    await person.start_over()
    gone = ("wait", "--for=delete", "remotegangs", "--all", "--timeout=60s")
    await asyncio.to_thread(cluster.kubectl, *gone, "-n", person.namespace)


async def test_gang_of_unlike_pods_runs_and_leaves_nothing_behind(
    core_cluster: Cluster, person: Onlooker, slurm: SlurmLab, slurm_options: SlurmOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(slurm_options)),
    ):
        leader, workers = (
            pods("leader", 1, "sleep 600", "cpu"),
            pods("worker", 3, "sleep 600", "gpu", 4),
        )
        await person.create(pcs("w", leader, workers))
        await person.until(lambda: phases(person) == ["Running"] * 4, 90)
        assert {pod.spec["nodeName"] for pod in person.all(PODS)} == {"slurm"}
        assert len(slurm.jobs()) == 2
        await until_released(core_cluster, person)
    assert slurm.jobs() == {}


async def test_training_ends_with_the_exit_codes_of_its_pods(
    core_cluster: Cluster, person: Onlooker, slurm: SlurmLab, slurm_options: SlurmOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(slurm_options)),
    ):
        await person.create(
            pcs("train", pods("worker", 3, "exit 0", "gpu", 1, restartPolicy="Never"))
        )
        await person.until(lambda: phases(person) == ["Succeeded"] * 3, 90)
        await person.until(
            lambda: [gang.status.get("phase") for gang in person.all(GANGS)] == ["Succeeded"], 60
        )
        await person.until(
            lambda: condition(person.one(SETS, "train"), "Ready").get("reason") == "Completed", 60
        )
        ended = [pod.status["containerStatuses"][0]["state"] for pod in person.all(PODS)]
        assert [state["terminated"]["exitCode"] for state in ended] == [0] * 3
        await until_released(core_cluster, person)
    assert slurm.jobs() == {}


async def test_kubectl_reads_the_log_of_a_pod(
    core_cluster: Cluster, person: Onlooker, slurm_options: SlurmOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(slurm_options)),
    ):
        script = "echo first of $GROVE_PODGANG_SIZE; sleep 600"
        await person.create(pcs("w", pods("worker", 1, script, "gpu")))
        await person.until(lambda: phases(person) == ["Running"], 90)
        (pod,) = person.all(PODS)
        found = await until_log(core_cluster, "-n", person.namespace, pod.metadata.name)
        assert found == "first of 1\n"
        await until_released(core_cluster, person)


async def test_job_that_is_lost_is_reported_by_its_pods_and_runs_again(
    core_cluster: Cluster, person: Onlooker, slurm: SlurmLab, slurm_options: SlurmOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(slurm_options)),
    ):
        await person.create(pcs("w", pods("worker", 2, "sleep 600", "gpu")))
        await person.until(lambda: phases(person) == ["Running"] * 2, 90)
        (job,) = slurm.jobs()
        slurm.client("scancel", job)
        events = [
            await person.until_event(pod.metadata.name, "RemotePodLost") for pod in person.pods
        ]
        assert all(f"Slurm job {job} ended as CANCELLED" in text for text in events)
        await person.until(lambda: phases(person) == ["Running"] * 2, 90)
        assert list(slurm.jobs()) != [job]
        await until_released(core_cluster, person)
