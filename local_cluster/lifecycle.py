"""Up and down: claiming a directory, bringing a cluster up in it, and leaving nothing behind."""

import asyncio
import shutil
from pathlib import Path

from local_cluster.bring_up import Say, bring_up
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.errors import ClusterError
from local_cluster.furnishing import remove_nodes


def up(
    options: ClusterOptions,
    *,
    name: str = "default",
    directory: Path | None = None,
    leashed: bool = False,
    say: Say = print,
) -> Cluster:
    """Start a cluster and return when it is ready for work.

    A leashed cluster ends with the process that started it, however that ends.
    """
    cluster = Cluster(name, directory)
    _claim(cluster)
    try:
        bring_up(cluster, options, leashed=leashed, say=say)
    except BaseException:
        down(cluster)
        raise
    return cluster


def down(cluster: Cluster) -> bool:
    """Stop a cluster and remove its directory; return whether it existed."""
    if not cluster.directory.exists():
        return False
    _leave_context(cluster)
    cluster.control.down()
    shutil.rmtree(cluster.directory, ignore_errors=True)
    return True


def _leave_context(cluster: Cluster) -> None:
    """Delete our nodes from a borrowed cluster."""
    try:
        options = cluster.description().options
    except ClusterError:
        return
    borrowed = options["context"] or options["borrowed"]
    if borrowed and cluster.kubeconfig.exists():
        asyncio.run(remove_nodes(cluster))


def _claim(cluster: Cluster) -> None:
    if cluster.running():
        raise ClusterError(
            f"cluster {cluster.name!r} is already running",
            f"Use it, or take it down first: python -m local_cluster down --name {cluster.name}",
        )
    directory = cluster.directory
    if directory.exists():
        if any(directory.iterdir()) and not (directory / "lock").exists():
            raise ClusterError(
                f"{directory} holds files that are no cluster's",
                "Remove it, or choose another --name",
            )
        # What a hard-killed cluster left: its processes died with their supervisor.
        shutil.rmtree(directory)
    directory.mkdir(parents=True, mode=0o700)
