"""`python -m benchmarks.placement`: CPU time of one placement decision.

50 instances with inventories of 10 shapes, and 500 gangs: once all of one set, as core ranks them
once, and once all different. It measures rankings and steps, and needs no cluster.
"""

import sys
import time
from datetime import UTC, datetime
from fractions import Fraction

from core_operator.plan.placement.backends import RegisteredBackend
from core_operator.plan.placement.candidates import Ranking, instances, rank
from core_operator.plan.placement.capacity import InstanceCapacity, capacity_of
from core_operator.plan.placement.demand import GangDemand, PodDemand
from core_operator.plan.walk.steps import Standing, plan_step
from shared_api import names
from shared_api.models import BackendInventorySpec, PlacementPolicySpec, SchedulerBackendSpec

INSTANCES, GANGS, SHAPES = 50, 500, 10
NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = {
    "candidates": {
        "preferred": [{"kind": "kind-1", "weight": 7}, {"labels": {"tier": "own"}, "weight": 3}],
        "avoid": [{"name": "instance-13"}],
    },
    "maxHourlyCost": "100000",
    "location": {"regions": ["eu", "us"]},
    "admissionTimeout": "5m",
}


def main() -> int:
    """Print the milliseconds of CPU for one gang, by objective."""
    backends = {name: _instance(name, index) for index, name in enumerate(_names())}
    for objective in ("Order", "Cost", "Performance", "Locality"):
        policy = PlacementPolicySpec.model_validate({**POLICY, "objective": objective})
        spent = [_spent(policy, backends, _capacities(), sizes) for sizes in (10, GANGS)]
        sys.stdout.write(
            f"{objective}: {spent[0]:.3f} ms of CPU for each of {GANGS} gangs of 10 sizes,"
            f" {spent[1]:.3f} ms if all differ, {INSTANCES} instances\n"
        )
    return 0


def _spent(
    policy: PlacementPolicySpec,
    backends: dict[str, RegisteredBackend],
    capacities: dict[str, InstanceCapacity],
    sizes: int,
) -> float:
    """Return the milliseconds for one gang, if the gangs have so many sizes."""
    demands = [_demand(index % sizes) for index in range(GANGS)]
    began, known = time.process_time(), instances(policy, backends, capacities)
    rankings: dict[GangDemand, Ranking] = {}
    for index, demand in enumerate(demands):
        ranking = rankings.get(demand)
        if ranking is None:
            ranking = rankings[demand] = rank(policy, demand, known, backends["instance-7"])
        first = ranking.candidates[0].name
        standing = Standing(
            f"uid-{index}", first, is_bound=False, is_released=False, waits_for_backend=True
        )
        plan_step(policy, ranking, None, standing, NOW)
    return (time.process_time() - began) * 1000 / GANGS


def _capacities() -> dict[str, InstanceCapacity]:
    # New ones for each measurement: an InstanceCapacity remembers what it was asked.
    return {name: capacity_of(_inventory()) for name in _names()}


def _names() -> list[str]:
    return [f"instance-{index}" for index in range(INSTANCES)]


def _instance(name: str, index: int) -> RegisteredBackend:
    record = SchedulerBackendSpec.model_validate(
        {
            "kind": f"kind-{index % 5}",
            "schedulerNames": [f"{name}-scheduler"],
            "capabilities": [names.CAPABILITY_GANG],
            "preparation": {"mode": "Static"},
            "schedulingGate": "example.com/gate",
            "location": {"region": "eu" if index % 2 else "us", "zone": f"z{index % 7}"},
            "price": {"perGpuHour": f"{2 + index / 10}", "perCpuHour": "0.01"},
        }
    )
    labels = {"tier": "own" if index % 3 else "spot"}
    return RegisteredBackend(name, record, available=True, unavailable_reason="", labels=labels)


def _inventory() -> BackendInventorySpec:
    rows = [
        {
            "shape": {
                "cpu": str(16 * (1 + one)),
                "memory": f"{64 * (1 + one)}Gi",
                "gpu": {"count": 8},
            },
            "total": 10 + one,
        }
        for one in range(SHAPES)
    ]
    return BackendInventorySpec.model_validate({"observedAt": NOW, "rows": rows})


def _demand(index: int) -> GangDemand:
    leader = (("cpu", Fraction(2 + index, 10)), ("memory", Fraction(2**30)))
    worker = (
        ("cpu", Fraction(8)),
        ("memory", Fraction((1 + index % 64) * 2**30)),
        ("nvidia.com/gpu", Fraction(8)),
    )
    pods = (PodDemand(1, leader), PodDemand(4 + index % 13, worker))
    return GangDemand(frozenset({names.CAPABILITY_GANG}), (), pods)


if __name__ == "__main__":
    sys.exit(main())
