"""Placement policies with real schedulers: KAI and kube-scheduler in one cluster."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from backend_controllers.default import BACKEND as DEFAULT
from backend_controllers.generic.kinds import GANGS
from backend_controllers.kai import BACKEND as KAI
from backend_controllers.kai.api import PODGROUPS, QUEUES
from backend_controllers.kai.installation import KaiOptions
from backend_controllers.settings import BackendInstance, BackendSettings, InstancePrice
from core_operator.state.caches import POLICIES
from local_cluster.cluster import Cluster
from local_cluster.components import SCHEDULER
from local_cluster.schedulers.kai import QUEUE
from shared_api import names
from shared_api.kube.client import Patch
from shared_api.kube.codec import LooseObject, PartialObject
from tests.backends.kai.live import Stage
from tests.backends.kit import backend_settings, forget_backends, running_backend, until_known
from tests.core.kit import (
    Onlooker,
    Operator,
    clique,
    condition,
    holds,
    is_ready,
    pcs,
    running_operator,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

SECONDS = 120
_BACKENDS = ("kai", "kai-cheap", "default")
MOVED = 200
ORDER = [{"name": "kai", "weight": 10}, {"name": "default", "weight": 5}]


class Scene:
    """A namespace with a policy, core, and the two backends."""

    def __init__(self, stage: Stage, person: Onlooker, operator: Operator) -> None:
        self.stage, self.person, self.operator = stage, person, operator

    async def policy(self, **spec: Any) -> None:
        manifest = {
            "apiVersion": POLICIES.api_version,
            "kind": POLICIES.kind,
            "metadata": {"name": "p", "namespace": self.stage.namespace},
            "spec": {"candidates": {"preferred": ORDER}, **spec},
        }
        await self.stage.client.create(
            POLICIES, manifest, field_manager="person", into=PartialObject
        )

    async def create(self, name: str = "w", *, queue: str = "", pods: int = 2, **more: Any) -> None:
        annotations = {names.ANNOTATION_PLACEMENT_POLICY: "p"}
        if queue:
            annotations["kai.scheduler/queue"] = queue
        cpu = more.pop("cpu", "20")
        spec = {"nodeSelector": {"stage": self.stage.namespace}}
        role = clique("a", pods, cpu=cpu, podSpec=spec)
        await self.person.create(pcs(name, role, annotations=annotations, **more))

    def gang(self, name: str = "w-0") -> LooseObject | None:
        return self.person.get(GANGS, name)

    async def until_ready(self, name: str = "w-0") -> None:
        await self.person.until(lambda: holds(self.gang(name), "Ready"), SECONDS)

    def schedulers(self) -> set[str]:
        return {pod.spec["schedulerName"] for pod in self.person.pods}

    def attempts(self, name: str = "w-0") -> list[tuple[str, str | None]]:
        gang = self.person.one(GANGS, name)
        return [(o["backend"], o.get("outcome")) for o in gang.status["placement"]["attempts"]]


@contextlib.asynccontextmanager
async def scene(
    cluster: Cluster, stage: Stage, kai: BackendSettings | None = None
) -> AsyncIterator[Scene]:
    # A record that was there before belongs to a backend that was down, which comes last for a while.
    await forget_backends(stage.client, *_BACKENDS)
    try:
        async with (
            running_operator(cluster) as operator,
            running_backend(cluster, KAI, kai or backend_settings(KaiOptions())) as one,
            running_backend(cluster, DEFAULT) as other,
            Onlooker(stage.client, stage.namespace).watching() as person,
        ):
            await one.until_serving()
            await other.until_serving()
            on = Scene(stage, person, operator)
            await until_known(person, "kai", "default")
            yield on
    finally:
        await forget_backends(stage.client, *_BACKENDS)


async def test_a_gang_that_kai_refuses_runs_on_kube_scheduler_at_once(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(2):
        await stage.add_node(index)
    async with scene(kai_with_gangs, stage) as on:
        await on.policy()
        await on.create()
        await on.until_ready()
        assert on.schedulers() == {"default-scheduler"}
        assert on.attempts() == [("kai", "Invalid"), ("default", None)]
        assert not stage.known(PODGROUPS)


async def test_a_gang_that_does_not_fit_kai_runs_on_kube_scheduler_after_the_timeout(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(2):
        await stage.add_node(index)
    small = f"small-{stage.namespace}"
    await stage.queue(small, "root", cpu=1000)
    async with scene(kai_with_gangs, stage) as on:
        await on.policy(admissionTimeout="5s")
        await on.create(queue=small)
        await on.person.until(lambda: bool(stage.known(PODGROUPS)), SECONDS)
        await on.until_ready()
        assert on.schedulers() == {"default-scheduler"}
        assert on.attempts() == [("kai", "Capacity"), ("default", None)]
        told = on.person.one(GANGS, "w-0").status["placement"]["attempts"][0]["message"]
        assert told.startswith("not scheduled within 5s: 0/2 pods scheduled")
        assert not stage.known(PODGROUPS), "nothing of it is left with KAI"


async def test_a_gang_that_nobody_can_run_returns_to_the_first_when_that_has_capacity(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(2):
        await stage.add_node(index)
    small = f"small-{stage.namespace}"
    await stage.queue(small, "root", cpu=1000)
    control = kai_with_gangs.control
    async with scene(kai_with_gangs, stage) as on:
        await asyncio.to_thread(control.stop, SCHEDULER)
        try:
            await on.policy(admissionTimeout="3s")
            await on.create(queue=small)

            def starts_over() -> bool:
                told = condition(on.gang(), names.CONDITION_BACKEND_SELECTED)
                return "all candidates were tried, starts over at" in told.get("message", "")

            await on.person.until(starts_over, SECONDS)
            enough = {"spec": {"resources": {"cpu": {"quota": -1, "limit": -1}}}}
            await stage.client.patch(QUEUES, small, patch=Patch(enough), field_manager="person")
            await on.until_ready()
        finally:
            await asyncio.to_thread(control.resume, SCHEDULER)
        assert on.schedulers() == {"kai-scheduler"}
        found = [("kai", "Capacity"), ("default", "Capacity"), ("kai", None)]
        assert on.attempts() == found


async def test_under_cost_the_cheaper_of_two_instances_runs_the_gang(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(2):
        await stage.add_node(index)

    def priced(cpu: str) -> BackendSettings:
        price = InstancePrice(per_cpu_hour=cpu, source="contract")
        settings = backend_settings(KaiOptions(default_queue=QUEUE))
        return settings.model_copy(update={"instance": BackendInstance(price=price)})

    dear, cheap = priced("0.05"), priced("0.03")
    async with (
        scene(kai_with_gangs, stage, dear) as on,
        running_backend(kai_with_gangs, KAI.instance("kai-cheap"), cheap) as other,
    ):
        await other.until_serving()
        await until_known(on.person, "kai-cheap")
        await on.policy(objective="Cost", candidates={"required": [{"kind": "kai"}]})
        await on.create()
        await on.until_ready()
        gang = on.person.one(GANGS, "w-0")
        assert gang.metadata.labels[names.LABEL_SCHEDULER_BACKEND] == "kai-cheap"
        told = condition(gang, names.CONDITION_BACKEND_SELECTED)["message"]
        assert told.startswith("backend 'kai-cheap' by PlacementPolicy 'p', 1.20 USD/h")
        assert "others: kai: 2.00 USD/h" in told


async def test_many_gangs_that_all_have_to_move_run_whole_with_few_writes(
    kai_with_gangs: Cluster, stage: Stage, record_property: Any
) -> None:
    for index in range(5):
        await stage.add_node(index)
    async with scene(kai_with_gangs, stage) as on:
        await on.policy()
        await on.operator.until_idle()
        before, began = on.operator.writes.total(), asyncio.get_running_loop().time()
        await on.create(cpu="50m", replicas=MOVED)

        def all_run() -> bool:
            return len(on.person.pods) == 2 * MOVED and all(map(is_ready, on.person.pods))

        await on.person.until(all_run, 300)
        took = asyncio.get_running_loop().time() - began
        await on.operator.until_idle()
        written = (on.operator.writes.total() - before) / MOVED
        record_property("seconds", round(took, 1))
        record_property("writes of core per gang", round(written, 2))
        gangs = on.person.all(GANGS)
        assert {gang.metadata.labels[names.LABEL_SCHEDULER_BACKEND] for gang in gangs} == {
            "default"
        }
        assert all(on.attempts(gang.metadata.name)[0] == ("kai", "Invalid") for gang in gangs)
        assert on.schedulers() == {"default-scheduler"}
        # No pod was bound by anyone else before: each was created for the scheduler that runs it.
        assert not stage.known(PODGROUPS)
        assert written < 40
