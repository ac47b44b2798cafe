"""What the API server will not take, the gang says; and it is tried again."""

import pytest

from backend_controllers.generic.kinds import GANGS
from local_cluster.cluster import Cluster
from tests.backends.generic.flocks import Birds
from tests.backends.generic.gangs import Eyes, gang, until_programmed, until_said
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import Onlooker
from tests.core.policies import WORDS, Policy, enforced

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
            said = await until_said(person, "g", "Programmed", "True", "OutdatedObjectKept")
            assert WORDS in said
            assert flocks.one("g").spec == {"birds": 2}
        await until_said(person, "g", "Programmed", "True", "Programmed")
        await flocks.until(lambda: flocks.one("g").spec == {"birds": 3})
