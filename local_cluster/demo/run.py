"""Runs the demo: starts a cluster, plays the scenes, waits for Ctrl-C and stops the cluster.

However the demo ends (Ctrl-C, a signal, a failed scene), the cluster is stopped and its directory
removed. After SIGKILL, the leash does that.
"""

import contextlib
import signal
import tempfile
from pathlib import Path

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.demo.installation import repository
from local_cluster.demo.narration import Narrator
from local_cluster.demo.scenes import SCENES
from local_cluster.lifecycle import down, up


def run_demo(kubernetes: str, *, stay: bool) -> int:
    """Start a cluster, play the scenes, and stay until Ctrl-C."""
    root = repository()
    # A closed terminal must stop the cluster as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="demo-") as directory:
        cluster = up(
            ClusterOptions(kubernetes=kubernetes, schedulers=("kai",)),
            name="demo",
            directory=Path(directory) / "demo",
            leashed=True,
            say=lambda line: print(f"   {line}", flush=True),
        )
        try:
            print(flush=True)
            narrator = Narrator(cluster, root)
            for scene in SCENES:
                scene(narrator)
            _farewell(cluster, narrator, stay=stay)
        except KeyboardInterrupt:
            print("\nstopping ...", flush=True)
        finally:
            down(cluster)
    print("the cluster is down; nothing is left of it")
    return 0


def _farewell(cluster: Cluster, narrator: Narrator, *, stay: bool) -> None:
    if not stay:
        return
    narrator.title("Look around")
    kinds = "pcs,podgangs,pods"
    narrator.say(f"export KUBECONFIG={cluster.kubeconfig}\n{cluster.kubectl_program()} get {kinds}")
    print("The cluster stays up until Ctrl-C.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()
