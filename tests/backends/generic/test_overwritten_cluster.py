"""What a backend wrote into a status is written again when somebody else changes it."""

import asyncio

import pytest

from backend_controllers.generic.kinds import BACKENDS, GANGS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.codec import LooseObject
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import gang, said, until_programmed, until_said
from tests.backends.kit import running_backend
from tests.core.kit import Object, Onlooker, condition

pytestmark = pytest.mark.cluster

OTHER = f"{names.FIELD_MANAGER_BACKEND_PREFIX}other"


def verdict_of_another() -> Object:
    """The status by which another backend refuses a gang."""
    entry = {"status": "False", "reason": "Other", "message": "I cannot do this gang"}
    return {
        "conditions": [
            {"type": kind, "lastTransitionTime": "2026-01-01T00:00:00Z", **entry}
            for kind in (names.CONDITION_ACCEPTED, names.CONDITION_PROGRAMMED)
        ]
    }


async def write_as_another(person: Onlooker, name: str) -> None:
    """Apply the verdict of another backend, as that does."""
    manifest = {
        "apiVersion": GANGS.api_version,
        "kind": GANGS.kind,
        "metadata": {"name": name, "namespace": person.namespace},
        "status": verdict_of_another(),
    }
    await person.client.apply(
        GANGS, manifest, field_manager=OTHER, force=True, subresource="status"
    )


async def test_a_late_verdict_of_another_backend_does_not_stay_on_a_gang(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    async with running_backend(core_cluster, birds.backend) as flock:
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        for backend in ("other", birds.name):
            labels = {names.LABEL_SCHEDULER_BACKEND: backend}
            await person.change(GANGS, "g", {"metadata": {"labels": labels}})
        await flock.until_idle()
        # The other backend began this write while the gang had its label.
        await write_as_another(person, "g")
        await person.until(lambda: said(person, "g", "Programmed")[1] == "Other")
        await until_programmed(person, "g")
        assert said(person, "g", "Accepted") == ("True", "Accepted")
        await flock.until_idle()
        before = flock.writes.total()
        await flock.until_idle()
        assert flock.writes.total() == before, "it does not wake itself"


async def test_a_gang_that_has_another_label_keeps_the_verdict_of_that_backend(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    async with running_backend(core_cluster, birds.backend) as flock:
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        labels = {names.LABEL_SCHEDULER_BACKEND: "other"}
        await person.change(GANGS, "g", {"metadata": {"labels": labels}})
        await write_as_another(person, "g")
        await until_said(person, "g", "Programmed", "False", "Other")
        await flock.until_idle()
        assert said(person, "g", "Programmed") == ("False", "Other")


async def test_a_status_that_somebody_wipes_is_written_again(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    async with running_backend(core_cluster, birds.backend):
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await person.change_status(GANGS, "g", {"phase": "Running"})
        await person.until(lambda: person.one(GANGS, "g").status["phase"] == "Pending")
        # Every version is looked at: the backend may write before the person looks again.
        wiped = list[bool]()
        person.seen(GANGS, lambda found: wiped.append(not condition(found, "Programmed")))
        await person.change_status(GANGS, "g", None)
        await person.until(lambda: any(wiped))
        await until_programmed(person, "g")


async def test_the_status_of_its_record_that_somebody_wipes_is_written_again(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    async def until_ready() -> None:
        async with asyncio.timeout(60):
            while not await person.backend_holds(birds.name, "Ready"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)  # the onlooker watches no record

    async with running_backend(core_cluster, birds.backend) as flock:
        await flock.until_idle()
        await until_ready()
        entry = {"type": "Ready", "status": "False", "reason": "Forged", "message": ""}
        forged = {**entry, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for status in (None, {"conditions": [forged], "dialect": "none"}):
            await flock.until_idle()
            await person.client.patch(
                BACKENDS,
                birds.name,
                patch=Patch({"status": status}, PatchType.MERGE),
                field_manager="person",
                subresource="status",
            )
            await until_ready()
            record = await person.client.get(BACKENDS, birds.name, into=LooseObject)
            assert record.status["dialect"] != "none"
