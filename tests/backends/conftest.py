"""What tests of backends stand on: a cluster that knows our kinds, and a person who watches."""

from tests.core.conftest import client, core_cluster, person

__all__ = ["client", "core_cluster", "person"]
