"""Which backend instance a gang gets: by its placement policy, or as every gang without one.

It looks up the values from which the pure modules in `plan/placement` decide. For a set that names
its backend or has no policy, no ranking is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core_operator.plan.layout.expansion import CliqueInstance, GangInstance
from core_operator.plan.placement.backends import Choice
from core_operator.plan.placement.demand import demand_of
from core_operator.plan.placement.gang_placement import with_ignored_preferences, with_topology
from core_operator.plan.placement.handover import handover_in, known_placement
from core_operator.plan.placement.policy_choice import NamedPolicy, policy_choice, without_policy
from core_operator.plan.pods.gang_pods import GroupPods, released_on
from core_operator.plan.release import Release
from core_operator.plan.walk.steps import Step, first
from core_operator.state.placements import Placing
from core_operator.state.view import View
from shared_api import names
from shared_api.models import PlacementStatus, PodClique, PodCliqueSet, PodGang


@dataclass(frozen=True, slots=True)
class GangNow:
    """A gang that exists, as far as its next step depends on it."""

    gang: PodGang
    first_clique: PodClique | None
    groups: Sequence[GroupPods]
    release: Release | None
    backend: str | None
    is_released: bool


class GangPlaces:
    """The instances of gangs, as the caches show them."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._missing: dict[str, datetime] = {}
        """Since when instances that gangs have are without a record, as this process saw it."""

    def placing(self, pcs: PodCliqueSet, gang: GangInstance) -> Placing | NamedPolicy | None:
        """Return the policy of a set and its ranking for a gang; only its name if it does not exist."""
        policy = self._view.placements.policy_of(pcs)
        if policy is None or policy.spec is None:
            return policy
        pods = ((one.template.spec.pod_spec, self._size_of(pcs, one)) for one in gang.cliques)
        base = self._view.gang(gang.base, pcs) if gang.base is not None else None
        anchor = base.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if base else None
        ranking = self._view.placements.ranking(
            policy.spec, demand_of(pcs, pods), self._view.backends(), anchor
        )
        return Placing(policy, policy.spec, ranking, anchor)

    def first_choice(self, pcs: PodCliqueSet, gang: GangInstance, now: datetime) -> Choice:
        """Return the backend for a gang that does not exist; its pods may be ungated already."""
        found = [self._view.clique(one.name, pcs) for one in gang.cliques]
        pods = (pod for clique in found if clique is not None for pod in self._view.pods_of(clique))
        current = released_on(pods)
        placing = self.placing(pcs, gang)
        if placing is None:
            return self._view.choice(pcs, current, released=current is not None)
        left = handover_in(next(iter(found), None))
        return self.placed(pcs, placing, current, left.placement if left else None, now)

    def next_step(
        self, pcs: PodCliqueSet, placing: Placing | NamedPolicy, present: GangNow, now: datetime
    ) -> tuple[Choice, Step | None]:
        """Return the choice for a gang that exists, and the step that its policy wants.

        Without a policy or an instance the step only keeps what is known.
        """
        gang, backend = present.gang, present.backend
        if isinstance(placing, NamedPolicy) or backend is None:
            before = known_placement(gang, present.first_clique)
            choice = self.placed(pcs, placing, backend, before, now)
            return choice, Step(before) if before is not None else None
        step = placing.step(
            gang,
            present.first_clique,
            present.groups,
            present.release,
            now,
            self._missing_since(backend, now),
        )
        following = step.text if step is not None else ""
        choice = self.explained(
            pcs, placing, backend, released=present.is_released, following=following
        )
        return choice, step

    def placed(
        self,
        pcs: PodCliqueSet,
        placing: Placing | NamedPolicy,
        current: str | None,
        before: PlacementStatus | None,
        now: datetime,
    ) -> Choice:
        """Return the choice of a policy for a gang without an instance, or released on one."""
        if isinstance(placing, NamedPolicy):
            known = self._view.backends().get(current or "")
            return without_policy(pcs, placing, current, known)
        backend = current or first(placing.ranking, before, now)
        return self.explained(pcs, placing, backend, released=current is not None)

    def explained(
        self,
        pcs: PodCliqueSet,
        placing: Placing,
        backend: str | None,
        *,
        released: bool,
        following: str = "",
    ) -> Choice:
        """Return the choice of an instance by a policy, with the remarks about topology."""
        backends = self._view.backends()
        choice = policy_choice(
            pcs,
            placing.policy,
            placing.ranking,
            backends,
            backend,
            released=released,
            following=following,
        )
        if released:
            return with_ignored_preferences(choice, pcs, backends)
        return with_topology(choice, pcs, self._view.topology(pcs), backends)

    def _missing_since(self, backend: str, now: datetime) -> datetime | None:
        if backend in self._view.backends():
            self._missing.pop(backend, None)
            return None
        return self._missing.setdefault(backend, now)

    def _size_of(self, pcs: PodCliqueSet, clique: CliqueInstance) -> int:
        live = self._view.clique(clique.name, pcs)
        return clique.template.spec.replicas if live is None else live.spec.replicas
