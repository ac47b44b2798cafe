"""What a pod on the process node has printed, for `python -m local_cluster logs POD`.

Each container's run before the present one comes first: that is where a crash is explained.
"""

import sys

from local_cluster.cluster import Cluster
from local_cluster.errors import ClusterError
from local_cluster.process_node.logs import previous_log_file


def show_log(cluster: Cluster, pod: str, *, namespace: str | None) -> int:
    """Print the output of the newest pod whose name is, or starts with, `pod`."""
    root = cluster.process_root / "logs"
    directories = [
        directory
        for directory in (root.iterdir() if root.exists() else [])
        if (parts := directory.name.split("_"))[1].startswith(pod) and namespace in (None, parts[0])
    ]
    if not directories:
        raise ClusterError(
            f"no pod {pod!r} has run on the process node of cluster {cluster.name!r}",
            "See: python -m local_cluster kubectl get pods -A",
        )
    newest = max(directories, key=lambda directory: directory.stat().st_mtime)
    for file in sorted(newest.glob("*.log")):
        for run in (previous_log_file(file), file):
            if run.exists():
                sys.stdout.write(run.read_text(errors="replace"))
    return 0
