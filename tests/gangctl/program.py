"""Runs the command line as people do: as a program of its own, with a kubeconfig."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True)
class Done:
    """What a run printed, and its exit code."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Program:
    """`kubectl gang` against one cluster and namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "COLUMNS": "200"}
        self._namespace = namespace

    async def run(self, *words: str, given: str | None = None) -> Done:
        """Run a verb in the namespace of the test."""
        return await asyncio.to_thread(self._run, words, given)

    def _run(self, words: tuple[str, ...], given: str | None) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "gangctl", *words, *self._place(words)],
            env=self._environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a verb that goes on until it is stopped."""
        return subprocess.Popen(
            [sys.executable, "-m", "gangctl", *words, *self._place(words)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    async def completions(self, *words: str) -> list[str]:
        """Ask for completions as kubectl does; the last word is completed."""

        def ask() -> str:
            return subprocess.run(
                [_SCRIPTS / "kubectl_complete-gang", *words],
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            ).stdout

        return [line for line in (await asyncio.to_thread(ask)).splitlines() if line]

    async def on_a_terminal(self, *words: str) -> str:
        """Run a verb on a pseudo-terminal; what it prints there."""

        def run() -> str:
            here, there = pty.openpty()
            with subprocess.Popen(
                [sys.executable, "-m", "gangctl", *words, *self._place(words)],
                env={**self._environment, "TERM": "xterm-256color"},
                stdin=there,
                stdout=there,
                stderr=there,
            ) as process:
                os.close(there)
                found = b""
                # The kernel reports the end of the terminal as an error.
                while True:
                    try:
                        part = os.read(here, 65536)
                    except OSError:
                        break
                    if not part:
                        break
                    found += part
                process.wait(60)
            os.close(here)
            return found.decode()

        return await asyncio.to_thread(run)

    def _place(self, words: tuple[str, ...]) -> tuple[str, ...]:
        has_namespace = words[0] not in ("topology", "backends")
        return ("-n", self._namespace) if has_namespace and "-A" not in words else ()
