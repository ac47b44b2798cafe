"""A gang with a placement policy goes from one backend to the next until one runs it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from core_operator.state.caches import CLIQUES, GANGS, POLICIES, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Patch
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.resources import CONFIGMAPS
from tests.core.kit import Object, Onlooker, clique, condition, gates, holds, pcs, running_operator
from tests.core.stand_in import StandIn, programmed

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

NO_CAPACITY = ("False", names.REASON_NO_CAPACITY, "all 8 GPUs are in use")


def refusing(*, accepted: tuple[str, str, str] | None = None, programs: Any = None) -> Any:
    """What a backend says that does not take gangs."""

    def says(gang: LooseObject) -> Object:
        said = programmed(gang)
        for entry in said["conditions"]:
            given = accepted if entry["type"] == names.CONDITION_ACCEPTED else programs
            if given is not None:
                entry["status"], entry["reason"], entry["message"] = given
        return said

    return says


def policy(name: str = "p", **spec: Any) -> Object:
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def among(*names_: str, **spec: Any) -> Object:
    """A policy that allows only these, in this order."""
    return policy(candidates={"required": [{"name": name} for name in names_]}, **spec)


def workload(name: str = "w", pods: int = 2) -> Object:
    annotations = {names.ANNOTATION_PLACEMENT_POLICY: "p"}
    return pcs(name, clique("a", pods), annotations=annotations)


async def create_policy(person: Onlooker, manifest: Object) -> None:
    manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": person.namespace}}
    await person.client.create(POLICIES, manifest, field_manager="person", into=PartialObject)


def backend_of(person: Onlooker, gang: str = "w-0") -> str | None:
    found = person.get(GANGS, gang)
    return found.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if found else None


def attempts(person: Onlooker, gang: str = "w-0") -> list[tuple[str, str | None]]:
    found = person.get(GANGS, gang)
    told = (found.status.get("placement") or {}).get("attempts", []) if found else []
    return [(one["backend"], one.get("outcome")) for one in told]


def selected(person: Onlooker) -> Object:
    return condition(person.get(GANGS, "w-0"), names.CONDITION_BACKEND_SELECTED)


@contextlib.asynccontextmanager
async def two(person: Onlooker, **first: Any) -> AsyncIterator[tuple[StandIn, StandIn]]:
    """A backend with these words, and one that programs every gang."""
    one, other = StandIn(person.client, "one", **first), StandIn(person.client, "other")
    async with one.serving(), other.serving():
        yield one, other
    for name in ("one", "other"):
        await person.remove_backend(name)


@pytest.mark.parametrize(
    ("says", "outcome"),
    [
        (refusing(accepted=("False", "Unsupported", "no queue set")), "Invalid"),
        (refusing(programs=NO_CAPACITY), "Capacity"),
    ],
)
async def test_a_gang_that_a_backend_does_not_take_runs_with_the_next_at_once(
    core_cluster: Cluster, person: Onlooker, says: Any, outcome: str
) -> None:
    async with two(person, says=says), running_operator(core_cluster) as operator:
        await create_policy(person, among("one", "other"))
        await person.create(workload())
        await person.until_ready(2)
        assert backend_of(person) == "other"
        await person.until(lambda: attempts(person) == [("one", outcome), ("other", None)])
        assert {pod.metadata.labels[names.LABEL_SCHEDULER_BACKEND] for pod in person.pods} == {
            "other"
        }
        note = await person.until_event("w", "BackendMoved")
        assert f"PodGang w-0 leaves backend 'one' ({outcome}), next is 'other': " in note
        assert operator.metric("grove_placement_outcomes_total", outcome=outcome) == 1
        await operator.until_idle()
        first = person.get(CLIQUES, "w-0-a")
        assert first is not None
        assert names.ANNOTATION_HANDOVER not in (first.metadata.annotations or {})
        message = selected(person)["message"]
        assert message.startswith("backend 'other' by PlacementPolicy 'p', no weight")


async def test_a_released_gang_that_is_not_scheduled_in_time_gets_new_pods_elsewhere(
    core_cluster: Cluster, person: Onlooker
) -> None:
    # Its scheduler does not exist, so nobody binds its pods.
    nobody = {"mode": "Static", "members": {"spec": {"schedulerName": "nobody"}}}
    async with two(person, preparation=nobody), running_operator(core_cluster):
        await create_policy(person, among("one", "other", admissionTimeout="3s"))
        await person.create(workload())
        await person.until(lambda: len(person.pods) == 2 and not any(map(gates, person.pods)))
        before = {pod.metadata.uid for pod in person.pods}
        assert "moves on at" in selected(person)["message"]
        await person.until_ready(2, seconds=30)
        assert backend_of(person) == "other"
        assert not before & {pod.metadata.uid for pod in person.pods}
        assert attempts(person) == [("one", "Capacity"), ("other", None)]
        told = person.one(GANGS, "w-0").status["placement"]["attempts"][0]
        assert told["message"].startswith("not scheduled within 3s")


async def test_a_gang_goes_only_when_what_its_backend_wrote_is_gone(
    core_cluster: Cluster, person: Onlooker
) -> None:
    def writes(gang: LooseObject) -> list[tuple[Any, Object]]:
        owner = {
            "apiVersion": GANGS.api_version,
            "kind": GANGS.kind,
            "name": gang.metadata.name,
            "uid": gang.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {
            "name": "far-side",
            "namespace": person.namespace,
            "ownerReferences": [owner],
            # As a backend outside of the cluster does: removed once the far side has confirmed.
            "finalizers": ["example.com/far-side"],
        }
        return [(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})]

    says = refusing(programs=NO_CAPACITY)
    async with two(person, says=says, writes=writes), running_operator(core_cluster) as operator:
        await create_policy(person, among("one", "other"))
        await person.create(workload())

        def is_leaving() -> bool:
            gang = person.get(GANGS, "w-0")
            return gang is not None and gang.metadata.deletion_timestamp is not None

        await person.until(is_leaving)
        await operator.until_idle()
        assert backend_of(person) == "one"
        assert all(map(gates, person.pods))
        freed = Patch({"metadata": {"finalizers": None}})
        await person.client.patch(
            CONFIGMAPS, "far-side", person.namespace, patch=freed, field_manager="person"
        )
        await person.until_ready(2)
        assert backend_of(person) == "other"


async def test_a_gang_with_a_bound_pod_stays_whatever_its_policy_allows(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person), running_operator(core_cluster) as operator:
        await create_policy(person, among("one", "other", admissionTimeout="2s"))
        await person.create(workload())
        await person.until_ready(2)
        uids = {pod.metadata.uid for pod in person.pods}
        avoided = {"spec": {"candidates": {"required": [{"name": "other"}]}}}
        await person.client.patch(
            POLICIES, "p", person.namespace, patch=Patch(avoided), field_manager="person"
        )
        await person.until(lambda: "is not among those" in selected(person).get("message", ""), 10)
        await operator.until_idle()
        assert backend_of(person) == "one"
        assert {pod.metadata.uid for pod in person.pods} == uids
        assert "deadline" not in person.one(GANGS, "w-0").status["placement"]


async def test_residency_that_leaves_no_backend_is_reported_with_a_sentence_for_each(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person, location={"region": "us-east"}), running_operator(core_cluster):
        await create_policy(person, among("one", "other", location={"regions": ["eu-west"]}))
        await person.create(workload())
        await person.until(lambda: selected(person).get("reason") == names.REASON_NO_CANDIDATE)
        message = selected(person)["message"]
        assert message.startswith(
            "PlacementPolicy 'p' leaves no backend. Change it, or add an inst"
        )
        assert "one: its region is us-east, the policy allows eu-west" in message
        assert "other: its region is unknown, the policy allows eu-west" in message
        assert not person.pods
        # The policy is changed, and the gang starts without further ado.
        anywhere = Patch({"spec": {"location": None}})
        await person.client.patch(
            POLICIES, "p", person.namespace, patch=anywhere, field_manager="person"
        )
        await person.until_ready(2)


async def test_a_policy_that_does_not_exist_is_named(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person), running_operator(core_cluster):
        await person.create(workload())
        await person.until(lambda: selected(person).get("reason") == names.REASON_POLICY_NOT_FOUND)
        assert selected(person)["message"].startswith("PlacementPolicy 'p' does not exist: create")
        await create_policy(person, among("other"))
        await person.until_ready(2)
        assert backend_of(person) == "other"


async def test_the_annotation_that_names_a_backend_wins_over_a_policy(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with two(person), running_operator(core_cluster):
        await create_policy(person, among("one"))
        chosen = workload()
        chosen["metadata"]["annotations"][names.ANNOTATION_SCHEDULER_BACKEND] = "other"
        await person.create(chosen)
        await person.until_ready(2)
        assert backend_of(person) == "other"
        assert "placement" not in person.one(GANGS, "w-0").status
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
