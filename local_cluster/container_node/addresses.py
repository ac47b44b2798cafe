"""Addresses of the node: those inside its network namespace, and its link to the machine. Pure.

Only the link's addresses must be unique on the machine. All others are seen by one node only.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

API_SERVICE = "10.0.0.1"
"""The first address of the API server's Service range: what pods find in their environment."""
DNS_SERVICE = "10.0.0.10"
POD_RANGE = "10.244.0.0/16"
CLUSTER_DOMAIN = "cluster.local"
KUBELET_PORT = 10250

_LINKS = ipaddress.ip_network("10.213.0.0/16")
_PREFIX = 30


@dataclass(frozen=True, slots=True)
class Link:
    """A network of two: the machine, from which the API server calls the kubelet, and the node."""

    machine: str
    node: str
    prefix: int = _PREFIX


def choose_link(taken: Iterable[str], preferred: int) -> Link:
    """Return a link that overlaps no taken address; nodes prefer different numbers."""
    used = [ipaddress.ip_address(address) for address in taken]
    count = 2 ** (_PREFIX - _LINKS.prefixlen)
    for offset in range(count):
        number = (preferred + offset) % count
        start = int(_LINKS.network_address) + number * 2 ** (32 - _PREFIX)
        network = ipaddress.ip_network((start, _PREFIX))
        if not any(address in network for address in used):
            machine, node = network.hosts()
            return Link(str(machine), str(node))
    raise ValueError(f"every address of {_LINKS} is in use")
