"""Output of the demo: titles, kubectl commands with their output, and waits without polling.

A failure becomes a ClusterError that names the step. There is no event loop: with one, Ctrl-C would
arrive only after the interrupted kubectl had failed.
"""

import shlex
import time
from collections.abc import Callable
from pathlib import Path

from local_cluster.api import Object
from local_cluster.cluster import Cluster
from local_cluster.errors import ClusterError
from local_cluster.waiting import Condition, wait_until

# A scene takes one or two seconds, and longer on a busy machine.
_TIMEOUT = 120.0


class Narrator:
    """Prints the demo of one cluster, with the files of the repository."""

    def __init__(self, cluster: Cluster, root: Path) -> None:
        self.root = root
        self.directory = cluster.directory
        self._cluster = cluster

    def title(self, text: str) -> None:
        """Print the title of a scene."""
        print(f"== {text}\n", flush=True)

    def say(self, text: str) -> None:
        """Print a paragraph."""
        for line in text.rstrip().splitlines():
            print(f"   {line}".rstrip())
        print(flush=True)

    def show(self, command: str, *, codes: tuple[int, ...] = (0,)) -> None:
        """Print a kubectl command and its output; other exit codes than these are failures."""
        print(f"   $ kubectl {command}", flush=True)
        self.say(self.kubectl(*shlex.split(command), codes=codes))

    def apply(self, file: str) -> float:
        """Apply a file of the repository and print that; return the start time."""
        print(f"   $ kubectl apply -f {file}", flush=True)
        started = time.monotonic()
        self.say(self.kubectl("apply", "-f", str(self.root / file)))
        return started

    def kubectl(
        self, *arguments: str, input: str | None = None, codes: tuple[int, ...] = (0,)
    ) -> str:
        """Run kubectl and return its output."""
        done = self._cluster.kubectl(*arguments, input=input, check=False)
        if done.returncode not in codes:
            command = shlex.join(["kubectl", *arguments])
            raise ClusterError(f"`{command}` failed", details=done.stderr)
        return done.stdout

    def follow(
        self, path: str, condition: Condition, what: str, lines: Callable[[list[Object]], list[str]]
    ) -> None:
        """Wait as `wait` does, and print the lines about each change with the time."""
        started = time.monotonic()

        def changed(items: list[Object]) -> bool:
            for line in lines(items):
                print(f"   {time.monotonic() - started:5.1f} s  {line}", flush=True)
            return condition(items)

        self.wait(path, changed, what)
        print(flush=True)

    def wait(self, path: str, condition: Condition, what: str, **selectors: str) -> list[Object]:
        """Return the objects of a collection once the condition holds for them."""
        kubeconfig = self._cluster.kubeconfig
        try:
            return wait_until(kubeconfig, path, condition, seconds=_TIMEOUT, **selectors)
        except AssertionError as error:
            raise ClusterError(
                f"the demo timed out waiting for {what}", details=str(error)
            ) from None
