"""An API server from a container (k3s), for machines with Docker that rather pull than build.

Only an API server with k3s's own controllers comes this way: no gang-scheduling gates, no
simulated nodes. It is what testcontainers offers. If Docker does not work, the error has its
reason.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_cluster.errors import ClusterError

# Pinned: the library's default is a tag that moves.
K3S_IMAGE = "rancher/k3s:v1.36.4-k3s1"


@contextmanager
def k3s_kubeconfig(directory: Path) -> Iterator[Path]:
    """Run k3s in a container for as long as the block lasts; give the admin's kubeconfig."""
    _require_engine()
    from docker.errors import DockerException
    from testcontainers.community.k3s import K3SContainer

    container = None
    try:
        container = K3SContainer(K3S_IMAGE, enable_cgroup_mount=False)
        container.start()
        file = directory / "k3s.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(container.config_yaml())
    except (DockerException, OSError, TimeoutError) as error:
        if container is not None:
            container.stop()
        raise _cannot_serve(str(error)) from error
    try:
        yield file
    finally:
        container.stop()


def _require_engine() -> None:
    """Look for the engine's socket first: without it the client library leaks a connection."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address.removeprefix("unix://"))
        except OSError as error:
            raise _cannot_serve(f"no engine at {address} ({error.strerror})") from error


def _cannot_serve(reason: str) -> ClusterError:
    return ClusterError(
        f"Docker cannot serve an API server: {reason[:200]}",
        "Leave it out; the control plane is built from source instead",
    )
