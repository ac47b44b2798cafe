"""Output of `python -m local_cluster status`: clusters, their processes and their memory."""

from pathlib import Path

from local_cluster.cluster import Cluster
from local_cluster.errors import ClusterError


def print_status(clusters: list[Cluster]) -> int:
    """Print every cluster; return 0 if all processes are running."""
    if not clusters:
        print("no cluster; start one with: python -m local_cluster up")
        return 0
    return max([_print_cluster(cluster) for cluster in clusters])


def _print_cluster(cluster: Cluster) -> int:
    if not cluster.running():
        print(f"{cluster.name}: not running (remove its files: python -m local_cluster down)")
        return 1
    try:
        options = cluster.description().options
        components = cluster.control.components()
    except (ClusterError, OSError) as error:
        print(f"{cluster.name}: does not answer ({error})")
        return 1
    where = f"context {options['context']}" if options["context"] else options["kubernetes"]
    print(f"{cluster.name}: Kubernetes {where}, {options['nodes']} nodes, {cluster.kubeconfig}")
    whole = True
    for name, state in components.items():
        whole = whole and state["running"]
        if state["running"]:
            memory = f"{resident_bytes(state['pid']) / 2**20:.0f} MiB"
            again = f", restarted {state['restarts']} times" if state["restarts"] else ""
            print(f"  {name:<24} running  pid {state['pid']:<8} {memory:>9}{again}")
        else:
            print(f"  {name:<24} stopped")
    return 0 if whole else 1


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process, or 0 if it is unknown."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
