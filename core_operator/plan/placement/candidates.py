"""Which backend instances may have a gang, in which order, and why the others may not.

Every instance gets a sentence: its place in the order, or the reason why it was passed over. Hard
filters come first: what the policy allows, what the instance can do, where it is, what it costs and
how large its machines are. An unknown value passes no filter that needs it, and ranks below every
known value. The order is total, so equal input gives an equal result.
"""

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from core_operator.plan.placement.backends import RegisteredBackend, abilities_of, serves
from core_operator.plan.placement.capacity import Asked, InstanceCapacity, asked
from core_operator.plan.placement.demand import GangDemand
from shared_api.models import (
    BackendSelector,
    PlacementObjective,
    PlacementPolicySpec,
    Price,
)

_PLACES = ("rack", "datacenter", "zone", "region")
_FAR = len(_PLACES) + 1


class Why(enum.Enum):
    """Why an instance was passed over, as far as the walk has to know."""

    FORBIDDEN = "forbidden"
    INCAPABLE = "incapable"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An instance that may have the gang."""

    name: str
    text: str
    """Why it has this place in the order."""
    since: datetime | None = None
    """Since when it is available again after it was down; None if it has not been down."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """An instance that may not have the gang now."""

    name: str
    why: Why
    text: str
    since: datetime | None = None
    """Since when it is down."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """All instances: candidates in order, and those that were passed over."""

    candidates: tuple[Candidate, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()

    def passed(self, name: str | None) -> PassedOver | None:
        """Return why an instance was passed over; None if it is a candidate or unknown."""
        return next((one for one in self.passed_over if one.name == name), None)

    def has(self, name: str | None) -> bool:
        """Return whether an instance is a candidate."""
        return any(one.name == name for one in self.candidates)


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance as one policy sees it, whatever gang it is for."""

    backend: RegisteredBackend
    capacity: InstanceCapacity | None
    refusal: PassedOver | None
    """Why the policy passes it over for every gang."""
    abilities: frozenset[str]
    weight: int
    position: int
    price: tuple[Decimal | None, Decimal | None]
    """Per GPU and per CPU core, in the currency of the policy; machines may have their own."""


def instances(
    policy: PlacementPolicySpec,
    backends: Mapping[str, RegisteredBackend],
    capacities: Mapping[str, InstanceCapacity],
) -> tuple[Instance, ...]:
    """Return what of a ranking does not depend on the gang, so that it is computed once."""
    return tuple(
        _instance(policy, backend, capacities.get(name))
        for name, backend in sorted(backends.items())
    )


def rank(
    policy: PlacementPolicySpec,
    demand: GangDemand,
    known: Sequence[Instance],
    anchor: RegisteredBackend | None = None,
) -> Ranking:
    """Return all instances, ordered or with the reason why not."""
    found: list[tuple[Any, Candidate]] = []
    passed: list[PassedOver] = []
    unit = math.lcm(*(pod.count for pod in demand.pods))
    gang = _Gang(demand, asked(demand.pods), unit, _decimal(demand.gpus), _decimal(demand.cpus))
    for one in known:
        if one.refusal is not None:
            passed.append(one.refusal)
            continue
        cost = _cost(policy, gang, one)
        refusal = _refusal(policy, gang, one, cost)
        if refusal is not None:
            passed.append(refusal)
            continue
        key, text = _score(policy, gang, one, cost, anchor)
        backend = one.backend
        again = backend.since if backend.was_down else None
        order = (key, -one.weight, one.position, backend.name)
        found.append((order, Candidate(backend.name, text, again)))
    found.sort(key=lambda one: one[0])
    return Ranking(tuple(candidate for _, candidate in found), tuple(passed))


@dataclass(frozen=True, slots=True)
class _Gang:
    demand: GangDemand
    pods: tuple[Asked, ...]
    unit: int
    """A multiple of all numbers of pods."""
    gpus: Decimal
    cpus: Decimal


