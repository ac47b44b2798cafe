"""What one backend instance has, prepared for many comparisons: shapes, places and prices.

It is built once from each BackendInventory. Amounts are whole thousandths, because comparing those
is fast; requests are rounded up and machines down. A shape that lacks a resource does not have it. Without an inventory nothing is known, and nothing is refused for its size.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from core_operator.plan.placement.demand import PodDemand
from shared_api.kube.compute_resources import to_kubernetes
from shared_api.models import BackendInventorySpec, NodeLocation, Price

_UNIT = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """Pods of one size, with amounts in thousandths."""

    count: int
    amounts: tuple[tuple[str, int], ...]


def asked(pods: Sequence[PodDemand]) -> tuple[Asked, ...]:
    """Return what pods request, for comparisons."""
    return tuple(
        Asked(pod.count, tuple((name, math.ceil(amount * _UNIT)) for name, amount in pod.amounts))
        for pod in pods
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """Machines that are alike."""

    amounts: Mapping[str, int]
    count: int
    """How many are free, or how many there are if that is unknown."""
    location: NodeLocation | None
    price: Price | None

    def holds(self, pod: Asked) -> bool:
        """Return whether one machine is large enough for one pod."""
        amounts = self.amounts
        return all(amounts.get(name, 0) >= amount for name, amount in pod.amounts)


@dataclass(frozen=True, slots=True)
class InstanceCapacity:
    """All machines of one instance."""

    shapes: tuple[Shape, ...]
    largest: Mapping[str, int]
    """The largest amount of each resource that one machine has."""

    def lacks(self, pods: Sequence[Asked]) -> str:
        """Return why no machine holds one of the pods; empty if all pods have one."""
        largest = self.largest
        for pod in pods:
            for name, amount in pod.amounts:
                if amount > largest.get(name, 0):
                    most = _text(largest.get(name, 0))
                    return f"a pod requests {_text(amount)} {name}, its largest machine has {most}"
            if not any(shape.count and shape.holds(pod) for shape in self.shapes):
                wanted = ", ".join(f"{_text(amount)} {name}" for name, amount in pod.amounts)
                return f"no machine has all that a pod requests: {wanted}"
        return ""

    def gangs(self, pods: Sequence[Asked]) -> Fraction | None:
        """Return how often the gang fits, each size of pod counted by itself; None without pods."""
        return min((Fraction(self._pods(pod), pod.count) for pod in pods), default=None)

    def _pods(self, pod: Asked) -> int:
        """Return how many such pods all machines hold."""
        total, amounts = 0, pod.amounts
        for shape in self.shapes:
            has = shape.amounts
            # A pod that requests nothing counts once for each machine.
            fits = min([has.get(name, 0) // amount for name, amount in amounts], default=1)
            total += shape.count * fits
        return total

    def prices(self, pods: Sequence[Asked]) -> tuple[Price | None, ...]:
        """Return the prices of machines that hold a pod."""
        shapes = (shape for shape in self.shapes if any(shape.holds(pod) for pod in pods))
        return tuple(shape.price for shape in shapes)


def capacity_of(inventory: BackendInventorySpec) -> InstanceCapacity:
    """Return an inventory for comparisons."""
    shapes = tuple(
        Shape(
            {name: math.floor(amount * _UNIT) for name, amount in to_kubernetes(row.shape).items()},
            row.total if row.free is None else row.free,
            row.location,
            row.price,
        )
        for row in inventory.rows
    )
    largest: dict[str, int] = {}
    for shape in shapes:
        for name, amount in shape.amounts.items():
            largest[name] = max(amount, largest.get(name, 0))
    return InstanceCapacity(shapes, largest)


def _text(amount: int) -> str:
    whole, part = divmod(amount, _UNIT)
    return f"{amount / _UNIT:g}" if part else str(whole)
