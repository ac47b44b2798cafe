"""What the API server refuses to make for a set, the set says; and it recovers."""

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.resources import PODS, SERVICES, Resource
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator
from tests.core.policies import WORDS, Policy, enforced
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster


async def until_told(person: Onlooker, about: str) -> None:
    """Wait until the set says what is refused, in conditions and in an Event."""

    def says(kind: str) -> bool:
        said = condition(person.get(SETS, "w"), kind)
        told = str(said.get("message", ""))
        return said.get("reason") == "ChildRefused" and WORDS in told and about in told

    await person.until(lambda: says("Ready") and says("Stalled"))
    assert not holds(person.get(SETS, "w"), "Ready")
    assert WORDS in await person.until_event("w", "ChildRefused")
    [error] = person.one(SETS, "w").status["lastErrors"]
    assert error["code"] == "ChildRefused"
    assert about in error["description"]


def has_no_errors(person: Onlooker, kind: Resource, name: str) -> bool:
    return "lastErrors" not in person.one(kind, name).status


async def test_a_gang_that_is_refused_is_reported_until_the_set_is_changed(
    core_cluster: Cluster, person: Onlooker
) -> None:
    urgent = "system-cluster-critical"
    policy = Policy(GANGS, unless=f"object.spec.?priorityClassName.orValue('') == '{urgent}'")
    async with (
        StandIn(person.client, "default").serving(),
        enforced(core_cluster, person.namespace, policy),
        running_operator(core_cluster),
    ):
        await person.create(pcs("w", clique("a", 2)))
        await until_told(person, 'podgangs.scheduler.grove.io "w-0"')
        await person.change(SETS, "w", {"spec": {"template": {"priorityClassName": urgent}}})
        await person.until_ready(2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))


@pytest.mark.parametrize(
    ("kind", "operation", "about"),
    [
        (SERVICES, "CREATE", 'services "w-0"'),
        # One of its own, and one of a scaling group.
        (CLIQUES, "CREATE", "podcliques.grove.io"),
        # Its pods are there, and the gang cannot be told of them.
        (GANGS, "UPDATE", 'podgangs.scheduler.grove.io "w-0'),
    ],
    ids=["service", "podcliques", "references"],
)
async def test_what_is_forbidden_is_reported_until_it_is_permitted(
    core_cluster: Cluster, person: Onlooker, kind: Resource, operation: str, about: str
) -> None:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 1}
    policy = Policy(kind, operation, reason="Forbidden")
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        async with enforced(core_cluster, person.namespace, policy):
            cliques = (clique("a"), clique("b"))
            await person.create(pcs("w", *cliques, podCliqueScalingGroups=[group]))
            await until_told(person, about)
        await person.until_ready(2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))


async def test_what_only_a_scaling_group_is_refused_is_reported_by_the_set(
    core_cluster: Cluster, person: Onlooker
) -> None:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 1}
    unless = "!object.metadata.name.startsWith('w-0-s-')"
    policy = Policy(CLIQUES, unless=unless, reason="Forbidden")
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        async with enforced(core_cluster, person.namespace, policy):
            cliques = (clique("a"), clique("b"))
            await person.create(pcs("w", *cliques, podCliqueScalingGroups=[group]))
            await until_told(person, 'podcliques.grove.io "w-0-s-0-b"')
            await person.until(lambda: not has_no_errors(person, GROUPS, "w-0-s"))
        await person.until_ready(2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await person.until(lambda: has_no_errors(person, SETS, "w"))
        await person.until(lambda: has_no_errors(person, GROUPS, "w-0-s"))


async def test_pods_that_a_policy_calls_invalid_are_made_once_it_is_gone(
    core_cluster: Cluster, person: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core_operator.controllers.podclique.REFUSED_AGAIN_AFTER", 0.5)
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        async with enforced(core_cluster, person.namespace, Policy(PODS)):
            await person.create(pcs("w", clique("a", 2)))
            assert WORDS in await person.until_event("w-0-a", "PodsRefused")
            await person.until(lambda: not has_no_errors(person, CLIQUES, "w-0-a"))
        await person.until_ready(2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await person.until(lambda: has_no_errors(person, CLIQUES, "w-0-a"))
