"""Runs the demo: starts a cluster, plays the scenes, waits for Ctrl-C and stops the cluster.

However the demo ends (Ctrl-C, a signal, a failed scene), the cluster is stopped and its directory
removed. After SIGKILL, the leash does that.
"""

import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.demo import containers
from local_cluster.demo.dashboard import dashboard
from local_cluster.demo.installation import repository
from local_cluster.demo.narration import Narrator
from local_cluster.demo.scenes import SCENES
from local_cluster.lifecycle import down, up


def run_demo(kubernetes: str, *, stay: bool, in_containers: bool = False) -> int:
    """Start a cluster, play the scenes, and stay until Ctrl-C."""
    options, scenes = ClusterOptions(kubernetes=kubernetes, schedulers=("kai",)), SCENES
    if in_containers:
        options = ClusterOptions(
            kubernetes=kubernetes, containers=True, nodes=0, process_node=False
        )
        scenes = containers.SCENES
    root = repository()
    # kubectl finds its plugin `kubectl gang` there.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    # A closed terminal must stop the cluster as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="demo-") as directory:
        cluster = up(
            options,
            name="demo",
            directory=Path(directory) / "demo",
            leashed=True,
            say=lambda line: print(f"   {line}", flush=True),
        )
        try:
            print(flush=True)
            narrator = Narrator(cluster, root)
            for scene in scenes:
                scene(narrator)
            _farewell(cluster, narrator, stay=stay)
        except KeyboardInterrupt:
            print("\nstopping ...", flush=True)
        finally:
            down(cluster)
    print("the cluster is down; nothing is left of it")
    return 0


def _farewell(cluster: Cluster, narrator: Narrator, *, stay: bool) -> None:
    narrator.title("Look around")
    with contextlib.suppress(KeyboardInterrupt), dashboard(cluster) as address:
        if stay:
            config, kubectl = cluster.kubeconfig, cluster.kubectl_program()
            narrator.say(f"export KUBECONFIG={config}\n{kubectl} get pcs,podgangs,pods")
        narrator.say(address)
        if stay:
            print("The cluster stays up until Ctrl-C.", flush=True)
            signal.pause()
