"""The client of the supervisor: starts it, sends it commands, checks whether it is running."""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from local_cluster.components import Component
from local_cluster.errors import ClusterError
from local_cluster.supervisor import LOCK, SOCKET, hold_lock

_ANSWER_SECONDS = 30
_LONGEST_SOCKET = 100
"""Unix allows 108 bytes for the path of a socket, macOS 104."""


class Control:
    """Orders to the supervisor of the cluster in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._leash: subprocess.Popen[str] | None = None

    def spawn(self, *, leashed: bool) -> None:
        """Start the supervisor and wait until it listens."""
        length = len(os.fsencode(self._directory / SOCKET))
        if length > _LONGEST_SOCKET:
            raise ClusterError(
                f"the path {self._directory} is too long for a Unix socket ({length} of {_LONGEST_SOCKET} bytes)",
                "Set LOCAL_CLUSTER_HOME to a shorter one",
            )
        command = [sys.executable, "-m", "local_cluster.supervisor", str(self._directory)]
        with (self._directory / "supervisor.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--leashed"] if leashed else command,
                stdin=subprocess.PIPE if leashed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert process.stdout is not None
        with process.stdout as output:
            first = output.readline()
        if "listening" not in first:
            process.wait()
            raise ClusterError(
                f"the supervisor of {self._directory.name} did not start",
                f"See {self._directory / 'supervisor.log'}",
                details=first.strip(),
            )
        self._leash = process

    def alive(self) -> bool:
        """Return whether a supervisor holds the lock of the directory."""
        if not (self._directory / LOCK).exists():
            return False  # opening the lock would create it in a directory that is not ours
        lock = hold_lock(self._directory)
        if lock is None:
            return True
        lock.close()
        return False

    def start(self, component: Component) -> None:
        """Start a component and keep it running."""
        self._order({"do": "start", "component": asdict(component)})

    def stop(self, name: str) -> None:
        """Stop a component until it is resumed."""
        self._order({"do": "stop", "name": name})

    def resume(self, name: str) -> None:
        """Start a stopped component again, as it was."""
        self._order({"do": "resume", "name": name})

    def components(self) -> dict[str, dict[str, Any]]:
        """Return whether each component is running, its process number and its restarts."""
        components: dict[str, dict[str, Any]] = self._order({"do": "status"})["components"]
        return components

    def down(self) -> None:
        """End the supervisor and with it everything; return when it is gone."""
        if self.alive():
            try:
                self._order({"do": "down"})
            except OSError:
                if self._leash is not None:
                    self._leash.send_signal(signal.SIGTERM)
        if self._leash is not None:
            if self._leash.stdin is not None:
                self._leash.stdin.close()
            self._leash.wait()
            self._leash = None
        elif (self._directory / LOCK).exists():
            lock = hold_lock(self._directory, wait=True)
            if lock is not None:
                lock.close()

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(str(self._directory / SOCKET))
            connection.sendall(json.dumps(order).encode() + b"\n")
            with connection.makefile() as answers:
                answer: dict[str, Any] = json.loads(answers.readline() or "{}")
        if error := answer.get("error"):
            raise ClusterError(f"the supervisor refused {order['do']!r}: {error}")
        return answer
