"""A real Slurm on this machine: controller, six nodes, REST server and munge, all on loopback.

Everything has its own ports and sockets and lives in a temporary directory; nothing in /etc is read or
written. Nodes have more CPUs than the machine and GPUs that are only device files. Programs that are
missing are installed on Debian; `missing` names what prevents that. The newer Slurm is that of the
next Debian, in a directory of its own.
"""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from local_cluster.container_node.machine import path_with_system_programs, require, why_not
from tests.backends.slurm.chroot import debian, inside, no_chroot

OLD, NEW = "22.05", "24.11"
"""The versions of Slurm: that of Debian 12, and that of Debian 13."""
_REST_PLUGINS = {OLD: "openapi/v0.0.38", NEW: "openapi/slurmctld"}
PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmrestd": "slurmrestd",
    "squeue": "slurm-client",
    "munged": "munge",
    "/usr/lib/x86_64-linux-gnu/slurm-wlm/auth_jwt.so": "slurm-wlm-jwt-plugin",
    "/usr/lib/x86_64-linux-gnu/slurm-wlm/select_cons_tres.so": "slurm-wlm-basic-plugins",
}
"""Each with the Debian package that has it."""
_NOTHING: Mapping[str, str] = {}
NODES = ("n1", "n2", "n3", "n4", "n5", "n6")
_START_SECONDS = 30.0

CONFIGURATION = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={run}/munge.sock
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={secret}/jwt.key
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool/%n
SlurmctldPidFile={run}/slurmctld.pid
SlurmdPidFile={run}/slurmd.%n.pid
SlurmctldLogFile={top}/log/slurmctld.log
SlurmdLogFile={top}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
MinJobAge=300
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
KillWait=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1,sched_min_interval=1
TopologyPlugin=topology/tree
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=16000 \
Gres=gpu:a100:4 Features=rack-a
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=16000 \
Gres=gpu:a100:4 Features=rack-a
NodeName=n3 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[3]} CPUs=8 RealMemory=16000 \
Gres=gpu:a100:4 Features=rack-b
NodeName=n4 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[4]} CPUs=8 RealMemory=16000 \
Features=rack-b,cpuonly
NodeName=n5 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[5]} CPUs=2 RealMemory=500
NodeName=n6 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[6]} CPUs=2 RealMemory=500
PartitionName=gpu Nodes=n1,n2,n3 MaxTime=INFINITE State=UP
PartitionName=cpu Nodes=n4 MaxTime=INFINITE State=UP
PartitionName=large Nodes=n1,n2,n3,n4 MaxTime=INFINITE State=UP
PartitionName=urgent Nodes=n1,n2,n3,n4 MaxTime=INFINITE State=UP PriorityTier=10
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_TOPOLOGY = """\
SwitchName=rack-a Nodes=n1,n2
SwitchName=rack-b Nodes=n3,n4,n5,n6
SwitchName=spine Switches=rack-a,rack-b
"""


def missing(version: str = OLD) -> str:
    """Return why no Slurm can be started here; empty if one can."""
    return why_not(PROGRAMS) if version == OLD else no_chroot()


