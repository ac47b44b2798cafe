"""What all kinds of hosts have in common, where no host is needed."""

import pytest

from backend_controllers.contract.remote.executor import (
    ExecutorError,
    GangTag,
    Outcome,
    RemoteUnit,
)
from backend_controllers.hosts.executor import HostsExecutor
from backend_controllers.hosts.memory import HostMemory, HostShape
from backend_controllers.hosts.packing import HostDemand
from backend_controllers.hosts.places import HostUse
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.watching.channel import Channel

GPU = "nvidia.com/gpu"


def unit(pod: str) -> RemoteUnit:
    return RemoteUnit(GangTag("team", "train", "u"), pod, f"uid-{pod}", "h1", f"c-{pod}")


def memory() -> HostMemory:
    found = HostMemory(HostShape("h1", "10.0.0.1", {}, 4, GPU), Channel[ObjectKey]("test"))
    found.total, found.problem = {"cpu": 4000, GPU: 4}, ""
    return found


async def test_unit_on_a_host_that_was_removed_from_the_settings_is_not_released() -> None:
    executor = HostsExecutor(Channel[ObjectKey]("test"), {})
    with pytest.raises(ExecutorError, match=r"h1 is not in options\.hosts any more") as caught:
        await executor.release((unit("a"),))
    assert caught.value.outcome is Outcome.AMBIGUOUS


def test_claims_of_two_gangs_never_get_the_same_gpu() -> None:
    host, demand = memory(), HostDemand("a", {"cpu": 1000, GPU: 2})
    with host.claim("uid-a", demand) as first, host.claim("uid-b", demand) as second:
        assert (first, second) == (("0", "1"), ("2", "3"))
        assert dict(host.offer().free) == {"cpu": 2000, GPU: 0}
        # Its container exists before the call ends; it counts once.
        host.show(unit("a"), HostUse(demand.requests, first))
        assert dict(host.offer().free) == {"cpu": 2000, GPU: 0}
    assert dict(host.offer().free) == {"cpu": 3000, GPU: 2}


def test_units_of_a_lost_host_are_unknown_until_it_is_listed_again() -> None:
    host, gang = memory(), ObjectKey("team", "train")
    host.show(unit("a"), HostUse({}))
    host.show(unit("b"), HostUse({}))
    host.lose("the engine does not answer")
    assert {one.state for one in host.units_of(gang)} == {RemoteMemberState.UNKNOWN}
    host.listed(["c-a"])
    assert [one.pod for one in host.units_of(gang)] == ["a"]
    assert [one.state for one in host.units_of(gang)] == [RemoteMemberState.RESERVED]
