"""How the demo speaks: titles, kubectl as a person would type it, and waits without polling.

What is shown is what kubectl printed. Whatever fails ends as a ClusterError that says what the
demo was about to do. No event loop is around it: there, Ctrl-C would be heard only after the
kubectl that it ended had failed.
"""

import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from local_cluster.api import Object
from local_cluster.cluster import Cluster
from local_cluster.errors import ClusterError
from local_cluster.waiting import Condition, wait_until

# Scenes take a second or two; a machine that is busy with other things takes its time.
_PATIENCE = 120.0


class Narrator:
    """Tells one demo on one cluster, with the files of one repository."""

    def __init__(self, cluster: Cluster, root: Path) -> None:
        self.root = root
        self._cluster = cluster

    def title(self, text: str) -> None:
        """Begin a scene."""
        print(f"== {text}\n", flush=True)

    def say(self, text: str) -> None:
        """Print a paragraph that belongs to the scene."""
        for line in text.rstrip().splitlines():
            print(f"   {line}".rstrip())
        print(flush=True)

    def show(self, command: str) -> None:
        """Print a kubectl command and what it says."""
        print(f"   $ kubectl {command}", flush=True)
        self.say(self.kubectl(*shlex.split(command)))

    def apply(self, file: str) -> float:
        """Apply a file of the repository and show it; return when that was."""
        print(f"   $ kubectl apply -f {file}", flush=True)
        started = time.monotonic()
        self.say(self.kubectl("apply", "-f", str(self.root / file)))
        return started

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        """Run kubectl and return what it printed."""
        try:
            return self._cluster.kubectl(*arguments, input=input).stdout
        except subprocess.CalledProcessError as error:
            command = shlex.join(["kubectl", *arguments])
            raise ClusterError(f"`{command}` failed", details=error.stderr) from None

    def follow(
        self, path: str, condition: Condition, what: str, news: Callable[[list[Object]], list[str]]
    ) -> None:
        """Wait as `wait` does, and print what there is to tell on the way, with the time."""
        started = time.monotonic()

        def heard(items: list[Object]) -> bool:
            for line in news(items):
                print(f"   {time.monotonic() - started:5.1f} s  {line}", flush=True)
            return condition(items)

        self.wait(path, heard, what)
        print(flush=True)

    def wait(self, path: str, condition: Condition, what: str, **selectors: str) -> list[Object]:
        """Return the objects of a collection once the condition holds for them."""
        kubeconfig = self._cluster.kubeconfig
        try:
            return wait_until(kubeconfig, path, condition, seconds=_PATIENCE, **selectors)
        except AssertionError as error:
            raise ClusterError(f"the demo waited in vain for {what}", details=str(error)) from None
