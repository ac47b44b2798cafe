"""Under a quota as many gangs run as fit; the others hold nothing, say why, and come next."""

from collections.abc import AsyncIterator
from functools import partial

import pytest

from core_operator.state.caches import CLIQUES, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Client, Patch
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS, Resource
from tests.core.kit import (
    Object,
    Onlooker,
    clique,
    condition,
    gates,
    holds,
    is_ready,
    pcs,
    running_operator,
)
from tests.core.stand_in import StandIn

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
PATIENCE = 90.0


@pytest.fixture
async def person(client: Client, namespace: str) -> AsyncIterator[Onlooker]:
    """Somebody who also watches quotas, beside a backend that programs every gang."""
    async with (
        StandIn(client, "default").serving(),
        Onlooker(client, namespace, (QUOTAS,)).watching() as onlooker,
    ):
        yield onlooker


async def limit(person: Onlooker, **hard: str) -> None:
    """Create or change the quota of the namespace, and wait until it is in force."""
    wanted = {key.replace("_", "."): value for key, value in hard.items()}
    body: Object = {"spec": {"hard": wanted}}
    if person.get(QUOTAS, "compute") is None:
        kind = {"apiVersion": "v1", "kind": QUOTAS.kind}
        metadata = {"name": "compute", "namespace": person.namespace}
        await person.client.create(
            QUOTAS, {**kind, "metadata": metadata, **body}, field_manager="person", into=LooseObject
        )
    else:
        await person.client.patch(
            QUOTAS, "compute", person.namespace, patch=Patch(body), field_manager="person"
        )

    def is_counted() -> bool:
        found = person.get(QUOTAS, "compute")
        return found is not None and found.status.get("hard") == wanted

    await person.until(is_counted)


def serving(person: Onlooker) -> dict[str, int]:
    """The ready pods of each gang that has pods."""
    found = {pod.metadata.labels[names.LABEL_PODGANG]: 0 for pod in person.pods}
    for pod in filter(is_ready, person.pods):
        found[pod.metadata.labels[names.LABEL_PODGANG]] += 1
    return found


def says(person: Onlooker, podclique: str, *words: str) -> bool:
    """Tell whether a PodClique says that it waits for quota, in these words."""
    said = condition(person.get(CLIQUES, podclique), "Stalled")
    message = str(said.get("message", ""))
    return said.get("reason") == "PodsRefused" and all(word in message for word in words)


def waiting(person: Onlooker) -> list[str]:
    """The PodCliques without pods."""
    return [name for name in person.names(CLIQUES) if not person.pods_of(name)]


async def until_running(person: Onlooker, **sets: tuple[int, int]) -> set[str]:
    """Wait until of each set so many gangs of so many pods serve, and the others say why not.

    A gang that has pods and does not serve is one too many. The names of those that serve.
    """

    def is_so() -> bool:
        told = all(says(person, one, "ResourceQuota compute", "used:") for one in waiting(person))
        wanted = sorted((of, size) for of, (count, size) in sets.items() for _ in range(count))
        return told and wanted == sorted(
            (gang.rpartition("-")[0], ready) for gang, ready in serving(person).items()
        )

    await person.until(is_so, PATIENCE)
    return set(serving(person))


class Keeper:
    """Sees whether a pod was deleted that had been released."""

    def __init__(self, person: Onlooker) -> None:
        self._released: set[str] = set()
        self._person = person
        person.seen(PODS, self._on_pod)

    def _on_pod(self, pod: LooseObject) -> None:
        if not gates(pod):
            self._released.add(pod.metadata.uid)

    def assert_kept(self) -> None:
        assert self._released <= {pod.metadata.uid for pod in self._person.pods}


async def test_of_four_gangs_of_four_two_run_under_a_quota_of_eight_and_more_come_as_it_is_raised(
    core_cluster: Cluster, person: Onlooker
) -> None:
    keeper = Keeper(person)
    await limit(person, pods="8")
    async with running_operator(core_cluster) as operator:
        await person.create(pcs("w", clique("a", 2), clique("b", 2), replicas=4))
        first = await until_running(person, w=(2, 4))
        third, fourth = sorted({f"w-{index}" for index in range(4)} - first)
        await person.until(
            lambda: says(
                person,
                f"{fourth}-b",
                f"gang {fourth} does not fit into ResourceQuota compute, requested: pods=1,"
                " used: pods=8, limited: pods=8. 1 gang is before it."
                " Raise the quota or delete pods",
            ),
            PATIENCE,
        )
        said = f"gang {third} does not fit into ResourceQuota compute"
        await person.until(
            lambda: said in str(condition(person.get(SETS, "w"), "Stalled").get("message"))
        )
        await limit(person, pods="13")
        assert await until_running(person, w=(3, 4)) == first | {third}
        await limit(person, pods="16")
        await until_running(person, w=(4, 4))
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        keeper.assert_kept()
        # Some were deleted and recreated, but only a few times.
        await operator.until_idle(PATIENCE)
        seen = operator.writes.seen
        assert seen["post", "pods"] + seen["delete", "pods"] < 16 * 6


