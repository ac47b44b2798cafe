"""A binding reports whether KAI's Topologies have its levels, and what to do where they do not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from backend_controllers.kai.topology_drift import drift_status
from shared_api.kube.codec import PartialObject
from shared_api.models import ClusterTopologyBinding, ClusterTopologyBindingStatus
from shared_api.runtime.watching.predicates import Watched
from tests.backends.kai.kit import HOST, RACK, ZONE, binding, topology

NOW = datetime(2026, 11, 18, 12, 0, 0, 250, tzinfo=UTC)


def found(*topologies: tuple[object, Watched]) -> Callable[[str], Watched | None]:
    return {value.metadata.name: value for _, value in topologies}.get


def status(
    of: ClusterTopologyBinding, *topologies: tuple[object, Watched], problem: str = ""
) -> ClusterTopologyBindingStatus:
    return drift_status(of, found(*topologies), problem, NOW)


def verdict(reported: ClusterTopologyBindingStatus) -> tuple[str, str]:
    [condition] = reported.conditions
    assert condition.type == "SchedulerTopologyDrift"
    return condition.status, condition.reason


def test_a_topology_that_this_backend_wrote_is_in_sync() -> None:
    reported = status(binding("net", ZONE, HOST))
    assert verdict(reported) == ("False", "InSync")
    [entry] = reported.scheduler_topology_statuses
    assert (entry.scheduler_name, entry.topology_reference) == ("kai-scheduler", "net")
    assert entry.in_sync
    assert reported.conditions[0].message == "Topology 'net' has the levels of this binding"
    assert reported.conditions[0].last_transition_time == NOW.replace(microsecond=0)


def test_a_topology_that_could_not_be_written_has_drifted_with_the_reason() -> None:
    reported = status(binding("net", ZONE), problem="Topology net is not owned by it: delete it")
    assert verdict(reported) == ("True", "Drift")
    [entry] = reported.scheduler_topology_statuses
    assert not entry.in_sync
    assert entry.message == (
        "Topology 'net' could not be written: Topology net is not owned by it: delete it"
    )
    assert reported.conditions[0].message == entry.message


@pytest.mark.parametrize("scheduler", ["kai_scheduler", "kai"])
def test_a_topology_of_an_administrator_is_compared_level_by_level(scheduler: str) -> None:
    it = binding("net", ZONE, RACK, HOST, **{scheduler: "site"})
    same = status(it, topology("site", ZONE, RACK, HOST))
    assert verdict(same) == ("False", "InSync")
    [entry] = same.scheduler_topology_statuses
    assert entry.scheduler_name == scheduler.replace("_", "-")
    assert entry.scheduler_backend_topology_observed_generation == 0
    other = status(it, topology("site", RACK, ZONE, HOST))
    assert verdict(other) == ("True", "Drift")
    assert other.conditions[0].message == (
        f"Topology 'site' has the levels {RACK}, {ZONE}, {HOST}, this binding has"
        f" {ZONE}, {RACK}, {HOST}. Change one of the two"
    )


def test_levels_below_a_node_are_no_drift_since_kai_has_none() -> None:
    it = binding("net", ZONE, HOST, "example.com/numa", kai_scheduler="site")
    assert verdict(status(it, topology("site", ZONE, HOST))) == ("False", "InSync")


def test_a_topology_that_does_not_exist_has_drifted() -> None:
    reported = status(binding("net", ZONE, kai_scheduler="site"))
    assert verdict(reported) == ("True", "Drift")
    message = reported.conditions[0].message
    assert message.startswith("Topology 'site' does not exist. Create it, or remove the entry")


def test_a_scheduler_without_topologies_is_unknown_unless_there_is_a_drift() -> None:
    it = binding("net", ZONE, other="x")
    reported = status(it)
    assert verdict(reported) == ("Unknown", "TopologyNotFound")
    assert [entry.in_sync for entry in reported.scheduler_topology_statuses] == [True, False]
    assert "no backend has topologies for scheduler 'other'" in reported.conditions[0].message
    both = status(binding("net", ZONE, other="x", kai_scheduler="gone"))
    assert verdict(both) == ("True", "Drift")
    assert "scheduler 'other'" in both.conditions[0].message


def test_the_time_of_a_condition_is_that_of_its_last_change() -> None:
    before = status(binding("net", ZONE))
    known = binding("net", ZONE).model_copy(update={"status": before})
    later = drift_status(known, found(), "", NOW + timedelta(hours=1))
    assert later == before
    drifted = drift_status(known, found(), "it is refused", NOW + timedelta(hours=1))
    assert drifted.conditions[0].last_transition_time > before.conditions[0].last_transition_time


def test_only_bindings_are_reported() -> None:
    with pytest.raises(TypeError):
        drift_status(PartialObject(), found(), "", NOW)
