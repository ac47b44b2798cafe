"""The parent of one container's process: nothing that it started outlives it.

Run as `python -I -S leash.py LOCK COMMAND...` with a pipe as standard input. The process node
holds the other end: when it closes the pipe, or dies in whatever way, the command and all its
descendants get SIGKILL. SIGTERM is passed on to the command's process group, and what is left
of the group may then finish in its own time. A command that ends by itself takes its
descendants with it, as the first process of a container does. The exit code is the command's,
128 + N for signal N. An exclusive lock on LOCK (if not empty) is held meanwhile, so that no
second leash runs the same container while a first one is still cleaning up.

It stands alone: it imports nothing of this project and starts in milliseconds.
"""

import contextlib
import fcntl
import os
import select
import signal
import sys

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CONTROL = 0  # standard input: the pipe from the process node
KILLED = 128 + signal.SIGKILL
HANDLED = (signal.SIGTERM, signal.SIGCHLD)


def main() -> int:
    """Run the command of the argument list to its end and return its exit code."""
    lock, *command = sys.argv[1:]
    wakeups = _listen()
    if lock and not _acquire(lock):
        return KILLED
    if LINUX:
        # Descendants whose own parent died become our children, whatever session they are in.
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
    return _keep(_start(command), wakeups)


def _listen() -> int:
    """Turn the signals into bytes on a pipe, so that one select() sees everything."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in HANDLED:
        signal.signal(number, lambda *_: None)
    return reader


def _acquire(path: str) -> bool:
    """Wait for the lock; False when the pipe closes first."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if select.select([CONTROL], [], [], 0.02)[0]:
            return False


def _start(command: list[str]) -> int:
    # Blocked around the fork: a signal for the child must not be eaten by our own handler.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    child = os.fork()
    if child == 0:
        _become(command, before)
    with contextlib.suppress(PermissionError):
        # The child does the same. The second call has no effect or finds an exec.
        os.setpgid(child, child)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child


def _become(command: list[str], mask: set[int | signal.Signals]) -> None:
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        # exec resets handlers but keeps what is ignored, and Python ignores the last two.
        for number in (*HANDLED, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        if LINUX:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), CONTROL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]!r}: {error.strerror}\n")
        sys.stderr.flush()
    finally:
        os._exit(127)


def _keep(child: int, wakeups: int) -> int:
    code: int | None = None
    dropped = graceful = False
    while True:
        code, more = _reap(child, code)
        if not more:
            return KILLED if code is None else code
        killing = dropped or (code is not None and not graceful)
        if killing:
            _signal_all(child if code is None else None, signal.SIGKILL)
        sources = [wakeups] if dropped else [wakeups, CONTROL]
        # While killing, look again soon: a descendant may just have forked.
        readable = select.select(sources, [], [], 0.05 if killing else None)[0]
        if wakeups in readable and signal.SIGTERM in os.read(wakeups, 256):
            graceful = True
            _signal_all(child if code is None else None, signal.SIGTERM)
        if CONTROL in readable:
            dropped = not os.read(CONTROL, 1)


def _reap(child: int, code: int | None) -> tuple[int | None, bool]:
    """Collect the dead; return the command's exit code, if known, and whether anyone is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code, False
        if pid == 0:
            return code, True
        if pid == child:
            exit_code = os.waitstatus_to_exitcode(status)
            code = exit_code if exit_code >= 0 else 128 - exit_code


def _signal_all(group: int | None, number: signal.Signals) -> None:
    # A group is named by a process that we have not reaped yet, so the number is still its own.
    if group is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    if group is None or number == signal.SIGKILL:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listing:  # noqa: PTH123
            return [int(pid) for pid in listing.read().split()]
    except FileNotFoundError:
        return []


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
