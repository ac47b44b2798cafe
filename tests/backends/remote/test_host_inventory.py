"""Hosts of a far side as rows of an inventory."""

from types import SimpleNamespace
from typing import Any, cast

import msgspec

from backend_controllers.contract.inventory_rows import ObservedNode, rows_of
from backend_controllers.contract.remote.executor import Executor, HostOffer
from backend_controllers.remote.inventory import HostsAsNodes
from backend_controllers.remote.virtual_node import node_manifest
from shared_api.kube.compute_resources import to_kubernetes

TOTAL = {"cpu": 8500, "memory": 2**30, "nvidia.com/gpu": 4}


def executor(*hosts: HostOffer) -> Executor:
    return cast("Executor", SimpleNamespace(hosts=lambda: hosts))


def test_hosts_that_are_alike_are_one_row_with_their_location() -> None:
    zone = {"topology.kubernetes.io/zone": "a"}
    hosts = [HostOffer(name, TOTAL, {}, zone) for name in ("h1", "h2")]
    (row,), omitted = rows_of(HostsAsNodes(executor(*hosts)), {})
    assert (row.total, omitted) == (2, 0)
    assert row.location is not None
    assert row.location.zone == "a"
    amounts = {name: float(amount) for name, amount in to_kubernetes(row.shape).items()}
    assert (amounts["cpu"], amounts["nvidia.com/gpu"]) == (8.5, 4)


def test_hosts_on_which_nothing_runs_are_counted_as_free() -> None:
    used = {**TOTAL, "cpu": 500}
    (row,), _ = rows_of(
        HostsAsNodes(executor(HostOffer("h1", TOTAL, TOTAL), HostOffer("h2", TOTAL, used))), {}
    )
    assert (row.total, row.free) == (2, 1)


def test_host_that_cannot_be_reached_or_takes_nothing_is_not_counted() -> None:
    lost = HostOffer("h2", TOTAL, {}, problem="does not answer")
    drained = HostOffer("h3", {}, {})
    hosts = HostsAsNodes(executor(HostOffer("h1", TOTAL, {}), lost, drained))
    (row,), _ = rows_of(hosts, {})
    assert row.total == 1


def test_the_virtual_node_is_no_machine_of_the_cluster() -> None:
    manifest: dict[str, Any] = node_manifest("docker")
    manifest["status"] = {"allocatable": {"cpu": "64"}}
    assert rows_of([msgspec.convert(manifest, ObservedNode)], {}) == ((), 0)
