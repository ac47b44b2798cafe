"""What a gang needs of a backend instance: capabilities, scheduler names and the size of its pods.

It is a value that compares by content, so that one ranking serves all gangs that need the same. A
pod whose requests cannot be read has no known size; admission refuses such pods.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from core_operator.plan.placement.backends import needs_of, schedulers_of
from shared_api.kube.compute_resources import gpus_in
from shared_api.kube.pod_resources import NoQuantityError, PodResources, requests_of
from shared_api.models import JsonObject, PodCliqueSet

_CPU = "cpu"


@dataclass(frozen=True, slots=True)
class PodDemand:
    """Pods of one size: how many, and what each requests by resource name."""

    count: int
    amounts: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True)
class GangDemand:
    """What a gang needs."""

    needs: frozenset[str]
    """Capabilities."""
    schedulers: tuple[str, ...] = ()
    """Scheduler names of its cliques; empty if they name none."""
    pods: tuple[PodDemand, ...] = ()

    @property
    def gpus(self) -> Fraction:
        """Return the GPUs of all pods."""
        return sum((pod.count * gpus_in(dict(pod.amounts)) for pod in self.pods), Fraction(0))

    @property
    def cpus(self) -> Fraction:
        """Return the CPU cores of all pods."""
        cores = (pod.count * dict(pod.amounts).get(_CPU, Fraction(0)) for pod in self.pods)
        return sum(cores, Fraction(0))


def demand_of(pcs: PodCliqueSet, pods: Iterable[tuple[JsonObject, int]]) -> GangDemand:
    """Return the demand of a gang of this set; `pods` are pod specs, each with its number of pods."""
    counted: dict[tuple[tuple[str, Fraction], ...], int] = {}
    for spec, count in pods:
        if count > 0:
            amounts = requests(spec)
            counted[amounts] = counted.get(amounts, 0) + count
    found = tuple(PodDemand(count, amounts) for amounts, count in sorted(counted.items()))
    return GangDemand(needs_of(pcs), schedulers_of(pcs), found)


def requests(spec: JsonObject) -> tuple[tuple[str, Fraction], ...]:
    """Return what a pod requests, sorted by resource; empty if that cannot be read."""
    wanted = ("containers", "initContainers", "resources", "overhead")
    return _requests(msgspec.json.encode({key: spec[key] for key in wanted if key in spec}))


# The templates of a set are the same for all its gangs.
@functools.lru_cache(maxsize=1024)
def _requests(spec: bytes) -> tuple[tuple[str, Fraction], ...]:
    try:
        found = requests_of(msgspec.json.decode(spec, type=PodResources))
    except (msgspec.ValidationError, NoQuantityError):
        return ()
    return tuple(sorted((name, amount) for name, amount in found.items() if amount > 0))
