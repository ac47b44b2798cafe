"""What a set tells about the topology that its constraints are of.

The condition is there only if the set has constraints. It is about today's binding, which is
what gangs to come are placed by; gangs that a scheduler has seen keep what they were released
with, and the message counts those that would be placed otherwise now.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from core_operator.plan.placement import Placement, placement_in
from core_operator.plan.statuses.conditions import Observation, find
from core_operator.plan.topology import UNCONSTRAINED, Topology
from shared_api import names
from shared_api.models import Condition, PodGang


@dataclass(frozen=True, slots=True)
class TopologyState:
    """What became of a set's constraints, and of how many of its gangs they are not true."""

    topology: Topology
    outdated: int = 0
    """Gangs that keep another placement than the one that they would get now."""
    remark: str = ""
    """What the backend will not look at."""


NO_TOPOLOGY = TopologyState(UNCONSTRAINED)


def outdated(gangs: Iterable[tuple[PodGang, Placement]]) -> int:
    """How many gangs say something else than what they would say now."""
    return sum(placement_in(gang) != wanted for gang, wanted in gangs)


def topology_condition(state: TopologyState, observation: Observation) -> Condition | None:
    """The condition of the set; None if it asks for nothing."""
    topology = state.topology
    if not topology.is_asked_for:
        return None
    told = [topology.message]
    if state.outdated:
        some = "1 gang is" if state.outdated == 1 else f"{state.outdated} gangs are"
        told.append(f"{some} still placed otherwise")
    if state.remark:
        told.append(state.remark)
    return observation.condition(
        names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE,
        holds=topology.unavailable,
        reason=topology.reason,
        message="; ".join(told),
    )


def is_news(state: TopologyState, previous: Iterable[Condition]) -> bool:
    """Tell whether people should hear of it: something is wrong anew, or is no longer."""
    topology = state.topology
    if not topology.is_asked_for:
        return False
    before = find(tuple(previous), names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE)
    if before is None:
        return topology.unavailable is not False
    return before.reason != topology.reason
