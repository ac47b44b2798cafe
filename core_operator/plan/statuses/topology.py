"""The condition TopologyLevelsUnavailable of a set with topology constraints.

It is about the current binding, which places new gangs. Gangs that a scheduler has seen keep their
placement; the message counts those whose placement would be different now.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from core_operator.plan.placement.gang_placement import GangPlacement, current_placement
from core_operator.plan.placement.topology import UNCONSTRAINED, Topology
from core_operator.plan.statuses.conditions import Observation, find
from shared_api import names
from shared_api.models import Condition, PodGang


@dataclass(frozen=True, slots=True)
class TopologyState:
    """The resolved constraints of a set, and how many of its gangs do not follow them."""

    topology: Topology
    outdated: int = 0
    """Gangs that keep an earlier placement."""
    ignored: str = ""
    """A message about preferences that the backend ignores."""


NO_TOPOLOGY = TopologyState(UNCONSTRAINED)


def outdated(gangs: Iterable[tuple[PodGang, GangPlacement]]) -> int:
    """Count the gangs whose placement is not the wanted one."""
    return sum(current_placement(gang) != wanted for gang, wanted in gangs)


def topology_condition(state: TopologyState, observation: Observation) -> Condition | None:
    """Return the condition of the set; None if it has no constraints."""
    topology = state.topology
    if not topology.is_constrained:
        return None
    messages = [topology.message]
    if state.outdated:
        some = "1 gang keeps" if state.outdated == 1 else f"{state.outdated} gangs keep"
        messages.append(f"{some} an earlier placement")
    if state.ignored:
        messages.append(state.ignored)
    return observation.condition(
        names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE,
        holds=topology.unavailable,
        reason=topology.reason,
        message="; ".join(messages),
    )


def needs_event(state: TopologyState, previous: Iterable[Condition]) -> bool:
    """Return whether an Event is due: the reason changed, or the first one is a problem."""
    topology = state.topology
    if not topology.is_constrained:
        return False
    before = find(tuple(previous), names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE)
    if before is None:
        return topology.unavailable is not False
    return before.reason != topology.reason
