"""What the API server will not take, the gang says; and it is tried again."""

import pytest

from backend_controllers.generic.kinds import GANGS
from local_cluster.cluster import Cluster
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes, gang, said, until_programmed, until_said
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import Onlooker
from tests.core.policies import WORDS, DeadWebhook, Policy, enforced

pytestmark = pytest.mark.cluster


async def test_an_object_that_a_policy_calls_invalid_is_made_once_the_policy_is_gone(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    chosen = backend_settings(refused_again_seconds=0.5)
    async with running_backend(core_cluster, birds.backend, chosen):
        async with enforced(core_cluster, person.namespace, Policy(birds.kind)):
            await person.create(gang("g", birds.name))
            assert WORDS in await until_said(person, "g", "Programmed", "False", "Rejected")
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.get("g"))


async def test_a_change_that_a_policy_calls_invalid_is_made_once_the_policy_is_gone(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    chosen = backend_settings(refused_again_seconds=0.5)
    async with running_backend(core_cluster, birds.backend, chosen):
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        async with enforced(core_cluster, person.namespace, Policy(birds.kind, "UPDATE")):
            await person.change(GANGS, "g", {"spec": gang("g", birds.name, birds=3)["spec"]})
            message = await until_said(person, "g", "Programmed", "True", "OutdatedObjectKept")
            assert WORDS in message
            assert flocks.one("g").spec == {"birds": 2}
        await until_said(person, "g", "Programmed", "True", "Programmed")
        await flocks.until(lambda: flocks.one("g").spec == {"birds": 3})


async def test_an_object_that_the_server_cannot_take_is_reported_until_it_can(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    async with running_backend(core_cluster, birds.backend) as flock:
        webhook = DeadWebhook(birds.kind)
        async with enforced(core_cluster, person.namespace, webhook):
            await person.create(gang("g", birds.name))
            message = await until_said(person, "g", "Programmed", "False", "WriteFailed")
            assert webhook.words in message
            assert said(person, "g", "Accepted") == ("True", "Accepted")
            assert webhook.words in await person.until_event("g", "WriteFailed", 60)
            labels = {"backend": birds.name, "state": "NotProgrammed", "reason": "WriteFailed"}
            assert flock.metric("backend_gangs", **labels) == 1
        await until_programmed(person, "g")
        await flocks.until(lambda: flocks.get("g"))


async def test_a_gang_that_the_scheduler_knows_stays_programmed_while_a_change_fails(
    core_cluster: Cluster, birds: Birds, person: Onlooker, flocks: Eyes
) -> None:
    async with running_backend(core_cluster, birds.backend) as flock:
        await person.create(gang("g", birds.name))
        await until_programmed(person, "g")
        await flock.until_idle()
        webhook = DeadWebhook(birds.kind, "UPDATE")
        async with enforced(core_cluster, person.namespace, webhook):
            await person.change(GANGS, "g", {"spec": gang("g", birds.name, birds=3)["spec"]})
            message = await until_said(person, "g", "Programmed", "True", "OutdatedObjectKept")
            assert webhook.words in message
        await until_said(person, "g", "Programmed", "True", "Programmed")
        await flocks.until(lambda: flocks.one("g").spec == {"birds": 3})
