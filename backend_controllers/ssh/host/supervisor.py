"""The process that owns one unit, a directory on the host, and holds a file lock as long as it lives.

It waits for `go`, runs the command, restarts it by its policy, and ends it. Three promises are kept by
the host alone, whatever happens to the connection: a unit that is not started in time removes itself;
a unit ends when the lock of its backend is not renewed; nothing of a unit outlives its supervisor,
since the kernel ends its process namespace with it.
"""

import contextlib
import ctypes
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import time
import traceback
from pathlib import Path

from backend_controllers.ssh.host.files import now, read, write
from backend_controllers.ssh.host.limits import Limits

TICK = 0.1
_LAST_GRACE = 10.0
_LONGEST_PAUSE = 300.0
_LOG_BYTES = 16 * 2**20
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNS, _CLONE_NEWPID = 0x20000, 0x20000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnitSupervisor:
    """The process that owns one unit."""

    def __init__(self, unit: Path) -> None:
        self._unit = unit
        self._spec = read(unit / "spec")
        self._limits = Limits(unit.name)
        self._restarts = 0

    def run(self) -> None:
        """Wait for the start, run the command, and remove the unit at its end if that is wanted."""
        expires = now() + self._spec["grantSeconds"]
        while not (self._unit / "go").exists():
            if self._must_end() or now() > expires:
                # `go` is the same file under another name, so only one of both can happen.
                with contextlib.suppress(FileNotFoundError):
                    (self._unit / "waiting").rename(self._unit / "expired")
                    discard(self._unit)
                    return
            time.sleep(TICK)
        while self._run_once() and not self._pause():
            self._restarts += 1
        while not self._must_end():
            time.sleep(TICK)
        discard(self._unit)

    def _run_once(self) -> bool:
        """Run the command, and return whether it has to be run again."""
        begun = self._time()
        try:
            code, message = self._run_command(begun)
        except OSError as error:
            code, message = 128, str(error)
        self._state("Exited", code=code, started=begun, finished=self._time(), message=message)
        policy = self._spec["restart"]
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def _run_command(self, begun: str) -> "tuple[int, str]":
        self._limits.create(self._spec["cpu"], self._spec["memory"])
        with (self._unit / "log").open("ab") as log:
            child = subprocess.Popen(  # noqa: S603 - a list of words, and no shell
                self._command(),
                env={"PATH": _PATH},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # This process has one thread.
                preexec_fn=self._prepare,  # noqa: PLW1509
            )
        self._state("Running", started=begun)
        code = self._wait(child)
        message = "OOMKilled" if code == 137 and self._limits.was_exceeded() else ""
        self._limits.remove()
        return code, message

    def _command(self) -> "list[str]":
        """The command in a process namespace of its own, without any right of root.

        Its environment is set after the rights are gone: LD_PRELOAD of a pod must reach no program
        that runs as root.
        """
        user = pwd.getpwnam(self._spec["user"])
        work = str(self._unit / "work")
        variables = {"HOME": work, "TMPDIR": work, **self._spec["env"]}
        return [
            *("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"),
            *("--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--pdeathsig=KILL", "--"),
            *("env", "-i", f"--chdir={self._spec['directory'] or work}", "--"),
            *(f"{name}={value}" for name, value in variables.items()),
            *self._spec["command"],
        ]

    def _prepare(self) -> None:
        """Enter the limits and a process namespace of its own; `unshare` would lose the exit code.

        One process stays outside and waits; its child is the first process inside, and goes on.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        self._limits.enter()
        _succeeded(libc.unshare(_CLONE_NEWPID | _CLONE_NEWNS))
        if inside := os.fork():
            # The pipe of `Popen` among them, which reports the success by its end.
            os.closerange(3, 4096)
            _, status = os.waitpid(inside, 0)
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
        os.umask(0o022)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _succeeded(libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
        _succeeded(libc.mount(b"proc", b"/proc", b"proc", 0, None))

    def _wait(self, child: "subprocess.Popen[bytes]") -> int:
        killed_at = 0.0
        while (code := child.poll()) is None:
            if self._must_end():
                if not killed_at:
                    self._signal(child, signal.SIGTERM)
                    killed_at = now() + self._grace()
                elif now() > killed_at:
                    child.kill()
            self._bound_log()
            time.sleep(TICK)
        return code if code >= 0 else 128 - code

    def _grace(self) -> float:
        """Seconds until the command is killed; few if the lock expired, since others wait for that."""
        return float(read(self._unit / "end").get("grace", _LAST_GRACE))

    def _signal(self, child: "subprocess.Popen[bytes]", number: int) -> None:
        listed = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text()
        for found in listed.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(found), number)

    def _pause(self) -> bool:
        """Wait before the next run; return whether there is none."""
        until = now() + min(_LONGEST_PAUSE, 0.5 * 2 ** min(self._restarts, 10))
        while now() < until:
            if self._must_end():
                return True
            time.sleep(TICK)
        return False

    def _must_end(self) -> bool:
        """Tell whether the unit is released, or its lock expired."""
        until = read(self._unit.parent.parent / "lock").get("until", 0)
        return (self._unit / "end").exists() or (until is not None and now() > until)

    def _bound_log(self) -> None:
        path = self._unit / "log"
        if path.stat().st_size > _LOG_BYTES:
            # The command appends, so it goes on at the beginning of the emptied file.
            shutil.copyfile(path, self._unit / "log.1")
            os.truncate(path, 0)

    def _state(self, state: str, code: "int | None" = None, **times: str) -> None:
        write(
            self._unit / "state",
            {"state": state, "code": code, "restarts": self._restarts, **times},
        )

    def _time(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _succeeded(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def discard(unit: Path) -> None:
    """Remove a unit; it disappears as a whole."""
    gone = unit.with_name(f".{unit.name}.gone")
    with contextlib.suppress(OSError):
        unit.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    Limits(unit.name).remove()


def is_supervised(unit: Path) -> bool:
    """Tell whether the supervisor of a unit lives; the kernel releases its lock with it."""
    try:
        lock = os.open(unit / "supervisor", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def detached(unit: Path, lock: int) -> None:
    """Run the supervisor of a unit in a process that outlives this one."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        # Logs are for root; the command gets the usual mask again.
        os.umask(0o077)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.closerange(3, lock)
        os.closerange(lock + 1, 4096)
        # It must not be the process that the kernel ends when memory is short; only full root may ask.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("-1000")
        UnitSupervisor(unit).run()
    except BaseException:  # noqa: BLE001 - the process ends here
        # Its output is not read; without this file the unit would disappear without a reason.
        with (unit.parent.parent / "errors").open("a") as errors:
            traceback.print_exc(file=errors)
    finally:
        os._exit(0)
