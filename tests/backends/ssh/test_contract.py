"""The contract suite on hosts without an engine, through real SSH servers."""

import pytest

from tests.backends.remote.contract import ExecutorContract
from tests.backends.remote.far_side import FarSide
from tests.backends.remote.faults import FaultContract
from tests.backends.ssh.conftest import options_for
from tests.backends.ssh.far_sides import HostsOverSsh
from tests.backends.ssh.hosts import Hosts

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


class TestSsh(ExecutorContract, FaultContract):
    """Two sshd."""

    @pytest.fixture
    def far_side(self, ssh_hosts: Hosts) -> FarSide:
        return HostsOverSsh(ssh_hosts, options_for(ssh_hosts, "contract"))