def _instance(
    policy: PlacementPolicySpec, backend: RegisteredBackend, capacity: InstanceCapacity | None
) -> Instance:
    text = _not_allowed(policy, backend) or _elsewhere(policy, backend, capacity)
    refusal = PassedOver(backend.name, Why.FORBIDDEN, text) if text else None
    if refusal is None and backend.refusal:
        text = f"it is not accepted: {backend.refusal}"
        refusal = PassedOver(backend.name, Why.INCAPABLE, text)
    return Instance(
        backend,
        capacity,
        refusal,
        abilities_of(backend),
        _weight(policy, backend),
        _position(policy, backend),
        _units(policy, backend.record.price),
    )


def _refusal(
    policy: PlacementPolicySpec, gang: _Gang, one: Instance, cost: Decimal | None
) -> PassedOver | None:
    backend, demand = one.backend, gang.demand
    text = _other_scheduler(demand, backend) or _too_expensive(policy, cost)
    if text:
        return PassedOver(backend.name, Why.FORBIDDEN, text)
    # Before availability: an instance that comes back still lacks the capability.
    if not demand.needs <= one.abilities:
        missing = ", ".join(sorted(demand.needs - one.abilities))
        return PassedOver(backend.name, Why.INCAPABLE, f"it does not support: {missing}")
    if one.capacity is not None and (text := one.capacity.lacks(gang.pods)):
        return PassedOver(backend.name, Why.INCAPABLE, text)
    if not backend.available:
        text = f"down: {backend.unavailable_reason}"
        return PassedOver(backend.name, Why.DOWN, text, backend.since)
    return None


def _not_allowed(policy: PlacementPolicySpec, backend: RegisteredBackend) -> str:
    listed = policy.candidates
    if any(matches(selector, backend) for selector in listed.avoid):
        return "the policy avoids it"
    if listed.required and _position(policy, backend) == len(listed.required):
        return "it is not among those that the policy requires"
    return ""


def _other_scheduler(demand: GangDemand, backend: RegisteredBackend) -> str:
    others = [name for name in demand.schedulers if not serves(backend, name)]
    return f"it does not serve schedulerName {', '.join(others)} of the cliques" if others else ""


def _elsewhere(
    policy: PlacementPolicySpec, backend: RegisteredBackend, capacity: InstanceCapacity | None
) -> str:
    if policy.location is None:
        return ""
    wanted = {
        "region": policy.location.regions,
        "zone": policy.location.zones,
        "datacenter": policy.location.datacenters,
    }
    for place, allowed in wanted.items():
        if allowed:
            found = _places(place, backend, capacity)
            if not found or None in found:
                return f"its {place} is unknown, the policy allows {', '.join(allowed)}"
            if outside := sorted(str(one) for one in found if one not in allowed):
                return (
                    f"its {place} is {', '.join(outside)}, the policy allows {', '.join(allowed)}"
                )
    return ""


def _places(
    place: str, backend: RegisteredBackend, capacity: InstanceCapacity | None
) -> frozenset[str | None]:
    """Return where machines of an instance are: by its record, else by its inventory."""
    recorded = getattr(backend.record.location, place, None)
    if recorded is not None or capacity is None:
        return frozenset({recorded})
    found = {getattr(shape.location, place, None) for shape in capacity.shapes}
    return frozenset(found if capacity.is_complete else {*found, None})


def _too_expensive(policy: PlacementPolicySpec, cost: Decimal | None) -> str:
    if policy.max_hourly_cost is None:
        return ""
    most = f"{policy.max_hourly_cost} {policy.currency}/h are allowed"
    if cost is None:
        return f"its price is unknown, at most {most}"
    if cost > Decimal(policy.max_hourly_cost):
        return f"the gang costs {_money(cost)} {policy.currency}/h, at most {most}"
    return ""


