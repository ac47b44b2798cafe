"""Fixtures for every test: real clusters, started when the first test asks for one."""

from local_cluster.pytest_plugin import cluster, control_plane, kai_cluster, namespace

__all__ = ["cluster", "control_plane", "kai_cluster", "namespace"]
