"""A cluster as an object: its files, kubectl, and ways to disturb it.

Everything of a cluster is in its own directory: keys, kubeconfig, logs, data. A cluster is running
if its supervisor holds the lock; a file could be stale. `local_cluster.lifecycle` starts and stops
clusters.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from local_cluster.api import wait_for_api
from local_cluster.components import CONTROLLER_MANAGER
from local_cluster.control import Control
from local_cluster.errors import ClusterError
from local_cluster.places import clusters_directory
from local_cluster.versions import DEFAULT_MINOR

_DESCRIPTION = "cluster.json"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What a cluster consists of."""

    kubernetes: str = DEFAULT_MINOR
    nodes: int = 8
    """How many workload nodes kwok plays."""
    schedulers: tuple[str, ...] = ()
    """Schedulers to run beside kube-scheduler."""
    gang_scheduling: bool = True
    """Kubernetes' own: its feature gates and API versions."""
    withheld: tuple[str, ...] = ()
    """API versions that the server does not serve, such as `resource.k8s.io/v1` on older clusters."""
    parts: Literal["all", "api"] = "all"
    """`api` leaves out everything but etcd and the API server."""
    process_node: bool = True
    containers: bool = False
    """Run a node with containerd and a kubelet. It needs root."""
    audit: bool = False
    """Log every request (see `Cluster.audit_log`), and run each controller under its own account,
    so that the log distinguishes them."""
    api_port: int = 0
    """0 takes any free port."""
    context: str | None = None
    """Use the cluster of this context of the user's kubeconfig instead of starting one."""
    yes_this_cluster: bool = False
    borrowed: str | None = None
    """Use the cluster of this kubeconfig file, such as a container's."""


@dataclass(slots=True)
class Description:
    """What is stored about a cluster beside its options."""

    name: str
    options: dict[str, Any]
    programs: str
    """The directory with the control plane's programs, kubectl among them."""


class Cluster:
    """One cluster in one directory, running or not."""

    def __init__(self, name: str = "default", directory: Path | None = None) -> None:
        self.name = name
        self.directory = (directory or clusters_directory() / name).absolute()
        self.control = Control(self.directory)

    @property
    def kubeconfig(self) -> Path:
        """Return the admin's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def process_root(self) -> Path:
        """Return the directory of the process node: pod directories and logs."""
        return self.directory / "process-node"

    @property
    def logs(self) -> Path:
        """Return the directory with one log a component."""
        return self.directory / "logs"

    @property
    def audit_log(self) -> Path:
        """Return the log of requests, one JSON object a line, of a cluster that keeps one."""
        return self.logs / "audit.log"

    def describe(self, options: ClusterOptions, programs: Path) -> None:
        """Store what later commands need to know about this cluster."""
        description = Description(self.name, asdict(options), str(programs))
        (self.directory / _DESCRIPTION).write_text(json.dumps(asdict(description), indent=1))

    def description(self) -> Description:
        """Return what is stored about a running cluster."""
        try:
            return Description(**json.loads((self.directory / _DESCRIPTION).read_text()))
        except (OSError, ValueError, TypeError):
            raise ClusterError(
                f"there is no cluster {self.name!r}", "Start one with: python -m local_cluster up"
            ) from None

    def running(self) -> bool:
        """Return whether the cluster's supervisor is running."""
        return self.control.alive()

    def kubectl(
        self, *arguments: str, input: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl against this cluster, whatever the user's own context is."""
        done = subprocess.run(
            [self.kubectl_program(), *arguments],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            input=input,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            failure = subprocess.CalledProcessError(
                done.returncode, done.args, done.stdout, done.stderr
            )
            # Its own message has only the exit code.
            failure.add_note(done.stderr.strip())
            raise failure
        return done

    def kubectl_program(self) -> str:
        """Return the kubectl that was built with (or came with) this control plane."""
        beside = Path(self.description().programs) / "kubectl"
        found = str(beside) if beside.exists() else shutil.which("kubectl")
        if found is None:
            raise ClusterError("there is no kubectl", "Install it, or start a cluster from source")
        return found

    def restart(self, component: str) -> None:
        """Stop a component in an orderly way and start it again."""
        self.control.stop(component)
        self.control.resume(component)

    def install_crds(self, directory: Path) -> None:
        """Install the resource definitions of a directory, and have them garbage-collected.

        The garbage collector looks for new kinds twice a minute. Started again it looks
        first, and deletes nothing before it has seen them all.
        """
        self.kubectl("apply", "--server-side", "-f", str(directory))
        established = ("--for=condition=Established", "--timeout=30s")
        self.kubectl("wait", *established, "-f", str(directory))
        if CONTROLLER_MANAGER in self.control.components():
            self.restart(CONTROLLER_MANAGER)

    def wait_for_api(self, seconds: float = 60) -> None:
        """Return once the API server is ready (again)."""
        asyncio.run(wait_for_api(self.kubeconfig, seconds))

    def signal(self, component: str, number: signal.Signals) -> None:
        """Send a signal to a component; a killed one is started again by the supervisor."""
        os.kill(self.control.components()[component]["pid"], number)

    def log_tail(self, component: str, lines: int = 15) -> str:
        """Return the end of a component's log."""
        file = self.logs / f"{component}.log"
        if not file.exists():
            return ""
        return "\n".join(file.read_text(errors="replace").splitlines()[-lines:])


def all_clusters() -> list[Cluster]:
    """Return every cluster that has a directory, running or not."""
    root = clusters_directory()
    if not root.exists():
        return []
    return [Cluster(entry.name) for entry in sorted(root.iterdir()) if entry.is_dir()]
