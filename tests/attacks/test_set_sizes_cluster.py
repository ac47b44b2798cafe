"""A tenant asks for 320,000 objects with one manifest or one number: the others are served."""

from collections.abc import AsyncIterator

import pytest

from core_operator.state.caches import CLIQUES, SETS
from shared_api.kube.resources import RESOURCE_CLAIMS
from tests.attacks.kit import Attacker
from tests.core.kit import Onlooker, clique, condition, pcs
from tests.deploy.people import Object

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

CLAIMS = 32
REPLICAS = 10_000


@pytest.fixture
async def seen(victim: Onlooker, evil: str) -> AsyncIterator[Onlooker]:
    """What is in the attacker's namespace."""
    async with Onlooker(victim.client, evil, (RESOURCE_CLAIMS,)).watching() as onlooker:
        yield onlooker


def templates() -> list[Object]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return [{"name": f"c{number}", "templateSpec": spec} for number in range(CLAIMS)]


def sharing() -> list[Object]:
    return [{"name": f"c{number}", "scope": "PerReplica"} for number in range(CLAIMS)]


async def test_one_manifest_cannot_ask_for_320000_claims(attacker: Attacker) -> None:
    large = pcs(
        "large",
        clique("a"),
        replicas=REPLICAS,
        resourceClaimTemplates=templates(),
        resourceSharing=sharing(),
    )
    with pytest.raises(AssertionError, match="at most 20000 ResourceClaims: 10000 replicas would"):
        attacker.do("create", "-f", "-", input=large)


@pytest.mark.parametrize("what", ["podcliquescalinggroup", "podclique"])
async def test_one_number_cannot_ask_for_320000_claims_while_others_are_served(
    attacker: Attacker, seen: Onlooker, victim: Onlooker, what: str
) -> None:
    cliques = [clique("a"), clique("b")]
    group: Object = {"name": "g", "cliqueNames": ["b"]}
    if what == "podclique":
        cliques[0]["resourceSharing"] = sharing()
    else:
        group["resourceSharing"] = sharing()
    attacker.do(
        "create",
        "-f",
        "-",
        input=pcs(
            "large",
            *cliques,
            resourceClaimTemplates=templates(),
            podCliqueScalingGroups=[group],
        ),
    )
    await seen.until(lambda: len(seen.names(RESOURCE_CLAIMS)) == CLAIMS)
    target = "large-0-a" if what == "podclique" else "large-0-g"
    attacker.do("scale", what, target, f"--replicas={REPLICAS}")
    # The size of a PodClique is its own; that of a scaling group counts in the set.
    told = (CLIQUES, target) if what == "podclique" else (SETS, "large")
    await seen.until(lambda: condition(seen.get(*told), "Stalled").get("reason") == "TooLarge")
    message = condition(seen.get(*told), "Stalled")["message"]
    assert all(part in message for part in ("ResourceClaims", "320000", "at most 20000")), message
    await victim.create(pcs("web", clique("a", 2)))
    await victim.until_ready(2)
    assert len(seen.names(RESOURCE_CLAIMS)) == CLAIMS, "what was there stays, and nothing is made"
