"""The record with which a backend registers, and what the cluster's answers mean for it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Questions,
    Report,
    Served,
)
from backend_controllers.generic.definitions import Definition, schemas
from backend_controllers.generic.discovery import Found
from backend_controllers.generic.record import record_manifest, record_status
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.models import (
    PodPreparationSpec,
    PreparationMode,
    ReleaseRules,
    SchedulerBackend,
    SurplusRelease,
)

AS_THEY_ARE = PodPreparationSpec(mode=PreparationMode.STATIC)
THINGS = Resource("example.com", "v1", "things", "Thing")
SERVED = Served(frozenset({("example.com", "v1", "things"), ("example.com", "v2", "things")}))
ABSENT = Absent("things.example.com in v1", "install it", AS_THEY_ARE)
DIALECT = Dialect(
    name="example.com/v1",
    capabilities=frozenset({"Priority", "Gang"}),
    preparation=AS_THEY_ARE,
    translate=lambda gang, facts: pytest.fail("nothing is translated"),
    mirror=lambda gang, facts: Report(),
    warning="gangs are not guaranteed",
)
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def backend(**changes: Any) -> Backend:
    return Backend(
        "x", ("x-scheduler",), "example.com/x", Questions(), lambda _, __: ABSENT, **changes
    )


def status(answer: Dialect | Absent, before: dict[str, Any] | None = None) -> Any:
    manifest = {**record_manifest(backend(), answer, None), "status": before or {}}
    record = SchedulerBackend.model_validate({**manifest, "metadata": {"name": "x"}})
    return record_status(record, Found(SERVED, answer), NOW, NOW)["status"]


def test_an_instance_registers_under_its_own_name_and_names_its_kind() -> None:
    kept, other = (record_manifest(backend().instance(n), DIALECT, None) for n in ("x", "x-lab"))
    spec: Any = kept["spec"]
    assert (kept["metadata"], "kind" in spec) == ({"name": "x"}, False)
    spec = other["spec"]
    assert (other["metadata"], spec["kind"]) == ({"name": "x-lab"}, "x")
    assert backend().instance("x-lab").shared.name == "x"


def test_capabilities_are_what_was_found() -> None:
    spec: Any = record_manifest(backend(), DIALECT, ObjectKey("n", "lease"))["spec"]
    assert spec["capabilities"] == ["Gang", "Priority"]
    assert spec["lease"] == {"namespace": "n", "name": "lease"}
    # What the server would fill in is not sent, else it would be sent at every start.
    assert "release" not in spec


def test_release_rules_are_stated_where_they_say_something() -> None:
    rules = ReleaseRules(surplus=SurplusRelease.AFTER_SCHEDULED)
    spec: Any = record_manifest(backend(release=rules), DIALECT, None)["spec"]
    assert spec["release"] == {"surplus": "AfterScheduled"}
    assert "lease" not in spec


def test_a_backend_that_found_its_scheduler_reports_what_it_serves() -> None:
    found = status(DIALECT)
    (ready,) = found["conditions"]
    assert (ready["status"], ready["reason"]) == ("True", "SchedulerApiFound")
    assert ready["message"] == "uses example.com/v1; gangs are not guaranteed"
    assert found["apiVersions"] == ["example.com/v1", "example.com/v2"]
    assert found["dialect"] == "example.com/v1"


def test_a_backend_without_its_scheduler_reports_what_to_do() -> None:
    found = status(ABSENT)
    (ready,) = found["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "SchedulerApiMissing")
    assert ready["message"] == "missing: things.example.com in v1; install it"
    assert "dialect" not in found


def test_a_definition_counts_once_the_server_has_accepted_it() -> None:
    def definition(**changes: Any) -> Definition:
        version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        old = {"name": "v0", "served": False}
        content = {
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "things"},
                "versions": [version, old],
            },
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        }
        return msgspec.convert({**content, **changes}, Definition)

    assert schemas([definition()]) == {("example.com", "v1", "things"): {"type": "object"}}
    assert schemas([definition(status={"conditions": None})]) == {}
    leaving = {"name": "things.example.com", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert schemas([definition(metadata=leaving)]) == {}
    assert definition().serves_the_same(definition(metadata={"resourceVersion": "2"}))
    assert not definition().serves_the_same(definition(status={}))


def test_a_field_is_found_through_lists() -> None:
    leaf = {"type": "object", "properties": {"minimum": {"type": "integer"}}}
    groups = {"type": "array", "items": leaf}
    schema: Any = {"properties": {"spec": {"properties": {"groups": groups}}}}
    served = Served(schemas={("example.com", "v1", "things"): schema})
    assert served.has_field(THINGS, "spec", "groups", "minimum")
    assert not served.has_field(THINGS, "spec", "groups", "maximum")
    assert not served.has_field(THINGS, "status")
