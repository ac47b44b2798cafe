"""The other end of a connection: carries out calls, and reports what changes. It keeps no state of its
own, so any number of agents may come and go while units run.
"""

import contextlib
import fcntl
import json
import os
import pwd
import select
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from backend_controllers.ssh.host.files import Json, now, read, write
from backend_controllers.ssh.host.limits import Limits
from backend_controllers.ssh.host.supervisor import TICK, detached, discard, is_supervised

VERSION = 1
_ALIVE_SECONDS = 1.0
_REPORT_SECONDS = 0.3


class HostAgent:
    """The other end of the connection: carries out calls, and reports what changes."""

    def __init__(self, base: Path, account: str) -> None:
        self._base = base
        self._account = account
        """The only account with which commands may run; empty if the caller chooses."""
        self._units = base / "units"
        self._shown: dict[str, Json] = {}
        self._awaited: list[tuple[Any, list[Path], Any]] = []
        """Calls that are not complete: their number, units, and what has to be true of each."""
        self._rest = b""

    def serve(self) -> None:
        """Answer until the connection ends."""
        self._units.mkdir(parents=True, exist_ok=True)
        # Commands reach their own directory below, and cannot list it.
        for path in (self._base, self._units):
            path.chmod(0o711)
        with Path("/proc/meminfo").open() as file:
            memory = int(file.readline().split()[1]) * 1024
        for left in self._units.glob(".*"):
            shutil.rmtree(left, ignore_errors=True)
        problem = self._problem()
        self._send(
            hello={"version": VERSION, "cpus": os.cpu_count(), "memory": memory}, error=problem
        )
        alive = report = 0.0
        while self._receive():
            if self._awaited or now() > report:
                self._report()
                report = now() + _REPORT_SECONDS
            if now() > alive:
                self._send(alive=now())
                alive = now() + _ALIVE_SECONDS

    def _problem(self) -> str:
        """Why no unit can run here as promised; empty if it can."""
        missing = [name for name in ("setpriv", "env") if not shutil.which(name)]
        if os.geteuid() != 0 or missing:
            return f"{', '.join(missing)} not found" if missing else "the agent needs root's rights"
        limits = Limits("probe")
        try:
            limits.create(1000, 2**30)
        except OSError as error:
            return f"limits cannot be enforced: {error}"
        limits.remove()
        return ""

    def _receive(self) -> bool:
        readable, _, _ = select.select([0], [], [], TICK)
        if readable:
            piece = os.read(0, 2**20)
            if not piece:
                return False
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                self._call(json.loads(line))
        return True

    def _call(self, call: Json) -> None:
        number, kind = call.get("id"), call.get("call")
        units = [self._units / Path(str(name)).name for name in call.get("units", ())]
        try:
            if kind == "create":
                write(self._base / "lock", {"until": call["until"]})
                for spec in call["specs"]:
                    self._create(spec)
            elif kind == "renew":
                write(self._base / "lock", {"until": call["until"]})
            elif kind == "start":
                for unit in units:
                    if not (unit / "go").exists():
                        (unit / "waiting").rename(unit / "go")
            elif kind == "remove":
                for unit in filter(Path.is_dir, units):
                    with contextlib.suppress(FileNotFoundError):
                        write(unit / "end", {"grace": call["grace"]})
            awaited = {"start": _has_begun, "remove": _is_gone}.get(str(kind), _is_done)
            self._awaited.append((number, units, awaited))
            self._report()
        except (OSError, KeyError, TypeError, ValueError) as error:
            self._send(id=number, error=f"{type(error).__name__}: {error}")

    def _create(self, spec: Json) -> None:
        """Reserve a unit: its directory appears as a whole, and has a supervisor from then on."""
        unit = self._units / Path(spec["name"]).name
        user = pwd.getpwnam(spec["user"])
        if user.pw_uid == 0 or self._account not in ("", user.pw_name):
            raise ValueError(f"commands may not run as {user.pw_name} here")
        if unit.exists():
            return
        new = self._units / f".{unit.name}"
        shutil.rmtree(new, ignore_errors=True)
        (new / "work").mkdir(parents=True)
        new.chmod(0o711)
        os.chown(new / "work", user.pw_uid, user.pw_gid)
        write(new / "spec", spec)
        (new / "spec").chmod(0o600)
        (new / "waiting").touch()
        lock = os.open(new / "supervisor", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        new.rename(unit)
        detached(unit, lock)
        os.close(lock)

    def _report(self) -> None:
        """Send what changed, and answer calls that are complete."""
        found: dict[str, Json] = {}
        for path in self._units.iterdir():
            if path.name.startswith("."):
                continue
            if not is_supervised(path):
                # Its supervisor was killed, or the host was restarted: nothing of it runs.
                discard(path)
            elif spec := read(path / "spec"):
                found[path.name] = {
                    "name": path.name,
                    "tag": spec.get("tag"),
                    **read(path / "state"),
                }
        for name in set(self._shown) - set(found):
            self._send(gone=name)
        for name, shown in found.items():
            if self._shown.get(name) != shown:
                self._send(unit=shown)
        self._shown = found
        for call in list(self._awaited):
            number, units, is_complete = call
            if all(map(is_complete, units)):
                self._awaited.remove(call)
                self._send(id=number)

    def _send(self, **message: Any) -> None:
        os.write(1, json.dumps(message).encode() + b"\n")


def _has_begun(unit: Path) -> bool:
    return (unit / "state").exists() or not unit.exists()


def _is_gone(unit: Path) -> bool:
    return not unit.exists()


def _is_done(unit: Path) -> bool:
    del unit
    return True


def logs(unit: Path, tail: "int | None", *, follow: bool) -> None:
    """Write the log of a unit, and what is added as long as it runs."""
    output, path = sys.stdout.buffer, unit / "log"
    older, newer = (
        found.read_bytes() if found.exists() else b"" for found in (unit / "log.1", path)
    )
    lines = (older + newer).splitlines(keepends=True)
    output.write(b"".join(lines if tail is None else lines[len(lines) - min(tail, len(lines)) :]))
    output.flush()
    place = len(newer)
    while follow:
        # Asked before the file is read: what is written at the end must not be missed.
        follow = unit.exists() and read(unit / "state").get("state") in (None, "Running")
        time.sleep(TICK)
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            if path.stat().st_size < place:
                place = 0
            file.seek(place)
            piece = file.read()
            place += len(piece)
            output.write(piece)
            output.flush()


def main() -> None:
    """Read the first line, which has the request, and carry it out.

    An agent that is installed gets the account and the directory as arguments, so that the holder of a
    key that may only start it cannot choose others.
    """
    first = b""
    while not first.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            return
        first += piece
    wanted = json.loads(first)
    account, directory = sys.argv[1:3] if len(sys.argv) > 2 else ("", wanted["directory"])
    base = Path(directory) / Path(wanted["cluster"]).name / Path(wanted["backend"]).name
    if wanted["call"] == "logs":
        unit = base / "units" / Path(wanted["unit"]).name
        logs(unit, wanted["tail"], follow=wanted["follow"])
    else:
        HostAgent(base, account).serve()


if __name__ == "__main__":
    main()
