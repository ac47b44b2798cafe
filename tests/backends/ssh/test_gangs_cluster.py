"""Gangs of processes on two real hosts over SSH, from a PodCliqueSet to exit codes."""

from typing import Any

import pytest

from backend_controllers.ssh import BACKEND
from backend_controllers.ssh.options import SshOptions
from core_operator.state.caches import GANGS
from local_cluster.cluster import Cluster
from shared_api.kube.resources import PODS
from tests.backends.docker.test_gangs_cluster import running, until_released
from tests.backends.docker.test_logs_cluster import until_log
from tests.backends.kit import backend_settings, running_backend
from tests.backends.ssh.hosts import Hosts
from tests.core.kit import Onlooker, clique, pcs, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


def workers(count: int, script: str, **spec: Any) -> Any:
    """A clique of processes on the hosts."""
    container = {
        "name": "main",
        "image": "host",
        "command": ["/bin/sh", "-c", script],
        "resources": {"requests": {"cpu": "1", "memory": "32Mi"}},
    }
    pod = {
        "schedulerName": "podgang-ssh",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        **spec,
    }
    return clique("worker", count, podSpec=pod)


async def test_gang_runs_on_two_hosts_has_logs_and_leaves_nothing_behind(
    core_cluster: Cluster, person: Onlooker, ssh_hosts: Hosts, ssh_options: SshOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(ssh_options)),
    ):
        await person.create(pcs("w", workers(4, "echo rank of $GROVE_PODGANG_SIZE; sleep 600")))
        await person.until(lambda: running(person) == 4, 60)
        assert {len(host.units()) for host in ssh_hosts.hosts.values()} == {2}
        assert {pod.spec["nodeName"] for pod in person.all(PODS)} == {"ssh"}
        name = person.all(PODS)[0].metadata.name
        assert await until_log(core_cluster, "-n", person.namespace, name) == "rank of 4\n"
        await until_released(core_cluster, person)
    assert ssh_hosts.units() == {}


async def test_training_ends_with_the_exit_codes_of_its_pods(
    core_cluster: Cluster, person: Onlooker, ssh_hosts: Hosts, ssh_options: SshOptions
) -> None:
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(ssh_options)),
    ):
        await person.create(pcs("train", workers(3, "exit 0", restartPolicy="Never")))
        await person.until(
            lambda: [gang.status.get("phase") for gang in person.all(GANGS)] == ["Succeeded"], 90
        )
        await until_released(core_cluster, person)
    assert ssh_hosts.units() == {}
