"""Where a pod runs in its gang, and what a unit holds of its host: values that all kinds of hosts use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.environment import environment
from backend_controllers.hosts.packing import HostDemand


@dataclass(frozen=True, slots=True)
class Place:
    """One pod on its host."""

    pod: RemotePod
    demand: HostDemand
    rank: int
    addresses: Sequence[str]
    """The addresses of all members, in the order of their ranks."""
    devices: Sequence[str] = ()
    """The GPUs that it gets."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the pod."""
        return environment(self.pod, self.rank, len(self.addresses), ",".join(self.addresses))


class HostUse(NamedTuple):
    """What a unit holds of its host."""

    requests: Mapping[str, int]
    devices: tuple[str, ...] = ()
    expires: int = 0
    """When it is removed if it was not started, in seconds since 1970; 0 if the host enforces it."""
