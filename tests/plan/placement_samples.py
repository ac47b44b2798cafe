"""Policies, instances and rankings for the tests of placement."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from core_operator.plan.placement.backends import RegisteredBackend
from core_operator.plan.placement.candidates import Ranking, instances, rank
from core_operator.plan.placement.capacity import InstanceCapacity
from core_operator.plan.placement.demand import GangDemand
from shared_api.models import PlacementPolicySpec, SchedulerBackendSpec
from tests.core import stand_in

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def policy(**spec: Any) -> PlacementPolicySpec:
    return PlacementPolicySpec.model_validate(spec)


def backend(
    name: str,
    *,
    kind: str | None = None,
    labels: dict[str, str] | None = None,
    available: bool = True,
    since: datetime | None = None,
    was_down: bool = False,
    **spec: Any,
) -> RegisteredBackend:
    """An instance; what is None is left out of its record."""
    given = {key: value for key, value in spec.items() if value is not None}
    if kind is not None:
        given["kind"] = kind
    record = SchedulerBackendSpec.model_validate(stand_in.record(name, **given)["spec"])
    reason = "" if available else "its Lease has no holder"
    return RegisteredBackend(
        name, record, available, reason, labels=labels or {}, since=since, was_down=was_down
    )


def ranking_of(
    wish: PlacementPolicySpec, demand: GangDemand, *backends: RegisteredBackend
) -> Ranking:
    return ranking_among(wish, demand, {one.name: one for one in backends})


def ranking_among(
    wish: PlacementPolicySpec,
    demand: GangDemand,
    backends: Mapping[str, RegisteredBackend],
    capacities: Mapping[str, InstanceCapacity] | None = None,
    anchor: str | None = None,
) -> Ranking:
    known = instances(wish, backends, capacities or {})
    return rank(wish, demand, known, backends.get(anchor or ""))
