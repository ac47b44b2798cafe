"""A set tells whether its topology is there, and which of its gangs are placed otherwise."""

from typing import Any, cast

import pytest

from core_operator.plan.layout.expansion import expand
from core_operator.plan.manifests.podgangs import gang_manifest
from core_operator.plan.placement.gang_placement import UNPLACED, GangPlacement, PackLabels
from core_operator.plan.placement.topology import Topology
from core_operator.plan.statuses.conditions import Observation
from core_operator.plan.statuses.podcliqueset import SetState, podcliqueset_status
from core_operator.plan.statuses.topology import (
    NO_TOPOLOGY,
    TopologyState,
    needs_event,
    outdated,
    topology_condition,
)
from shared_api import names
from shared_api.models import Condition, PodGang
from tests.plan.pod_samples import LATER, NOW
from tests.plan.samples import chosen, clique, pod_clique_set

FOUND = Topology("net", {"rack": "topo/rack"}, False, names.REASON_LEVELS_AVAILABLE, "all there")
GONE = Topology("net", {}, None, names.REASON_TOPOLOGY_BINDING_NOT_FOUND, "gone", blocks_gangs=True)
SHORT = Topology("net", {}, True, names.REASON_LEVELS_UNAVAILABLE, "no rack", blocks_gangs=True)


def told(state: TopologyState, *before: Condition) -> Condition:
    condition = topology_condition(state, Observation(LATER, before, 7))
    assert condition is not None
    return condition


@pytest.mark.parametrize(
    ("topology", "status"), [(FOUND, "False"), (GONE, "Unknown"), (SHORT, "True")]
)
def test_the_condition_reports_what_became_of_the_levels(topology: Topology, status: str) -> None:
    condition = told(TopologyState(topology))
    assert (condition.type, condition.status) == ("TopologyLevelsUnavailable", status)
    assert (condition.reason, condition.message) == (topology.reason, topology.message)
    assert condition.observed_generation == 7


def test_gangs_that_keep_another_placement_and_ignored_preferences_are_reported() -> None:
    assert told(TopologyState(FOUND, 1)).message == "all there; 1 gang keeps an earlier placement"
    assert told(TopologyState(GONE, 2, "ignored")).message == (
        "gone; 2 gangs keep an earlier placement; ignored"
    )


def test_a_set_without_constraints_has_no_such_condition() -> None:
    assert topology_condition(NO_TOPOLOGY, Observation(NOW, ())) is None
    pcs = pod_clique_set(clique("a"))
    plain = podcliqueset_status(pcs, SetState(expand(pcs, {}), {}, ()), NOW)
    assert types_in(plain) == {"Ready", "Reconciling"}
    state = SetState(expand(pcs, {}), {}, (), topology=TopologyState(GONE))
    assert types_in(podcliqueset_status(pcs, state, NOW)) == {
        "Ready",
        "Reconciling",
        "TopologyLevelsUnavailable",
    }


def types_in(status: dict[str, Any]) -> set[str]:
    return {condition["type"] for condition in cast("list[dict[str, str]]", status["conditions"])}


def test_people_hear_of_what_is_wrong_again_or_no_longer() -> None:
    fine, gone = told(TopologyState(FOUND)), told(TopologyState(GONE))
    assert not needs_event(TopologyState(FOUND), ())
    assert needs_event(TopologyState(GONE), ())
    assert needs_event(TopologyState(GONE), (fine,))
    assert needs_event(TopologyState(SHORT), (gone,))
    assert needs_event(TopologyState(FOUND), (gone,))
    assert not needs_event(TopologyState(GONE, 3), (gone,))
    assert not needs_event(NO_TOPOLOGY, (gone,))


def test_a_gang_is_outdated_when_it_would_be_scheduled_otherwise_now() -> None:
    pcs = pod_clique_set(clique("a"))
    rack = GangPlacement("net", PackLabels("topo/rack"))
    instance = expand(pcs, {}).gangs[0]
    manifest = gang_manifest(pcs, instance, chosen("b", "s"), placement=rack)
    gang = PodGang.model_validate(manifest)
    assert (
        outdated([(gang, rack), (gang, UNPLACED), (gang, GangPlacement("net", PackLabels("t/r")))])
        == 2
    )
