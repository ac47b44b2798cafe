"""Placement policies of sets, and the rankings that follow from them.

A ranking depends on the policy, on what the gang needs, on the instance of its base gang, and on all
records and inventories. It is computed once for equal values and dropped when one of them changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core_operator.plan.placement.backends import RegisteredBackend
from core_operator.plan.placement.candidates import Instance, Ranking, instances, rank
from core_operator.plan.placement.capacity import InstanceCapacity, capacity_of
from core_operator.plan.placement.demand import GangDemand
from core_operator.plan.placement.handover import known_placement
from core_operator.plan.placement.policy_choice import NamedPolicy
from core_operator.plan.pods.gang_pods import GroupPods
from core_operator.plan.release import Release
from core_operator.plan.walk.standing import standing_of
from core_operator.plan.walk.steps import Step, plan_step
from core_operator.state.caches import CoreCaches
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import (
    PlacementPolicy,
    PlacementPolicySpec,
    PodClique,
    PodCliqueSet,
    PodGang,
)

_KEPT_RANKINGS = 4096


@dataclass(frozen=True, slots=True)
class Placing:
    """The policy of a gang's set, and how it ranks the instances for this gang."""

    policy: NamedPolicy
    spec: PlacementPolicySpec
    ranking: Ranking
    anchor: str | None = None
    """The instance of the gang's base gang, if it has one."""

    def step(
        self,
        gang: PodGang,
        first_clique: PodClique | None,
        groups: Sequence[GroupPods],
        release: Release | None,
        now: datetime,
        missing_since: datetime | None = None,
    ) -> Step | None:
        """Return the next step of a gang; None while it has no instance."""
        standing = standing_of(gang, groups, release, missing_since, self.anchor)
        if standing is None:
            return None
        before = known_placement(gang, first_clique)
        return plan_step(self.spec, self.ranking, before, standing, now)


@dataclass(slots=True)
class _Rankings:
    """Rankings for one state of all records and inventories."""

    backends: Mapping[str, RegisteredBackend]
    capacities: Mapping[str, InstanceCapacity]
    instances: dict[int, tuple[Instance, ...]] = field(default_factory=dict)
    """By the id of the policy."""
    found: dict[tuple[int, GangDemand, str | None], Ranking] = field(default_factory=dict)


class Placements:
    """The policies and rankings of one process."""

    def __init__(self, caches: CoreCaches, default: str = "") -> None:
        self._caches = caches
        self._default = default
        self._capacities: dict[str, InstanceCapacity] | None = None
        self._rankings: _Rankings | None = None
        caches.policies.subscribe(self._on_policy)
        caches.inventories.subscribe(self._on_inventory)

    def policy_of(self, pcs: PodCliqueSet) -> NamedPolicy | None:
        """Return the policy of a set; None if it has none, or names its backend."""
        annotations = pcs.metadata.annotations
        if annotations.get(names.ANNOTATION_SCHEDULER_BACKEND):
            return None
        named = annotations.get(names.ANNOTATION_PLACEMENT_POLICY)
        if named:
            return self._found(ObjectKey(pcs.metadata.namespace or "", named), named)
        if self._default:
            key = ObjectKey(*self._default.split("/", 1))
            return self._found(key, self._default, is_default=True)
        return None

    def ranking(
        self,
        spec: PlacementPolicySpec,
        demand: GangDemand,
        backends: Mapping[str, RegisteredBackend],
        anchor: str | None,
    ) -> Ranking:
        """Return all instances in the order of a policy."""
        known = self._rankings
        if known is None or known.backends is not backends:
            known = self._rankings = _Rankings(backends, self._known_capacities())
        # Policies are kept in the cache while their rankings are, so the id is not reused.
        key = (id(spec), demand, anchor)
        found = known.found.get(key)
        if found is None:
            if len(known.found) >= _KEPT_RANKINGS:
                known.found.clear()
            seen = known.instances.get(id(spec))
            if seen is None:
                seen = known.instances[id(spec)] = instances(spec, backends, known.capacities)
            found = known.found[key] = rank(spec, demand, seen, backends.get(anchor or ""))
        return found

    def _found(self, key: ObjectKey, named: str, *, is_default: bool = False) -> NamedPolicy:
        found, unreadable = (
            self._caches.policies.get(key),
            self._caches.policies.unreadable.get(key),
        )
        if found is None and unreadable is not None:
            problem = unreadable.explained(PlacementPolicy.KIND)
            return NamedPolicy(named, None, is_default, problem)
        return NamedPolicy(named, None if found is None else found.spec, is_default)

    def _known_capacities(self) -> dict[str, InstanceCapacity]:
        if self._capacities is None:
            self._capacities = {
                found.metadata.name: capacity_of(found.spec) for found in self._caches.inventories
            }
        return self._capacities

    def _on_policy(self, old: object, new: object) -> None:
        del old, new
        self._rankings = None

    def _on_inventory(self, old: object, new: object) -> None:
        del old, new
        self._capacities = self._rankings = None
