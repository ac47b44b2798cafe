"""What one backend instance has, prepared for many comparisons: shapes, places and prices.

It is built once from each BackendInventory. Amounts are whole thousandths, because comparing those
is fast; requests are rounded up and machines down. A shape that lacks a resource does not have it.
Without an inventory nothing is known, and nothing is refused for its size. The same is true for the
shapes that an inventory had to leave out. How many pods of a size fit is remembered, because most
gangs have pods of the same sizes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul

from core_operator.plan.placement.demand import PodDemand
from shared_api.kube.compute_resources import to_kubernetes
from shared_api.models import BackendInventorySpec, NodeLocation, Price

_UNIT = 1000
_REMEMBERED = 1024

Amounts = tuple[tuple[str, int], ...]
"""Thousandths by resource, sorted."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Pods of one size, with amounts in thousandths."""

    count: int
    amounts: Amounts


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
    is_complete: bool
    """False if there are machines of further shapes, of which nothing is known."""
    largest: Mapping[str, int]
    """The largest amount of each resource that one machine has."""
    columns: Mapping[str, tuple[int, ...]]
    """The amount of each resource by shape."""
    counts: tuple[int, ...]
    """The machines by shape."""
    has_largest: bool
    """One machine has the largest amounts of all resources."""
    numbers: dict[Amounts, int] = field(default_factory=dict, compare=False)
    """How many pods of these amounts all machines hold, as far as it was asked."""

    def lacks(self, pods: Sequence[Asked]) -> str:
        """Return why no machine holds one of the pods; empty if all pods have one, or may have."""
        if not self.is_complete:
            return ""
        largest = self.largest
        for pod in pods:
            for name, amount in pod.amounts:
                if amount > largest.get(name, 0):
                    most = _text(largest.get(name, 0))
                    return f"a pod requests {_text(amount)} {name}, its largest machine has {most}"
            if not self.has_largest and not any(shape.holds(pod) for shape in self.shapes):
                wanted = ", ".join(f"{_text(amount)} {name}" for name, amount in pod.amounts)
                return f"no machine has all that a pod requests: {wanted}"
        return ""

    def gangs(self, pods: Sequence[Asked], unit: int) -> int | None:
        """Return how often the gang fits, times `unit`, each size of pod counted by itself.

        `unit` is a multiple of all counts, so that the result is exact. None without pods.
        """
        return min((self._pods(pod.amounts) * (unit // pod.count) for pod in pods), default=None)

    def prices(self, pods: Sequence[Asked]) -> tuple[Price | None, ...]:
        """Return the prices of machines that hold a pod."""
        shapes = (shape for shape in self.shapes if any(shape.holds(pod) for pod in pods))
        return tuple(shape.price for shape in shapes) + (() if self.is_complete else (None,))

    def _pods(self, amounts: Amounts) -> int:
        found = self.numbers.get(amounts)
        if found is None:
            if len(self.numbers) >= _REMEMBERED:
                self.numbers.clear()
            found = self.numbers[amounts] = self._counted(amounts)
        return found

    def _counted(self, amounts: Amounts) -> int:
        fits: Sequence[int] = ()
        for name, amount in amounts:
            pods = [has // amount for has in self.columns.get(name, ())]
            fits = list(map(min, fits, pods)) if fits else pods
            if not pods:
                return 0
        # A pod that requests nothing counts once for each machine.
        return sum(map(mul, self.counts, fits)) if amounts else sum(self.counts)


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
        if row.total
    )
    known = {name for shape in shapes for name in shape.amounts}
    columns = {
        name: tuple(shape.amounts.get(name, 0) for shape in shapes) for name in sorted(known)
    }
    largest = {name: max(column) for name, column in columns.items()}
    counts = tuple(shape.count for shape in shapes)
    # A machine that is in use is large enough too.
    has_largest = any(shape.amounts == largest for shape in shapes)
    return InstanceCapacity(shapes, not inventory.omitted, largest, columns, counts, has_largest)


def _text(amount: int) -> str:
    whole, part = divmod(amount, _UNIT)
    return f"{amount / _UNIT:g}" if part else str(whole)
