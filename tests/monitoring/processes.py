"""Core and a backend as processes of their own, each with its election, and their pages."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from local_cluster.cluster import Cluster

T = TypeVar("T")
_ROOT = Path(__file__).parents[2]
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Site:
    """Where the pages are, by job."""

    targets: dict[str, str]

    def page(self, job: str) -> str:
        """The metrics of a process."""
        return _get(f"http://{self.targets[job]}/metrics")


@contextmanager
def running_site(cluster: Cluster, namespace: str, directory: Path) -> Iterator[Site]:
    """Core and the default backend, ready; their Leases are in the namespace."""
    programs = {
        "core-operator": ["core_operator"],
        "backend-default": ["backend_controllers", "--backend", "default"],
    }
    targets = {job: f"127.0.0.1:{free_port()}" for job in programs}
    with ExitStack() as stack:
        for job, module in programs.items():
            host, port = targets[job].split(":")
            settings = {
                "server": {"host": host, "port": int(port)},
                "leaderElection": {"namespace": namespace},
            }
            file = directory / f"{job}.yaml"
            file.write_text(yaml.safe_dump(settings))
            command = [sys.executable, "-m", *module, "--config", str(file)]
            environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
            stack.enter_context(running(command, directory / f"{job}.log", environment))
        site = Site(targets)
        for job in programs:
            # The page that says so is up before the process leads.
            until(lambda job=job: _leads(site, job), f"{job} does not lead")  # type: ignore[misc]
        yield site


@contextmanager
def running(command: list[str], log: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """A program, ended with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=_ROOT, stdout=output, stderr=output, env=dict(environment)
        )
    try:
        yield
    except Exception as error:
        error.add_note(f"{command[:3]} said: {log.read_text(errors='replace')[-2000:]}")
        raise
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(found: Callable[[], T], complaint: str, seconds: float = 60) -> T:
    """What a function finds, once it finds something: metrics are not announced."""
    deadline = time.monotonic() + seconds
    while True:
        if value := found():
            return value
        assert time.monotonic() < deadline, f"{complaint} within {seconds:g} s"
        time.sleep(_POLL_SECONDS)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _leads(site: Site, job: str) -> bool:
    try:
        page = site.page(job)
    except OSError:
        return False
    return any(
        line.startswith("leader_election_master_status{") and line.endswith(" 1.0")
        for line in page.splitlines()
    )


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
    return text
