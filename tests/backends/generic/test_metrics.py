"""Where gangs are counted, and that no scheduler can flood the registry."""

from backend_controllers.generic.metrics import BackendMetrics
from shared_api.runtime.telemetry.metrics import Telemetry


def counted(telemetry: Telemetry, name: str = "backend_gangs") -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for family in telemetry.registry.collect()
        for sample in family.samples
        if sample.name == name and sample.value
    }


def test_a_gang_is_counted_once_and_leaves() -> None:
    telemetry = Telemetry()
    metrics = BackendMetrics(telemetry, "x")
    metrics.note("one", "Pending", "Unschedulable")
    metrics.note("two", "Pending", "Unschedulable")
    metrics.note("one", "Running", "MinimumReady")
    assert counted(telemetry) == {
        ("x", "Pending", "Unschedulable"): 1,
        ("x", "Running", "MinimumReady"): 1,
    }
    metrics.forget("one")
    metrics.forget("two")
    metrics.forget("never seen")
    assert counted(telemetry) == {}


def test_reasons_are_bounded() -> None:
    telemetry = Telemetry()
    metrics = BackendMetrics(telemetry, "x")
    for number in range(100):
        metrics.note(f"g{number}", "Pending", f"Reason{number}")
    found = counted(telemetry)
    assert len(found) == 33
    assert found["x", "Pending", "Other"] == 68


def test_one_dialect_is_in_use_at_a_time() -> None:
    telemetry = Telemetry()
    metrics = BackendMetrics(telemetry, "x")
    metrics.set_dialect("v1")
    metrics.set_dialect("v2")
    assert counted(telemetry, "backend_dialect_info") == {("x", "v2"): 1}
    metrics.set_dialect("")
    assert counted(telemetry, "backend_dialect_info") == {}