async def test_two_sets_of_one_namespace_get_as_many_gangs_and_one_takes_over_what_the_other_leaves(
    core_cluster: Cluster, person: Onlooker
) -> None:
    keeper = Keeper(person)
    await limit(person, pods="9")
    async with running_operator(core_cluster):
        await person.create(pcs("many", clique("a", 2), replicas=8))
        await until_running(person, many=(4, 2))
        await person.create(pcs("few", clique("a", 2), replicas=3))
        await until_running(person, many=(4, 2))
        # The next two go to the set that has fewer.
        await limit(person, pods="13")
        await until_running(person, many=(4, 2), few=(2, 2))
        keeper.assert_kept()
        await person.delete(person.one(SETS, "many"), SETS)
        await until_running(person, few=(3, 2))


async def test_a_quota_on_requests_counts_as_one_on_pods(
    core_cluster: Cluster, person: Onlooker
) -> None:
    await limit(person, requests_cpu="90m")
    async with running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2, cpu="20m"), replicas=3))
        await until_running(person, w=(2, 2))


async def test_an_operator_that_is_restarted_amid_turns_comes_to_the_same(
    core_cluster: Cluster, person: Onlooker
) -> None:
    keeper = Keeper(person)
    await limit(person, pods="8")
    await person.create(pcs("w", clique("a", 4), replicas=4))
    for made in (2, 7, 9):
        async with running_operator(core_cluster):
            await person.until(partial(_has_seen, person, made))
    async with running_operator(core_cluster):
        await until_running(person, w=(2, 4))
    keeper.assert_kept()


def _has_seen(person: Onlooker, pods: int) -> bool:
    # After eight there may be no further pod: those that came first may be two whole gangs.
    return len(person.history) >= pods or len(serving(person)) == 2


async def test_a_gang_that_never_fits_holds_nothing_and_a_smaller_one_runs(
    core_cluster: Cluster, person: Onlooker
) -> None:
    await limit(person, pods="3")
    async with running_operator(core_cluster):
        await person.create(pcs("large", clique("a", 4)))
        await person.until(lambda: says(person, "large-0-a", "does not fit"), PATIENCE)
        await until_running(person)
        await person.create(pcs("small", clique("a", 2)))
        await until_running(person, small=(1, 2))
        await limit(person, pods="6")
        await until_running(person, small=(1, 2), large=(1, 4))


async def test_a_gang_that_runs_gets_a_lost_pod_back_before_another_starts(
    core_cluster: Cluster, person: Onlooker
) -> None:
    await limit(person, pods="4")
    async with running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2), replicas=3))
        first = await until_running(person, w=(2, 2))
        lost = {pod.metadata.uid: pod for pod in person.pods}
        for pod in lost.values():
            # One of each gang: what both leave would be enough for the third.
            if pod.metadata.labels[names.LABEL_POD_INDEX] == "0":
                await person.delete(pod, PODS)
        await person.until(lambda: len(lost.keys() & {p.metadata.uid for p in person.pods}) == 2)
        assert await until_running(person, w=(2, 2)) == first


async def test_an_update_goes_on_while_another_gang_waits_for_the_same_quota(
    core_cluster: Cluster, person: Onlooker
) -> None:
    await limit(person, pods="3")
    async with running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2)))
        await until_running(person, w=(1, 2))
        await person.create(pcs("waits", clique("a", 2)))
        await until_running(person, w=(1, 2))
        changed = clique("a", 2)
        changed["spec"]["podSpec"]["containers"][0]["image"] = "registry.example.com/app:2"
        await person.change(SETS, "w", {"spec": {"template": {"cliques": [changed]}}})
        await person.until(
            lambda: (
                len(person.pods_of("w-0-a")) == 2
                and all(map(is_ready, person.pods))
                and all(_image(pod).endswith(":2") for pod in person.pods)
            ),
            PATIENCE,
        )
        await until_running(person, w=(1, 2))


def _image(pod: LooseObject) -> str:
    return str(pod.spec["containers"][0]["image"])


async def test_a_scaled_gang_comes_after_its_base_gang_and_holds_nothing_before(
    core_cluster: Cluster, person: Onlooker
) -> None:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 3, "minAvailable": 1}
    workload = pcs("w", clique("a", 3), clique("b", 2), podCliqueScalingGroups=[group])
    await limit(person, pods="4")
    async with running_operator(core_cluster):
        await person.create(workload)
        await person.until(lambda: says(person, "w-0-a", "gang w-0 does not fit"), PATIENCE)
        await person.until(lambda: not person.pods, PATIENCE)
        await limit(person, pods="7")
        wanted = [("w-0", 5), ("w-0-s-0", 2)]
        await person.until(lambda: sorted(serving(person).items()) == wanted, PATIENCE)
