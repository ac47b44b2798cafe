"""Real Docker and Podman engines on this machine, each in a network namespace of its own.

Each engine has its own socket, data and process IDs in a temporary directory, and no bridge, so it
changes no firewall rule of the machine. Its one image is made from busybox. Programs that are missing
are installed on Debian; `missing` names what prevents that.
"""

import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path

from local_cluster.container_node.machine import require, why_not

IMAGE = "local/tiny:1"
PROGRAMS = {
    "dockerd": "docker.io",
    "docker": "docker.io",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "busybox": "busybox-static",
    "podman": "podman",
    "runc": "runc",
}
"""Each with the Debian package that has it."""
_LINKS = ("sh", "sleep", "echo", "env", "true", "false", "cat")
_START_SECONDS = 30.0


def missing() -> str:
    """Return why no engine can be started here; empty if one can."""
    return why_not(PROGRAMS)


class TestEngine:
    """One dockerd."""

    __test__ = False

    def __init__(self, directory: Path, name: str) -> None:
        self.name = name
        self.socket = directory / f"{name}.sock"
        self._directory = directory / name
        self._namespace = f"pg-{name}-{os.getpid()}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def open(self) -> None:
        """Make the namespace, start the engine and load its image."""
        _run("ip", "netns", "add", self._namespace)
        _run("ip", "-n", self._namespace, "link", "set", "lo", "up")
        self.start()
        self.load_image()

    def load_image(self) -> None:
        """Make the image of the tests from busybox."""
        archive = BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.add(shutil.which("busybox") or "", "bin/busybox")
            for name in _LINKS:
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
        _run(*self._docker, "import", "-c", "ENV PATH=/bin", "-", IMAGE, input=archive.getvalue())

    def start(self) -> None:
        """Start the engine and wait until it answers."""
        self._directory.mkdir(exist_ok=True)
        where = self._directory
        # `ip netns exec` would mount another /sys, in which no cgroup is found.
        inside = ("nsenter", f"--net=/run/netns/{self._namespace}")
        with (where / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*inside, *self.command(where)],
                env={**os.environ, **self.environment(where)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until = time.monotonic() + _START_SECONDS
        while subprocess.run([*self._docker, "info"], capture_output=True, check=False).returncode:
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError(f"no engine: {(where / 'log').read_text()[-2000:]}")
            time.sleep(0.1)

    def command(self, where: Path) -> list[str]:
        """The engine as a foreground program."""
        return [
            *("dockerd", "-H", self.url, "--data-root", f"{where}/data"),
            *("--exec-root", f"{where}/exec", "--pidfile", f"{where}/pid"),
            *("--bridge=none", "--iptables=false", "--live-restore"),
        ]

    def environment(self, where: Path) -> dict[str, str]:
        """What the engine gets beside the environment of the tests."""
        del where
        return {}

    def kill(self) -> None:
        """End the engine without warning; its containers go on."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        # Its containerd is killed with it. Where nobody reaps orphans, the next engine would take the
        # remains of that process for a containerd that runs.
        (self._directory / "exec/containerd/containerd.pid").unlink(missing_ok=True)

    def freeze(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def containers(self) -> dict[str, str]:
        """The states of all containers by name, running or not."""
        listed = _run(*self._docker, "ps", "--all", "--format", "{{.Names}} {{.State}}")
        return dict(line.split(" ", 1) for line in listed.splitlines())

    def docker(self, *arguments: str) -> str:
        """Call the engine's own client."""
        return _run(*self._docker, *arguments)

    def end(self) -> None:
        """Remove all containers, and end the engine."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            if found := _run(*self._docker, "ps", "--all", "--quiet").split():
                _run(*self._docker, "rm", "--force", *found)
            self._process.terminate()
            self._process.wait(20)
        # A mount of the engine would keep its directory.
        left = f"{self._directory}/exec/netns/default"
        subprocess.run(["umount", "--lazy", left], capture_output=True, check=False)

    def close(self) -> None:
        """End the engine, and remove its namespace."""
        self.end()
        subprocess.run(["ip", "netns", "delete", self._namespace], check=False)

    @property
    def _docker(self) -> tuple[str, ...]:
        return ("docker", "-H", self.url)


class PodmanEngine(TestEngine):
    """One `podman system service`, with the engine's API as Docker has it."""

    __test__ = False

    def command(self, where: Path) -> list[str]:
        return [
            *("podman", "--root", f"{where}/data", "--runroot", f"{where}/run"),
            *("--tmpdir", f"{where}/tmp", "system", "service", "--time=0", self.url),
        ]

    def environment(self, where: Path) -> dict[str, str]:
        # crun refuses hybrid cgroups, systemd may be absent, and limits cannot be raised everywhere.
        (where / "containers.conf").write_text(_PODMAN)
        return {"CONTAINERS_CONF": f"{where}/containers.conf"}


_PODMAN = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=30000:30000"]
"""


class Engines:
    """Several engines; a context manager."""

    def __init__(self, *names: str, kind: type[TestEngine] = TestEngine) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="dk-", ignore_cleanup_errors=True)
        self.hosts = {name: kind(Path(self._directory.name), name) for name in names}

    def __enter__(self) -> "Engines":
        require(PROGRAMS, print)
        for host in self.hosts.values():
            host.open()
        return self

    def __exit__(self, *exc: object) -> None:
        for host in self.hosts.values():
            host.close()
        self._directory.cleanup()

    def __getitem__(self, name: str) -> TestEngine:
        return self.hosts[name]

    def clear(self) -> None:
        """Remove what a failed test left, so that no other test fails for it."""
        for host in self.hosts.values():
            if left := host.containers():
                host.docker("rm", "--force", *left)

    def containers(self) -> dict[str, str]:
        """The containers of all engines."""
        return {
            container: state
            for host in self.hosts.values()
            for container, state in host.containers().items()
        }


def _run(*command: str, input: bytes | None = None) -> str:
    done = subprocess.run(command, input=input, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()[-500:]}")
    return done.stdout.decode()
