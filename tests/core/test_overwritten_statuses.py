"""A status that somebody else wipes or overwrites is written again, without waiting for a child."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from core_operator.state.caches import BACKENDS, CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import Resource
from tests.core.kit import Object, Onlooker, Operator, clique, holds, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

GROUP = {"name": "s", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}
NAMES = {SETS: "w", CLIQUES: "w-0-a", GROUPS: "w-0-s", GANGS: "w-0"}
WRITER = {
    SETS: "podcliqueset-status",
    CLIQUES: "podclique-status",
    GROUPS: "podcliquescalinggroup-status",
    GANGS: "podgang",
}
BY_CORE = (names.CONDITION_BACKEND_SELECTED, names.CONDITION_INITIALIZED)


def timeless(value: Any) -> Any:
    """A status without its times, which are new where something was written again."""
    if isinstance(value, dict):
        return {key: timeless(part) for key, part in value.items() if not key.endswith("Time")}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def wiped(status: Object) -> Object | None:
    del status
    return None


def overwritten(status: Object) -> Object | None:
    """The same with other numbers, and conditions that say the opposite."""
    numbers = {key: value + 7 for key, value in status.items() if isinstance(value, int)}
    conditions = [
        {**entry, "status": "False" if entry["status"] == "True" else "True", "reason": "Forged"}
        for entry in status["conditions"]
    ]
    return {**numbers, "conditions": conditions}


def without_core(status: Object) -> Object | None:
    """What a backend says of a gang, alone."""
    return {"conditions": [one for one in status["conditions"] if one["type"] not in BY_CORE]}


def forged_core(status: Object) -> Object | None:
    """What core says of a gang, for another reason."""
    conditions = [
        {**one, "reason": "Forged"} if one["type"] in BY_CORE else one
        for one in status["conditions"]
    ]
    return {"conditions": conditions}


def reconciles(operator: Operator, resource: Resource) -> float:
    """How often the writer of a kind's status has worked."""
    samples = (
        operator.metric(
            "controller_runtime_reconcile_total", controller=WRITER[resource], result=result
        )
        for result in ("success", "requeue_after", "error")
    )
    return sum(samples)


@pytest.mark.parametrize(
    ("resource", "harm"),
    [
        (SETS, wiped),
        (SETS, overwritten),
        (CLIQUES, wiped),
        (CLIQUES, overwritten),
        (GROUPS, wiped),
        (GROUPS, overwritten),
        (GANGS, without_core),
        (GANGS, forged_core),
    ],
    ids=lambda value: getattr(value, "plural", None) or value.__name__,
)
async def test_a_status_that_another_client_changes_is_written_again(
    core_cluster: Cluster,
    person: Onlooker,
    resource: Resource,
    harm: Callable[[Object], Object | None],
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(pcs("w", clique("a"), clique("b"), podCliqueScalingGroups=[GROUP]))
        await person.until_ready(2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await op.until_idle()
        name = NAMES[resource]
        before = person.one(resource, name)
        worked, written = reconciles(op, resource), op.writes.seen.copy()
        harmed = harm(before.status)
        await person.change_status(resource, name, harmed)
        await person.until(
            lambda: (
                (found := person.one(resource, name)).metadata.resource_version
                != before.metadata.resource_version
                and timeless(found.status) == timeless(before.status)
            )
        )
        await op.until_idle()
        assert timeless(person.one(resource, name).status) == timeless(before.status)
        # Once, and not once more for its own write.
        written = op.writes.seen - written
        managers = 2 if resource == SETS else 1
        assert written["apply", f"{resource.plural}/status"] <= managers
        if resource in (CLIQUES, GANGS):
            assert reconciles(op, resource) == worked + 1


async def test_a_status_that_is_not_a_workloads_is_written_again(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async def said() -> Object:
        record = await person.client.get(BACKENDS, "overwritten", into=LooseObject)
        return {one["type"]: one["reason"] for one in record.status.get("conditions", [])}

    async def until_said() -> None:
        async with asyncio.timeout(60):
            while await said() != wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.1)  # the onlooker watches no record

    wanted = {names.CONDITION_AVAILABLE: names.REASON_BACKEND_AVAILABLE}
    entry = {"type": names.CONDITION_AVAILABLE, "status": "False", "reason": "Forged"}
    forged = {**entry, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    async with (
        StandIn(person.client, "overwritten").serving(),
        running_operator(core_cluster) as op,
    ):
        await until_said()
        for status in (None, {"conditions": [forged]}):
            await op.until_idle()
            await person.client.patch(
                BACKENDS,
                "overwritten",
                patch=Patch({"status": status}, PatchType.MERGE),
                field_manager="person",
                subresource="status",
            )
            await until_said()
    await person.remove_backend("overwritten")
