"""The container node as a part of a cluster: its component, and the images in it."""

import subprocess
import sys
import time
from pathlib import Path

from local_cluster.components import Component
from local_cluster.container_node.archives import write_busybox
from local_cluster.container_node.inside import socket_of
from local_cluster.container_node.machine import path_with_system_programs
from local_cluster.errors import ClusterError

CONTAINER_NODE = "container-node"
_STAND_INS = ("registry.k8s.io/pause:3.10", "docker.io/library/busybox:stable")
"""Images that samples and tests name, and that no registry is asked for here."""
_START_SECONDS = 30.0


def container_node(directory: Path, kubelet: Path, authority: Path, api_port: int) -> Component:
    """Return the component of the node of the cluster in this directory."""
    flags = {
        "node-name": CONTAINER_NODE,
        "root": directory / CONTAINER_NODE,
        "kubelet": kubelet,
        "kubeconfig": directory / "kubeconfig",
        "node-kubeconfig": directory / "node.kubeconfig",
        "authority": authority,
        "api-port": api_port,
    }
    command = (sys.executable, "-m", "local_cluster.container_node")
    return Component(
        CONTAINER_NODE,
        (*command, *(f"--{name}={value}" for name, value in flags.items())),
        {"PATH": path_with_system_programs()},
    )


class Images:
    """The images of one container node."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / CONTAINER_NODE

    def load_stand_ins(self) -> None:
        """Load the image of pods' sandboxes, which also stands in for a few known images."""
        file = self._root / "busybox.tar"
        file.parent.mkdir(exist_ok=True)
        write_busybox(file, *_STAND_INS)
        self._until_serving()
        self.load(file)
        file.unlink()

    def load(self, file: Path) -> None:
        """Load the images of an archive into the node."""
        done = self._ctr("images", "import", str(file))
        if done.returncode != 0:
            raise ClusterError(
                f"{file} cannot be loaded into the container node",
                "It must be an archive of `docker save` or `podman save`",
                details=done.stderr.strip(),
            )

    def tag(self, name: str, other: str) -> None:
        """Give an image another name too. Names without a registry are Docker Hub's, as in pods."""
        full = [f"docker.io/library/{image}" for image in (name, other)]
        self._ctr("images", "tag", "--force", *full)

    def names(self) -> list[str]:
        """Return the names of the node's images."""
        return self._ctr("images", "list", "--quiet").stdout.split()

    def _until_serving(self) -> None:
        ends = time.monotonic() + _START_SECONDS
        while self._ctr("version").returncode != 0:
            if time.monotonic() > ends:
                raise ClusterError("containerd does not answer", "See logs/container-node.log")
            time.sleep(0.1)

    def _ctr(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["ctr", "--address", str(socket_of(self._root)), "--namespace", "k8s.io", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
