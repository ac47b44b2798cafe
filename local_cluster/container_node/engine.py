"""A Docker engine to build images with: the machine's own if it answers, else one that is started here.

An engine that is started here has its socket, data and process namespace for itself, and nothing of it
is left after the block. It has the machine's network, because builds install packages.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from local_cluster.container_node.machine import (
    BUILD_PROGRAMS,
    Say,
    path_with_system_programs,
    require,
)
from local_cluster.errors import ClusterError
from local_cluster.supervisor import die_with_parent

_MACHINES_BRIDGE = Path("/sys/class/net/docker0")
_START_SECONDS = 60.0


class Engine:
    """An engine at one address."""

    def __init__(self, address: str | None) -> None:
        self.environment = dict(os.environ)
        if address is not None:
            self.environment["DOCKER_HOST"] = address

    def answers(self) -> bool:
        """Return whether the engine can be used."""
        return shutil.which("docker") is not None and self.run("info").returncode == 0

    def docker(self, *arguments: str) -> str:
        """Run a command of docker; raise its output if it fails."""
        done = self.run(*arguments)
        if done.returncode != 0:
            raise ClusterError(
                f"docker {arguments[0]} failed", details=done.stdout[-4000:] + done.stderr[-4000:]
            )
        return done.stdout

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of docker, whatever its outcome."""
        return subprocess.run(
            ["docker", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


@contextlib.contextmanager
def engine(say: Say) -> Iterator[Engine]:
    """Yield an engine that answers."""
    machines = Engine(None)
    if machines.answers():
        yield machines
        return
    if _MACHINES_BRIDGE.exists():
        # A second engine without a bridge would delete the first one's.
        raise ClusterError(
            "this machine has a Docker engine that does not answer", "Start it, or set DOCKER_HOST"
        )
    require(BUILD_PROGRAMS, say)
    with tempfile.TemporaryDirectory(prefix="engine-", ignore_cleanup_errors=True) as directory:
        yield from _started(Path(directory))


def _started(directory: Path) -> Iterator[Engine]:
    address = f"unix://{directory}/docker.sock"
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
                *("dockerd", "--host", address, "--bridge=none", "--iptables=false"),
                f"--data-root={directory}/data",
                f"--exec-root={directory}/exec",
                f"--pidfile={directory}/pid",
            ],
            env={**os.environ, "PATH": path_with_system_programs()},
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - there are no threads
        )
    try:
        found = Engine(address)
        ends = time.monotonic() + _START_SECONDS
        while not found.answers():
            if process.poll() is not None or time.monotonic() > ends:
                tail = (directory / "log").read_text(errors="replace")[-3000:]
                raise ClusterError("dockerd did not start", details=tail)
            time.sleep(0.2)
        yield found
    finally:
        process.kill()
        process.wait()
