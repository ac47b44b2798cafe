"""Two instances of one kind, side by side on real KAI, each with a queue of its own."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from backend_controllers.generic.kinds import BACKENDS, GANGS
from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import BINDINGS, PODGROUPS, TOPOLOGIES
from backend_controllers.kai.installation import KaiOptions
from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import LEASES
from tests.backends.kai.live import Stage
from tests.backends.kit import RunningBackend, backend_settings, forget_backends, running_backend
from tests.core.kit import Onlooker, clique, holds, pcs, running_operator

pytestmark = pytest.mark.cluster

SECONDS = 60
ONE, OTHER = "kai", "kai-team-a"


@contextlib.asynccontextmanager
async def both(cluster: Cluster, stage: Stage) -> AsyncIterator[dict[str, RunningBackend]]:
    """The instance that has the kind's name, and one that has another, with a queue for each."""
    queues = {name: f"q-{name}-{stage.namespace}" for name in (ONE, OTHER)}
    for queue in queues.values():
        await stage.queue(queue, "root")
    settings = {
        name: backend_settings(KaiOptions(default_queue=queue)) for name, queue in queues.items()
    }
    try:
        async with (
            running_backend(cluster, BACKEND, settings[ONE]) as one,
            running_backend(cluster, BACKEND.instance(OTHER), settings[OTHER]) as other,
        ):
            yield {ONE: one, OTHER: other}
    finally:
        await forget_backends(stage.client, OTHER)


async def test_each_instance_serves_its_own_gangs_with_its_own_queue(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    client = stage.client
    async with (
        running_operator(kai_with_gangs),
        both(kai_with_gangs, stage) as running,
        Onlooker(client, stage.namespace).watching() as person,
    ):
        for name in running:
            chosen = {names.ANNOTATION_SCHEDULER_BACKEND: name}
            await person.create(pcs(name, clique("a", 2), annotations=chosen))
        gangs = [f"{name}-0" for name in running]
        await person.until(
            lambda: all(holds(person.get(GANGS, g), "Ready") for g in gangs), SECONDS
        )
        for name in running:
            gang = person.one(GANGS, f"{name}-0")
            assert gang.metadata.labels[names.LABEL_SCHEDULER_BACKEND] == name
            group = await client.get(
                PODGROUPS,
                f"pg-{gang.metadata.name}-{gang.metadata.uid}",
                stage.namespace,
                into=LooseObject,
            )
            assert group.metadata.labels[names.LABEL_MANAGED_BY] == f"backend-{name}"
            assert group.spec["queue"] == f"q-{name}-{stage.namespace}"
            lease = await client.get(LEASES, f"backend-{name}", "default", into=LooseObject)
            assert lease.spec["holderIdentity"]
        records = {
            name: await client.get(BACKENDS, name, into=LooseObject) for name in (ONE, OTHER)
        }
        # The record of an instance with the kind's name is as it was before there were instances.
        assert "kind" not in records[ONE].spec
        assert records[OTHER].spec["kind"] == "kai"
        for name, backend in running.items():
            counted = [
                sample.labels["backend"]
                for family in backend.telemetry.registry.collect()
                for sample in family.samples
                if sample.name == "backend_dialect_info"
            ]
            assert counted == [name]
        for name in running:
            await person.delete(person.one(SETS, name), SETS)
        await stage.until(lambda: not stage.known(PODGROUPS))


def topology_writes(running: dict[str, RunningBackend]) -> int:
    """Writes of other objects do not count: inventories, for example, are due at times of their own."""
    return sum(
        count
        for backend in running.values()
        for (_, resource), count in backend.writes.seen.items()
        if resource == TOPOLOGIES.plural
    )


async def test_instances_do_not_contend_for_an_object_that_both_need(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    levels = {"levels": [{"domain": "rack", "key": "example.com/rack"}]}
    async with both(kai_with_gangs, stage) as running:
        for backend in running.values():
            await backend.until_serving()
        before = topology_writes(running)
        await stage.create(BINDINGS, {"metadata": {"name": stage.namespace}, "spec": levels})
        for backend in running.values():
            await backend.until_idle()
        made = await stage.client.get(TOPOLOGIES, stage.namespace, into=LooseObject)
        assert made.metadata.labels[names.LABEL_MANAGED_BY] == "backend-kai"
        written = topology_writes(running) - before
        # One creates it. The other may have sent the same at the same time, once.
        assert written <= 2
