"""A backend that is stopped, started and doubled: nothing is lost, and nothing is written in vain."""

from dataclasses import replace

import pytest

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Facts,
    Options,
    Served,
    Translation,
)
from backend_controllers.generic.kinds import BACKENDS, GANGS
from backend_controllers.settings import BackendLeaderElection
from local_cluster.cluster import Cluster
from shared_api.kube.client import Propagation
from shared_api.kube.codec import LooseObject
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import LEASES
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes, gang, until_programmed
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import Onlooker

pytestmark = pytest.mark.cluster


async def test_a_restart_with_everything_in_place_writes_nothing(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    gangs = [f"g{number}" for number in range(20)]
    async with running_backend(core_cluster, birds.backend) as flock:
        for name in gangs:
            await person.create(gang(name, birds.name))
        await until_programmed(person, *gangs)
        await flock.until_idle()
    async with running_backend(core_cluster, birds.backend) as flock:
        await flock.until_idle()
        assert flock.writes.seen == {}
        assert flock.total("backend_gangs") >= len(gangs)


async def test_what_happened_meanwhile_is_caught_up_with(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    async with running_backend(core_cluster, birds.backend):
        for name in ("goes", "grows"):
            await person.create(gang(name, birds.name))
        await until_programmed(person, "goes", "grows")
    gone = person.one(GANGS, "goes")
    await person.client.delete(
        GANGS,
        "goes",
        person.namespace,
        uid=gone.metadata.uid,
        propagation=Propagation.ORPHAN,
    )
    await person.until(lambda: person.get(GANGS, "goes") is None)
    group = {"name": "grows-a", "podReferences": [], "minReplicas": 5}
    await person.change(GANGS, "grows", {"spec": {"podgroups": [group]}})
    await person.create(gang("new", birds.name))
    chosen = backend_settings(orphan_grace_seconds=0.1, gc_seconds=0)
    async with running_backend(core_cluster, birds.backend, chosen):
        await until_programmed(person, "new")
        await flocks.until(lambda: (found := flocks.get("grows")) and found.spec == {"birds": 5})
        # Who deletes a gang and orphans what it owns, wants to keep it.
        await flocks.until(lambda: flocks.one("goes").metadata.controller is None)


async def test_objects_of_a_gang_that_went_meanwhile_are_swept_away(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    async with running_backend(core_cluster, birds.backend):
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
    # The gang is another's by now; its garbage collector has no reason to act.
    elsewhere = {"metadata": {"labels": {"grove.io/scheduler-backend": "another"}}}
    await person.change(GANGS, "g", elsewhere)
    chosen = backend_settings(orphan_grace_seconds=0.1)
    async with running_backend(core_cluster, birds.backend, chosen) as flock:
        await flocks.until(lambda: not flocks.names())
        await flock.until_total("backend_orphans_removed_total", 1)


async def test_of_two_replicas_one_leads_and_the_other_takes_over(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    election = BackendLeaderElection(namespace=person.namespace, name="flock")
    chosen = backend_settings(election=election)
    async with running_backend(core_cluster, birds.backend, chosen) as one:
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        async with running_backend(core_cluster, birds.backend, chosen) as other:
            await other.until_serving()
            await person.create(gang("h", birds.name))
            await until_programmed(person, "h")
            assert other.writes.seen == {}
            lease = await person.client.get(LEASES, "flock", person.namespace, into=LooseObject)
            record = await person.client.get(BACKENDS, birds.name, into=LooseObject)
            assert record.spec["lease"] == {"namespace": person.namespace, "name": "flock"}
            assert lease.spec["holderIdentity"]
            one.process.stop()
            await person.create(gang("i", birds.name))
            await until_programmed(person, "i")
            assert other.writes.total() > 0


class Counted:
    """The example, with a count of its translations."""

    def __init__(self, birds: Birds) -> None:
        self._birds = birds
        self.translations = 0

    @property
    def backend(self) -> Backend:
        return replace(self._birds.backend, detect=self._detect)

    def _detect(self, served: Served, options: Options) -> Dialect | Absent:
        found: Dialect | Absent = self._birds.module["detect"](served, options)
        assert isinstance(found, Dialect)
        return replace(found, translate=self._translate)

    def _translate(self, gang: ObservedPodGang, facts: Facts) -> Translation:
        self.translations += 1
        made: Translation = self._birds.module["translate"](gang, facts)
        return made


async def test_a_change_of_a_status_translates_nothing(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    counted = Counted(birds)
    async with running_backend(core_cluster, counted.backend) as flock:
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await flock.until_idle()
        before = counted.translations
        entry = {
            "type": "Initialized",
            "status": "True",
            "reason": "Because",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        known = person.one(GANGS, "g").status["conditions"]
        await person.change_status(GANGS, "g", {"conditions": [*known, entry]})
        await person.client.apply(
            birds.kind,
            {
                "apiVersion": birds.kind.api_version,
                "kind": birds.kind.kind,
                "metadata": {"name": "g", "namespace": person.namespace},
                "status": {"problem": "no wind"},
            },
            field_manager="scheduler",
            subresource="status",
        )

        def told() -> bool:
            conditions = person.one(GANGS, "g").status["conditions"]
            return any(entry["reason"] == "FlockGrounded" for entry in conditions)

        await person.until(told, 60)
        (scheduled,) = (
            entry
            for entry in person.one(GANGS, "g").status["conditions"]
            if entry["type"] == "Scheduled"
        )
        assert scheduled["message"] == "0/2 pods scheduled: no wind"
        await flock.until_idle()
        assert counted.translations == before
