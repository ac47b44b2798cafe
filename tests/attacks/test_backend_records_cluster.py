"""A backend's account reaches its own record and its own gangs, and no other's."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from backend_controllers import registry
from core_operator.state.caches import GANGS
from local_cluster.cluster import Cluster
from local_cluster.hand_written_gang import gang_objects
from shared_api import names
from tests.attacks.conftest import TakenOver
from tests.attacks.kit import APPLY, account
from tests.core.kit import Onlooker, clique, condition, pcs
from tests.deploy.people import Object, Person, podgang

pytestmark = pytest.mark.cluster

_SAMPLES = Path(__file__).parents[1] / "contract" / "samples" / "backends"
_YUNIKORN = "backend-yunikorn"
_LEASE = {"namespace": "grove-system", "name": "backend-kai"}


def _record(name: str, *schedulers: str, **spec: object) -> Object:
    members = {
        "labels": {"app": "payments"},
        "annotations": {"iam.example.com/role": "admin"},
        "spec": {"schedulerName": "default-scheduler"},
    }
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "SchedulerBackend",
        "metadata": {"name": name},
        "spec": {
            "schedulerNames": list(schedulers),
            "capabilities": ["Gang", "GroupMinimums"],
            "preparation": {"mode": "Static", "members": members},
            "schedulingGate": "grove.io/podgang",
            **spec,
        },
    }


def _honest(name: str, *schedulers: str, **spec: object) -> Object:
    preparation = {"mode": "Static", "members": {"spec": {"schedulerName": "default-scheduler"}}}
    return _record(name, *schedulers, preparation=preparation, **spec)


def _gang(status: Object) -> Object:
    return {
        "apiVersion": GANGS.api_version,
        "kind": GANGS.kind,
        "metadata": {"name": "w-0"},
        "status": status,
    }


def _said(kind: str) -> Object:
    return {
        "type": kind,
        "status": "True",
        "reason": "Forged",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }


@pytest.fixture
def administrator(product: Cluster) -> Iterator[Person]:
    """The administrator who installed the product, and removes the records of the test."""
    yield Person(product, "default")
    product.kubectl("delete", "schedulerbackends", "aaa", "kai", "yunikorn", "--ignore-not-found")


@pytest.mark.parametrize("name", sorted(registry.MODULES.keys() - registry.FAR_SIDES))
def test_every_backend_registers_under_its_own_account(product: Cluster, name: str) -> None:
    record = yaml.safe_load((_SAMPLES / f"{name}.yaml").read_text())
    assert not account(product, f"backend-{name}").applied(record, "--dry-run=server")


def test_a_record_may_have_as_many_keys_and_names_as_the_schema_allows(product: Cluster) -> None:
    granted = {
        "backends": (["wide"], "act-as"),
        "podkeys": ([f"k{index}.example/" for index in range(8)], "set"),
        "schedulernames": ([f"scheduler-{index}" for index in range(4)], "claim"),
    }
    rules = [
        {
            "apiGroups": ["policy.grove.io"],
            "resources": [resource],
            "resourceNames": allowed,
            "verbs": [verb],
        }
        for resource, (allowed, verb) in granted.items()
    ]
    records = {"apiGroups": ["grove.io"], "resources": ["schedulerbackends"], "verbs": ["create"]}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "wide"},
        "rules": [*rules, records],
    }
    administrator, backend = Person(product, "default"), account(product, "backend-wide")
    administrator.do("create", "-f", "-", input=role)
    subject = "--serviceaccount=grove-system:backend-wide"
    administrator.do("create", "clusterrolebinding", "wide", "--clusterrole=wide", subject)
    names_, keys = granted["schedulernames"][0], granted["podkeys"][0]
    ask = ("create", "-f", "-", "--dry-run=server")
    wide = _honest("wide", *names_, podKeys=keys, lease=_LEASE)
    try:
        # The authorizer hears of a new binding by a watch of its own.
        assert any(not backend.refused(*ask, input=wide) for _ in range(200))
        wide["spec"]["podKeys"] = [*keys[:7], "iam.example.com/"]
        assert "may not set " in backend.refusal(*ask, input=wide)
        wide["spec"].update(podKeys=keys, schedulerNames=[*names_[:3], "kai-scheduler"])
        assert "may not serve " in backend.refusal(*ask, input=wide)
    finally:
        administrator.do("delete", "clusterrolebinding/wide", "clusterrole/wide")


def test_a_backend_cannot_register_a_second_backend(
    administrator: Person, taken_over: TakenOver
) -> None:
    del administrator
    attacker = taken_over(_YUNIKORN)
    forged = _honest("aaa", "kai-scheduler", lease=_LEASE)
    assert attacker.refusal("create", "-f", "-", input=forged) == (
        "SchedulerBackend aaa can be written only by the backend of that name:"
        " system:serviceaccount:grove-system:backend-yunikorn lacks the verb act-as on"
        " backends.policy.grove.io/aaa"
    )


def test_a_backend_cannot_claim_the_scheduler_or_the_labels_of_another(
    administrator: Person, taken_over: TakenOver
) -> None:
    del administrator
    attacker = taken_over(_YUNIKORN)
    own, keys = "yunikorn", ["yunikorn.apache.org/"]
    assert not attacker.applied(_honest(own, "yunikorn", podKeys=keys, lease=_LEASE))
    claim = _honest(own, "yunikorn", "kai-scheduler", podKeys=keys, lease=_LEASE)
    assert "may not serve kai-scheduler: " in attacker.applied(claim)
    for key in ("iam.example.com/", "kai.scheduler/"):
        more = _honest(own, "yunikorn", podKeys=[*keys, key], lease=_LEASE)
        assert f"may not set {key} on pods: " in attacker.applied(more)
    # Without a list every key that is not reserved would be its own.
    silent = _honest(own, "yunikorn", lease=_LEASE)
    assert "must list in spec.podKeys" in attacker.applied(silent)
    members = {"labels": {"iam.example.com/role": "admin"}}
    preparation = {"mode": "Static", "members": members}
    unlisted = _record(own, "yunikorn", podKeys=keys, lease=_LEASE, preparation=preparation)
    refusal = attacker.invalid("apply", *APPLY, "-f", "-", input=unlisted)
    assert "must be listed in podKeys" in refusal


def test_a_backend_cannot_declare_itself_available(
    administrator: Person, taken_over: TakenOver
) -> None:
    del administrator
    attacker, own = taken_over(_YUNIKORN), "yunikorn"
    keys = ["yunikorn.apache.org/"]
    assert not attacker.applied(_honest(own, "yunikorn", podKeys=keys, lease=_LEASE))
    record: Object = {"apiVersion": "grove.io/v1alpha1", "kind": "SchedulerBackend"}
    record["metadata"] = {"name": own}
    for kind, is_refused in ((names.CONDITION_AVAILABLE, True), (names.CONDITION_READY, False)):
        record["status"] = {"conditions": [_said(kind)]}
        assert bool(attacker.applied(record, "--subresource=status")) is is_refused


def test_nobody_can_have_a_backend_give_pods_a_class_of_the_system(administrator: Person) -> None:
    members = {"spec": {"priorityClassName": "system-node-critical"}}
    record = _record("aaa", "aaa", preparation={"mode": "Static", "members": members})
    assert "classes of the system" in administrator.invalid("create", "-f", "-", input=record)


def test_nobody_can_have_a_backend_label_pods_as_an_application(administrator: Person) -> None:
    refusal = administrator.invalid("create", "-f", "-", input=_record("aaa", "aaa"))
    assert "labels and annotations without a domain" in refusal


async def test_a_later_record_without_a_lease_takes_no_gang_even_without_policies(
    unguarded: Cluster, administrator: Person, taken_over: TakenOver, victim: Onlooker
) -> None:
    administrator.do("create", "-f", "-", input=_honest("kai", "kai-scheduler", lease=_LEASE))
    attacker = taken_over(_YUNIKORN)
    attacker.do("create", "-f", "-", input=_honest("aaa", "kai-scheduler"))
    await victim.create(pcs("w", clique("a", podSpec=_on("kai-scheduler"))))
    await victim.create(pcs("v", clique("a"), annotations=_asking("aaa")))

    def selected(name: str) -> Object:
        return condition(victim.get(GANGS, name), names.CONDITION_BACKEND_SELECTED)

    await victim.until(lambda: selected("w-0") and selected("v-0"))
    assert victim.one(GANGS, "w-0").metadata.labels[names.LABEL_SCHEDULER_BACKEND] == "kai"
    assert selected("v-0")["status"] == "False"
    assert "it has no Lease" in selected("v-0")["message"]
    assert not victim.pods_of("v-0-a")


def test_a_backend_cannot_write_the_status_of_gangs_of_others(
    product: Cluster, home: str, taken_over: TakenOver
) -> None:
    Person(product, home).do("create", "-f", "-", input=podgang("w-0", "kai"))
    attacker = taken_over(_YUNIKORN)
    for status in (
        {"conditions": [_said(names.CONDITION_PROGRAMMED)]},
        {"podPreparations": [{"name": "w-0-a", "members": {}}]},
    ):
        assert attacker.applied(_gang(status), "--subresource=status") == (
            "PodGang w-0 belongs to backend kai: only core and that backend write its status,"
            " not system:serviceaccount:grove-system:backend-yunikorn"
        )


def test_a_backend_cannot_report_what_core_reports_about_its_own_gangs(
    product: Cluster, home: str, taken_over: TakenOver
) -> None:
    Person(product, home).do("create", "-f", "-", input=podgang("w-0", "yunikorn"))
    attacker = taken_over(_YUNIKORN)
    for status in (
        {"conditions": [_said(names.CONDITION_RELEASED)]},
        {"incarnation": 7},
    ):
        refusal = attacker.applied(_gang(status), "--subresource=status")
        assert refusal.endswith("and podPreparations; core writes the rest")
    own = {"conditions": [_said(names.CONDITION_PROGRAMMED)], "phase": "Running"}
    assert not attacker.applied(_gang(own), "--subresource=status")


def test_a_backend_cannot_touch_objects_of_its_scheduler_that_are_not_of_a_gang(
    product: Cluster, home: str, taken_over: TakenOver
) -> None:
    tenant, attacker = Person(product, home), taken_over("backend-default")
    foreign, _ = gang_objects("batch", home, 1)
    ending = (
        " is controlled by no PodGang: a backend creates, changes and deletes only objects of gangs"
    )
    assert attacker.refusal("create", "-f", "-", input=foreign) == f"Workload batch{ending}"
    tenant.do("create", "-f", "-", input=foreign)
    assert attacker.refusal("delete", "workloads/batch") == f"Workload batch{ending}"
    gang = {**_gang({}), "name": "w-0", "uid": "u", "controller": True}
    owner = {key: gang[key] for key in ("apiVersion", "kind", "name", "uid", "controller")}
    foreign["metadata"]["ownerReferences"] = [owner]
    assert attacker.applied(foreign) == f"Workload batch{ending}"
    foreign["metadata"]["name"] = "own"
    attacker.do("create", "-f", "-", input=foreign)


def _on(scheduler: str) -> Object:
    container = {"name": "main", "image": "registry.example.com/app:1"}
    return {"schedulerName": scheduler, "containers": [container]}


def _asking(backend: str) -> dict[str, str]:
    return {names.ANNOTATION_SCHEDULER_BACKEND: backend}
