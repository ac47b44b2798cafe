"""Two hosts with SSH, and a backend that uses them."""

from collections.abc import Iterator

import pytest

from backend_controllers.ssh.options import SshHost, SshOptions
from tests.backends.ssh.hosts import DIRECTORY, Hosts, missing


@pytest.fixture(scope="package")
def ssh_hosts() -> Iterator[Hosts]:
    """Two hosts."""
    if problem := missing():
        pytest.skip(problem)
    with Hosts("s1", "s2") as hosts:
        yield hosts


@pytest.fixture
def ssh_options(ssh_hosts: Hosts, namespace: str) -> SshOptions:
    """Settings with two hosts of two CPUs each."""
    return options_for(ssh_hosts, namespace)


def options_for(hosts: Hosts, cluster: str) -> SshOptions:
    """Settings with hosts of two CPUs each."""
    return SshOptions(
        hosts=tuple(
            SshHost(
                name=name,
                address=host.link.address,
                port=host.port,
                key_file=str(hosts.key),
                known_hosts_file=str(hosts.known_hosts),
                cpu="2",
                memory="4Gi",
                labels={"rack": name},
            )
            for name, host in hosts.hosts.items()
        ),
        cluster=cluster,
        directory=DIRECTORY,
        commands=("/bin/sh",),
        probe_seconds=3.0,
    )
