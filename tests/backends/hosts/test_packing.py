"""Which hosts the pods of a gang get: all of them, or an error with the numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.declaration import PackLevels
from backend_controllers.contract.remote.executor import ExecutorError, HostOffer
from backend_controllers.hosts.packing import HostDemand, pack

NO_LEVEL = PackLevels()


def host(name: str, cpu: int, gpus: int = 0, **labels: str) -> HostOffer:
    free = {"cpu": cpu, "memory": 2**30, "nvidia.com/gpu": gpus}
    return HostOffer(name, free, free, labels)


def demand(name: str, cpu: int, gpus: int = 0, **selector: str) -> HostDemand:
    return HostDemand(name, {"cpu": cpu, "nvidia.com/gpu": gpus}, selector)


def test_a_gang_uses_few_hosts() -> None:
    found = pack(
        [demand(f"p{n}", 500) for n in range(4)], [host("a", 2000), host("b", 2000)], NO_LEVEL
    )
    assert len({one.name for one in found.values()}) == 1


def test_large_pods_are_packed_first() -> None:
    found = pack(
        [demand("s", 1000), demand("l", 3000)], [host("a", 3000), host("b", 1000)], NO_LEVEL
    )
    assert {pod: one.name for pod, one in found.items()} == {"l": "a", "s": "b"}


def test_a_required_level_keeps_the_gang_in_one_domain() -> None:
    hosts = [host("a", 1000, rack="x"), host("b", 1000, rack="y"), host("c", 1000, rack="y")]
    found = pack([demand("p", 1000), demand("q", 1000)], hosts, PackLevels(required="rack"))
    assert {one.labels["rack"] for one in found.values()} == {"y"}


def test_a_preferred_level_is_given_up_where_no_domain_fits() -> None:
    hosts = [host("a", 1000, rack="x"), host("b", 1000, rack="y")]
    found = pack([demand("p", 1000), demand("q", 1000)], hosts, PackLevels(preferred="rack"))
    assert {one.name for one in found.values()} == {"a", "b"}


def test_a_selector_is_compared_with_the_labels_of_hosts() -> None:
    found = pack(
        [demand("p", 100, zone="b")], [host("a", 9000), host("b", 500, zone="b")], NO_LEVEL
    )
    assert found["p"].name == "b"


def test_a_gang_that_does_not_fit_is_refused_with_numbers() -> None:
    demands = [demand(f"p{n}", 1000, 4) for n in range(3)]
    with pytest.raises(ExecutorError) as caught:
        pack(demands, [host("a", 8000, 4), host("b", 8000, 4)], NO_LEVEL)
    assert str(caught.value) == (
        "does not fit: needs 3 cpu (16 free), 12 nvidia.com/gpu (8 free) for 3 pods on 2 hosts;"
        " 2 of 3 pods fit. Free capacity, add hosts, or lower minAvailable"
    )


def test_hosts_that_cannot_be_reached_get_nothing() -> None:
    lost = HostOffer("a", {"cpu": 9000}, {"cpu": 9000}, problem="does not answer")
    with pytest.raises(ExecutorError, match="0 of 1 hosts can be reached: a: does not answer"):
        pack([demand("p", 1)], [lost], NO_LEVEL)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=8),
    st.lists(st.integers(0, 8), min_size=1, max_size=4),
)
def test_no_host_gets_more_than_is_free(pods: list[int], free: list[int]) -> None:
    demands = [demand(f"p{place}", size) for place, size in enumerate(pods)]
    hosts = [host(f"h{place}", size) for place, size in enumerate(free)]
    try:
        found = pack(demands, hosts, NO_LEVEL)
    except ExecutorError:
        return
    assert found.keys() == {one.name for one in demands}
    for one in hosts:
        used = sum(d.requests["cpu"] for d in demands if found[d.name] is one)
        assert used <= one.free["cpu"]
