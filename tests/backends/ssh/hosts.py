"""Real SSH servers on this machine, each in namespaces of its own, with a link that can be cut.

Each host has its own network, its own host key, and its own directory for units: a file system in
memory that only its processes see.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from local_cluster.container_node.machine import require, why_not
from tests.backends.hosts.links import Link

PROGRAMS = {
    "/usr/sbin/sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "/usr/bin/python3": "python3-minimal",
}
"""Each with the Debian package that has it."""
DIRECTORY = "/var/lib/podgang-test"
_PORT = 2022
_START_SECONDS = 30.0


def missing() -> str:
    """Return why no SSH server can be started here; empty if one can."""
    return why_not(PROGRAMS)


class TestHost:
    """One sshd."""

    __test__ = False
    port = _PORT

    def __init__(self, directory: Path, name: str, number: int) -> None:
        self.name = name
        self.link = Link(name, number)
        self._directory = directory / name
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, authorized: Path, environment: Mapping[str, str] | None = None) -> str:
        """Start the server, and return the line that pins its key."""
        self.link.open()
        self._directory.mkdir()
        key = self._directory / "host_key"
        make_key(key)
        config = self._directory / "sshd_config"
        config.write_text(
            f"Port {_PORT}\nListenAddress {self.link.address}\nHostKey {key}\n"
            f"AuthorizedKeysFile {authorized}\nPidFile none\nUsePAM no\nStrictModes no\n"
            "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            + "".join(f"SetEnv {name}={text}\n" for name, text in (environment or {}).items())
        )
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        Path(DIRECTORY).mkdir(exist_ok=True)
        start = f"mount -t tmpfs tmpfs {DIRECTORY} && exec /usr/sbin/sshd -D -e -f {config}"
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.link.inside, "unshare", "--mount", "--uts", "sh", "-c", start],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait()
        public = key.with_suffix(".pub").read_text().split()
        return f"[{self.link.address}]:{_PORT} {public[0]} {public[1]}\n"

    def _wait(self) -> None:
        until = time.monotonic() + _START_SECONDS
        log = self._directory / "log"
        while "Server listening" not in log.read_text():
            assert self._process is not None
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError(f"no sshd: {log.read_text()[-2000:]}")
            time.sleep(0.05)

    @property
    def root(self) -> Path:
        """The files as the host sees them."""
        assert self._process is not None
        return Path(f"/proc/{self._process.pid}/root")

    def units(self) -> dict[str, str]:
        """The directories of all units with their states, read without the agent."""
        found = self.root.joinpath(DIRECTORY.lstrip("/")).glob("*/*/units/[!.]*")
        return {unit.name: "begun" if (unit / "state").exists() else "reserved" for unit in found}

    def processes(self, text: str) -> list[int]:
        """Processes with this text in their command that run in the network of the host."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.link.namespace], capture_output=True, text=True, check=True
        )
        pids = [int(line) for line in listed.stdout.split()]
        return [pid for pid in pids if text in _command(pid)]

    def close(self) -> None:
        for pid in self.processes(""):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait(20)
        self.link.close()


class Hosts:
    """Several hosts, and the key that may log in; a context manager."""

    def __init__(self, *names: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="sh-", ignore_cleanup_errors=True)
        self.path = Path(self._directory.name)
        self.hosts = {name: TestHost(self.path, name, number) for number, name in enumerate(names)}
        self.key = self.path / "key"
        self.known_hosts = self.path / "known_hosts"

    def __enter__(self) -> "Hosts":
        require(PROGRAMS, print)
        make_key(self.key)
        public = self.key.with_suffix(".pub")
        self.known_hosts.write_text("".join(host.open(public) for host in self.hosts.values()))
        return self

    def __exit__(self, *exc: object) -> None:
        for host in self.hosts.values():
            host.close()
        self._directory.cleanup()

    def __getitem__(self, name: str) -> TestHost:
        return self.hosts[name]

    def units(self) -> dict[str, str]:
        """The units of all hosts."""
        return {
            f"{host.name}/{unit}": state
            for host in self.hosts.values()
            for unit, state in host.units().items()
        }

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """All links are cut until the block ends."""
        with contextlib.ExitStack() as stack:
            for host in self.hosts.values():
                stack.enter_context(host.link.cut())
            yield


def make_key(path: Path) -> None:
    """Make a pair of keys without a passphrase."""
    command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path))
    subprocess.run(command, check=True)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
