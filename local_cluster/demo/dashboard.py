"""Serves the dashboard of the demo's cluster, and ends it with the demo.

The command line is another program: it is started by its name and never imported. Where it is not
installed, the demo goes on without it and prints how to install it.
"""

import contextlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator

from local_cluster.cluster import Cluster
from local_cluster.supervisor import die_with_parent

_NEEDED = ("gangctl", "typer", "rich")


@contextlib.contextmanager
def dashboard(cluster: Cluster) -> Iterator[str]:
    """Start the dashboard and yield its address, or what to do to have one."""
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        yield "for a live page: pip install '.[cli]' && kubectl gang dashboard"
        return
    command = [sys.executable, "-m", "gangctl", "dashboard", "--no-browser"]
    with subprocess.Popen(
        [*command, "--kubeconfig", str(cluster.kubeconfig)],
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C ends it below, in its turn.
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - the demo has no threads
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip() or "the dashboard did not start"
        finally:
            process.terminate()