class SlurmLab:
    """One Slurm; a context manager."""

    programs: ClassVar[dict[str, str]] = PROGRAMS
    rest_plugins: ClassVar[dict[str, str]] = _REST_PLUGINS
    configuration_text: ClassVar[str] = CONFIGURATION

    def __init__(self, version: str = OLD) -> None:
        self.version = version
        self._root: Path | None = None
        self._temporary = tempfile.TemporaryDirectory(
            prefix="slurm-", dir="/var/tmp", ignore_cleanup_errors=True
        )
        self.top = Path(self._temporary.name)
        self.run, self.secret = self.top / "run", self.top / "secret"
        self.logs = self.top / "tasks"
        """What a shared file system is at a real site."""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports = free_ports(8)

    def __enter__(self) -> "SlurmLab":
        if self.version == OLD:
            require(self.programs, print)
        else:
            self._root = debian()
        try:
            self._prepare()
            self._start_munge()
            self.prepare_controller()
            self.start("slurmctld")
            for node in NODES:
                self.start(node)
            self.start("slurmrestd")
            self.until("all nodes are idle", self._nodes_are_idle)
            self.until("the REST server answers", self._rest_answers)
            token = self.client("scontrol", "token", "lifespan=86400").partition("=")[2]
            self.token_file.write_text(token)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(RuntimeError):
            self.cancel_all()
        for name in reversed(list(self._processes)):
            self.thaw(name)
            process = self._processes[name]
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._temporary.cleanup()

    @property
    def url(self) -> str:
        """Address of the REST server."""
        return f"http://127.0.0.1:{self._ports[7]}"

    @property
    def key_file(self) -> Path:
        """Key with which tokens are signed."""
        return self.secret / "jwt.key"

    @property
    def token_file(self) -> Path:
        """A token of root that lasts longer than the tests."""
        return self.secret / "token"

    @property
    def configuration(self) -> Path:
        """The file that clients need."""
        return self.top / "slurm.conf"

    def start(self, name: str) -> None:
        """Start the controller, the REST server or a node."""
        configuration = str(self.configuration)
        match name:
            case "slurmctld":
                command = ["slurmctld", "-D", "-f", configuration]
            case "slurmrestd":
                command = [
                    # The REST server refuses to run as root.
                    *("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups"),
                    *("slurmrestd", "-f", configuration, "-a", "rest_auth/jwt"),
                    *("-s", self.rest_plugins[self.version], f"127.0.0.1:{self._ports[7]}"),
                ]
            case node:
                (self.top / "spool" / node).mkdir(parents=True, exist_ok=True)
                command = ["slurmd", "-D", "-f", configuration, "-N", node]
        self.spawn(name, command, {"SLURM_JWT": "daemon"} if name == "slurmrestd" else {})

    def spawn(self, name: str, command: Sequence[str], more: Mapping[str, str] = _NOTHING) -> None:
        """Start a program of Slurm, which ends with this Slurm."""
        self.spawn_here(name, self._placed(command), more)

    def spawn_here(
        self, name: str, command: Sequence[str], more: Mapping[str, str] = _NOTHING
    ) -> None:
        """Start a program of this machine, which ends with this Slurm."""
        with (self.top / "log" / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment(more),
                start_new_session=True,
            )

    def prepare_controller(self) -> None:
        """Start what the controller needs."""

    def kill(self, name: str) -> None:
        """End a process without warning; what it started goes on."""
        self._processes[name].kill()
        self._processes[name].wait()

    def revive(self, node: str) -> None:
        """Start a node again, and wait until it takes jobs."""
        self.start(node)
        self.until(f"{node} is idle", self._nodes_are_idle)

    def freeze(self, name: str) -> None:
        os.kill(self._processes[name].pid, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._processes[name].pid, signal.SIGCONT)

    def client(self, *command: str) -> str:
        """Call one of Slurm's own clients."""
        done = subprocess.run(
            self._placed(command),
            env=self._environment({}),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr[-500:]}")
        return done.stdout

    def jobs(self) -> dict[str, str]:
        """The states of jobs that have not ended, by ID."""
        listed = self.client("squeue", "--noheader", "--format", "%i %T")
        return dict(line.split(" ", 1) for line in listed.splitlines())

    def cancel_all(self) -> None:
        """Cancel all jobs, and wait until they are gone."""
        self.client("scancel", "--user=root", "--full")
        self.until("no job is left", lambda: not self.jobs())

    def _prepare(self) -> None:
        self.top.chmod(0o755)
        for directory in (self.run, self.top / "state", self.top / "log", self.top / "gpu"):
            directory.mkdir(parents=True)
        self.logs.mkdir()
        self.secret.mkdir(mode=0o700)
        for name, size in (("munge.key", 1024), ("jwt.key", 32)):
            (self.secret / name).write_bytes(os.urandom(size))
            (self.secret / name).chmod(0o400)
        for number in range(4):
            os.mknod(self.top / "gpu" / f"g{number}", 0o020666, os.makedev(1, 3))
        values = {
            "host": socket.gethostname().split(".", 1)[0],
            "ports": self._ports,
            "top": self.top,
            "run": self.run,
            "secret": self.secret,
        }
        self.configuration.write_text(self.configuration_text.format(**values))
        (self.top / "topology.conf").write_text(_TOPOLOGY)
        (self.top / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        gpus = f"NodeName=n1,n2,n3 Name=gpu Type=a100 File={self.top}/gpu/g[0-3]\n"
        (self.top / "gres.conf").write_text(gpus)

    def _start_munge(self) -> None:
        command = [
            *("munged", "--foreground", f"--key-file={self.secret}/munge.key"),
            *(f"--socket={self.run}/munge.sock", f"--pid-file={self.run}/munged.pid"),
            *(f"--log-file={self.secret}/munged.log", f"--seed-file={self.secret}/seed"),
        ]
        self.spawn("munged", command)
        self.until("munged listens", (self.run / "munge.sock").exists)

    def _placed(self, command: Sequence[str]) -> list[str]:
        return list(command) if self._root is None else inside(self._root, command)

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        own = {"PATH": path_with_system_programs(), "SLURM_CONF": str(self.configuration)}
        return {**os.environ, **own, **more}

    def _nodes_are_idle(self) -> bool:
        try:
            listed = self.client("sinfo", "-h", "-N", "-p", "all", "-t", "idle", "-o", "%N")
        except RuntimeError:
            return False
        return set(listed.split()) == set(NODES)

    def _rest_answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._ports[7])) == 0

    def until(self, what: str, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        until = time.monotonic() + _START_SECONDS
        while not holds():
            if time.monotonic() > until:
                texts = [path.read_text()[-500:] for path in (self.top / "log").iterdir()]
                raise RuntimeError(f"not in {_START_SECONDS:g} s: {what}: {texts}")
            time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
