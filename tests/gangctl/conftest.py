"""The cluster and the person of core's tests."""

from tests.core.conftest import client, core_cluster, person, rooms

__all__ = ["client", "core_cluster", "person", "rooms"]
