"""A tenant tries to read another namespace's ResourceClaimTemplate by having core copy it."""

from collections.abc import AsyncIterator

import pytest

from core_operator.state.caches import SETS
from shared_api.kube.resources import RESOURCE_CLAIMS
from tests.attacks.kit import Attacker
from tests.core.kit import Onlooker, clique, condition, pcs
from tests.deploy.people import Object, Person

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

REASON = "ResourceClaimTemplateNotGranted"


@pytest.fixture
async def seen(victim: Onlooker, evil: str) -> AsyncIterator[Onlooker]:
    """What is in the attacker's namespace."""
    async with Onlooker(victim.client, evil, (RESOURCE_CLAIMS,)).watching() as onlooker:
        yield onlooker


def template(name: str) -> Object:
    """A template whose parameters are nobody else's business."""
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    opaque = {"driver": "gpu.example.com", "parameters": {"tenantKey": "hunter2"}}
    devices = {"requests": [request], "config": [{"opaque": opaque}]}
    return {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": devices}},
    }


def copying(name: str, template: str, namespace: str, scope: str = "AllReplicas") -> Object:
    """A set that shares a claim of another namespace's template."""
    sharing = {"name": template, "namespace": namespace, "scope": scope}
    return pcs(name, clique("a"), resourceSharing=[sharing])


async def stalled(seen: Onlooker, name: str, reason: str) -> str:
    """Wait until a set is stalled for this reason; return its message."""
    await seen.until(lambda: condition(seen.get(SETS, name), "Stalled").get("reason") == reason)
    return str(condition(seen.get(SETS, name), "Stalled")["message"])


async def test_a_template_of_another_namespace_is_not_copied_without_a_grant(
    attacker: Attacker, seen: Onlooker, home: str, evil: str
) -> None:
    Person(attacker._cluster, home).do("create", "-f", "-", input=template("private"))
    attacker.do("create", "-f", "-", input=copying("thief", "private", home))
    attacker.do("create", "-f", "-", input=copying("guess", "imagined", home))
    message = await stalled(seen, "thief", REASON)
    assert f"annotate --namespace={home} resourceclaimtemplate private" in message
    assert message.endswith(f"grove.io/share-with={evil}")
    guess = await stalled(seen, "guess", REASON)
    # Whether a template exists is not told either.
    assert guess.replace("imagined", "private") == message
    assert seen.names(RESOURCE_CLAIMS) == []
    assert seen.pods == []


async def test_a_grant_lets_one_namespace_copy_until_it_is_withdrawn(
    attacker: Attacker, seen: Onlooker, home: str, evil: str
) -> None:
    owner = Person(attacker._cluster, home)
    owner.do("create", "-f", "-", input=template("shared"))
    granting = ("annotate", "--overwrite", "resourceclaimtemplate", "shared")
    owner.do(*granting, f"grove.io/share-with=other,not-{evil}")
    attacker.do("create", "-f", "-", input=copying("guest", "shared", home, "PerReplica"))
    await stalled(seen, "guest", REASON)
    assert seen.names(RESOURCE_CLAIMS) == []
    owner.do(*granting, f"grove.io/share-with=other,{evil}")
    await seen.until(lambda: seen.names(RESOURCE_CLAIMS) == ["guest-0-shared"] and seen.pods)
    uid = seen.one(RESOURCE_CLAIMS, "guest-0-shared").metadata.uid
    owner.do(*granting, "grove.io/share-with-")
    await stalled(seen, "guest", REASON)
    attacker.do("scale", "podcliqueset", "guest", "--replicas=2")
    await seen.until(
        lambda: (
            (found := seen.get(SETS, "guest")) is not None
            and found.status.get("observedGeneration") == found.metadata.generation
        )
    )
    await stalled(seen, "guest", REASON)
    assert seen.names(RESOURCE_CLAIMS) == ["guest-0-shared"]
    assert seen.one(RESOURCE_CLAIMS, "guest-0-shared").metadata.uid == uid
    assert len(seen.pods) == 1
