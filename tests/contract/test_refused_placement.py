"""Placement policies, inventories and prices that the API server refuses, with the path."""

from typing import Any

import pytest

from tests.contract.conftest import Contract
from tests.contract.manifests import Manifest, scheduler_backend

pytestmark = pytest.mark.cluster


def policy(**spec: Any) -> Manifest:
    """A PlacementPolicy."""
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": "policy", "namespace": "default"},
        "spec": spec,
    }


def candidates(**lists: Any) -> Manifest:
    return policy(candidates=lists)


def inventory(**shape: Any) -> Manifest:
    """A BackendInventory of one machine."""
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "BackendInventory",
        "metadata": {"name": "example"},
        "spec": {"observedAt": "2026-01-01T00:00:00Z", "rows": [{"shape": shape, "total": 1}]},
    }


KAI = {"name": "kai"}

PLACEMENTS: dict[str, tuple[Manifest, str]] = {
    "a backend that is required and avoided": (
        candidates(required=[KAI], avoid=[KAI]),
        "spec.candidates.avoid: Forbidden: a backend that is avoided cannot be required too: remove it"
        " from one of the two",
    ),
    "a kind that is preferred and avoided": (
        candidates(preferred=[{"kind": "slurm", "weight": 5}], avoid=[{"kind": "slurm"}]),
        "spec.candidates.avoid: Forbidden: a backend that is avoided cannot be preferred too: remove it"
        " from one of the two",
    ),
    "a negative weight": (
        candidates(preferred=[{**KAI, "weight": -1}]),
        "spec.candidates.preferred[0].weight: Invalid value: -1: spec.candidates.preferred[0].weight in"
        " body should be greater than or equal to 1",
    ),
    "a selector that selects nothing": (
        candidates(required=[{}]),
        "spec.candidates.required[0]: Invalid value: must have a name, a kind or labels",
    ),
    "a price as text": (
        policy(maxHourlyCost="forty"),
        'spec.maxHourlyCost: Invalid value: "forty": spec.maxHourlyCost in body should match',
    ),
    "a price that is no number": (
        policy(maxHourlyCost="NaN"),
        'spec.maxHourlyCost: Invalid value: "NaN": spec.maxHourlyCost in body should match',
    ),
    "a price without an end": (
        scheduler_backend(price={"perGpuHour": "Infinity"}),
        'spec.price.perGpuHour: Invalid value: "Infinity": spec.price.perGpuHour in body should match',
    ),
    "a negative price": (
        policy(maxHourlyCost="-1"),
        'spec.maxHourlyCost: Invalid value: "-1": spec.maxHourlyCost in body should match',
    ),
    "an objective that does not exist": (
        policy(objective="Speed"),
        'spec.objective: Unsupported value: "Speed": supported values: "Order", "Cost",'
        ' "Performance", "Locality"',
    ),
    "a timeout that is too short": (
        policy(admissionTimeout="500ms"),
        'spec.admissionTimeout: Invalid value: "500ms": must be a duration of at least 1s, such as 30s, 10m or 4h',
    ),
    "a timeout that is no duration": (
        policy(lost={"after": "soon"}),
        'spec.lost.after: Invalid value: "soon": after must be greater than 0: a duration such as 30s, 10m or 4h',
    ),
    "an amount that is no quantity": (
        inventory(cpu="lots"),
        'spec.rows[0].shape.cpu: Invalid value: "lots": must be a quantity such as 500m, 4 or 16Gi',
    ),
    "a price without a number": (
        scheduler_backend(price={"currency": "EUR"}),
        "spec.price: Invalid value: must have perGpuHour or perCpuHour",
    ),
    "a currency that is no currency": (
        scheduler_backend(price={"perGpuHour": "1", "currency": "eur"}),
        'spec.price.currency: Invalid value: "eur": spec.price.currency in body should match',
    ),
}


@pytest.mark.parametrize(("manifest", "message"), PLACEMENTS.values(), ids=PLACEMENTS.keys())
def test_refuses(contract: Contract, manifest: Manifest, message: str) -> None:
    assert message in contract.refusal_of_create(manifest)


ACCEPTED = {
    "an empty policy": policy(),
    "a whole policy": policy(
        candidates={
            "required": [KAI, {"kind": "slurm"}, {"labels": {"tier": "own"}}],
            "preferred": [{**KAI, "weight": 10}],
            "avoid": [{"kind": "ec2"}],
        },
        objective="Cost",
        maxHourlyCost="40.50",
        location={"regions": ["eu-west"], "zones": [], "datacenters": []},
        admissionTimeout="5m",
        lost={"after": "10m", "action": "Relocate"},
    ),
    "some of a kind, and not the others": candidates(
        required=[{"kind": "kai", "labels": {"tier": "own"}}],
        avoid=[{"kind": "kai", "labels": {"tier": "spot"}}, {"name": "kai-old"}],
    ),
    "an inventory": inventory(cpu="64", memory="512Gi", gpu={"count": 8, "type": "H100"}),
}


@pytest.mark.parametrize("manifest", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepts(contract: Contract, manifest: Manifest) -> None:
    assert contract.refusal_of_create(manifest) == ""
