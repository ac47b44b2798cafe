"""What tests of upgrades stand on: a cluster that knows our kinds."""

from tests.core.conftest import core_cluster

__all__ = ["core_cluster"]