def _units(
    policy: PlacementPolicySpec, price: Price | None
) -> tuple[Decimal | None, Decimal | None]:
    if price is None or price.currency != policy.currency:
        return None, None
    # The pattern of the fields admits only finite decimals.
    gpu, cpu = (None if n is None else Decimal(n) for n in (price.per_gpu_hour, price.per_cpu_hour))
    return gpu, cpu


def _cost(policy: PlacementPolicySpec, gang: _Gang, one: Instance) -> Decimal | None:
    """Return what a gang costs per hour; None if a price that it needs is unknown."""
    if policy.max_hourly_cost is None and policy.objective is not PlacementObjective.COST:
        return None
    if one.capacity is None or not one.capacity.has_prices:
        return _total(gang, one.price)
    # The scheduler may choose any machine, so one unknown price leaves the cost unknown.
    prices = one.capacity.prices(gang.pods)
    units = (one.price if price is None else _units(policy, price) for price in prices)
    costs = [_total(gang, unit) for unit in units]
    known = [cost for cost in costs if cost is not None]
    return max(known) if known and len(known) == len(costs) else None


def _total(gang: _Gang, units: tuple[Decimal | None, Decimal | None]) -> Decimal | None:
    if units == (None, None):
        # Also of a gang that requests neither: unknown is never free of charge.
        return None
    total = Decimal(0)
    for amount, unit in ((gang.gpus, units[0]), (gang.cpus, units[1])):
        if amount:
            if unit is None:
                return None
            total += amount * unit
    return total


def _score(
    policy: PlacementPolicySpec,
    gang: _Gang,
    one: Instance,
    cost: Decimal | None,
    anchor: RegisteredBackend | None,
) -> tuple[Any, str]:
    """Return the part of the order that the objective decides, and what it is based on."""
    match policy.objective:
        case PlacementObjective.COST:
            if cost is None:
                return (True, Decimal(0)), "price unknown"
            return (False, cost), f"{_money(cost)} {policy.currency}/h"
        case PlacementObjective.PERFORMANCE:
            times = one.capacity.gangs(gang.pods, gang.unit) if one.capacity is not None else None
            if times is None:
                return (True, 0), "capacity unknown"
            return (False, -times), f"holds the gang {times / gang.unit:.3g} times"
        case PlacementObjective.LOCALITY:
            return _distance(one.backend, anchor)
        case _:
            return 0, f"weight {one.weight}" if one.weight else "no weight"


def _distance(backend: RegisteredBackend, anchor: RegisteredBackend | None) -> tuple[int, str]:
    if anchor is None:
        return 0, "no base gang to be near to"
    if backend.name == anchor.name:
        return 0, "it has the base gang"
    here, there = backend.record.location, anchor.record.location
    for distance, place in enumerate(_PLACES, start=1):
        ours = getattr(here, place, None)
        if ours is not None and ours == getattr(there, place, None):
            return distance, f"same {place} as the base gang"
    return _FAR, "not known to be near the base gang"


def matches(selector: BackendSelector, backend: RegisteredBackend) -> bool:
    """Return whether a selector, of which every given part must match, selects an instance."""
    return (
        (selector.name is None or selector.name == backend.name)
        and (selector.kind is None or selector.kind == backend.kind)
        and all(backend.labels.get(key) == value for key, value in selector.labels.items())
    )


def _weight(policy: PlacementPolicySpec, backend: RegisteredBackend) -> int:
    found = (one.weight for one in policy.candidates.preferred if matches(one, backend))
    return max(found, default=0)


def _position(policy: PlacementPolicySpec, backend: RegisteredBackend) -> int:
    required = policy.candidates.required
    found = (index for index, one in enumerate(required) if matches(one, backend))
    return next(found, len(required))


def _decimal(amount: Fraction) -> Decimal:
    return Decimal(amount.numerator) / Decimal(amount.denominator)


def _money(cost: Decimal) -> str:
    return f"{cost:.2f}" if cost >= 1 else f"{cost:.4f}"
