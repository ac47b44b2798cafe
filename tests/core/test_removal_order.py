"""Which pods scaling in deletes, in which order, and which names are not used again."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, ClassVar

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Client
from shared_api.kube.resources import PODS, Resource
from tests.core.kit import Onlooker, clique, is_ready, pcs, running_operator
from tests.core.schedulers import STAND_IN
from tests.core.stage import Stage, is_ended, mark_of, on_stage, set_mark, workload
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster


@pytest_asyncio.fixture
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster, scheduled=STAND_IN) as shared:
        yield shared


class Recording(Client):
    """The operator's client, which keeps the order of the deletions that are sent."""

    sent: ClassVar[list[tuple[str, str]]] = []

    async def delete(self, resource: Resource, name: str, *words: Any, **more: Any) -> None:
        self.sent.append((resource.plural, name))
        await super().delete(resource, name, *words, **more)


async def test_at_scale_in_a_gang_does_not_outlive_its_pods(
    core_cluster: Cluster, person: Onlooker
) -> None:
    replicas = 40
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(core_cluster, client_type=Recording) as operator,
    ):
        await person.create(pcs("out", clique("a", 2), replicas=replicas))
        await person.until_ready(2 * replicas)
        of_gang = {
            pod.metadata.name: pod.metadata.labels[names.LABEL_PODGANG] for pod in person.pods
        }
        Recording.sent.clear()
        await person.scale(SETS, "out", 1)
        await person.until(lambda: person.names(GANGS) == ["out-0"] and len(person.pods) == 2)
        await operator.until_idle()
    order = {found: place for place, found in enumerate(Recording.sent)}
    assert len(order) == len(Recording.sent), "each is deleted once"
    late = [
        pod
        for pod, gang in of_gang.items()
        if gang != "out-0" and order[PODS.plural, pod] < order[GANGS.plural, gang]
    ]
    assert not late


def ready_marks_are(stage: Stage, marks: str) -> bool:
    return sorted(mark_of(pod) for pod in stage.pods("od5") if is_ready(pod)) == [*marks]


async def test_scaling_in_deletes_an_outdated_pod_even_if_it_has_the_lowest_index(
    stage: Stage,
) -> None:
    manifest = workload("od5", cliques=[clique("a", 3, minAvailable=2)], groups=[])
    manifest["spec"]["updateStrategy"] = {"type": "OnDelete"}
    await stage.person.create(manifest)
    await stage.until_ready("od5", 3)
    await stage.change("od5", [set_mark(clique("a", 3, minAvailable=2), "2")])
    await stage.until(
        lambda: (
            is_ended(stage.person.get(SETS, "od5"))
            and is_ended(stage.person.get(CLIQUES, "od5-0-a"))
        )
    )
    # One after the other: below the minimum, a countdown would keep the operator busy for a minute.
    for index, marks in (("1", "112"), ("2", "122")):
        await stage.person.delete(stage.person.pods_of("od5-0-a")[index], PODS)
        await stage.until(partial(ready_marks_are, stage, marks))
    kept = {pod.metadata.uid for pod in stage.pods("od5") if mark_of(pod) == "2"}
    await stage.person.scale(CLIQUES, "od5-0-a", 2)
    await stage.until(lambda: stage.uids("od5") == {"od5-0-a": kept})
    await stage.operator.until_idle(60)
    assert stage.uids("od5") == {"od5-0-a": kept}, "the free index is used when it is scaled out"
    await stage.remove("od5")


def is_replaced(stage: Stage, uid: str) -> bool:
    found = stage.person.pods_of("forced-0-a").get("0")
    return found is not None and found.metadata.uid != uid and is_ready(found)


async def test_a_replacement_has_another_name_than_the_pod_that_was_deleted_by_force(
    stage: Stage,
) -> None:
    await stage.person.create(workload("forced", cliques=[clique("a", 2)], groups=[]))
    await stage.until_ready("forced", 2)
    used = {pod.metadata.name for pod in stage.pods("forced")}
    for round_ in range(1, 4):
        victim = stage.person.pods_of("forced-0-a")["0"].metadata
        stage.cluster.kubectl(
            *("delete", "pod", victim.name, "-n", stage.person.namespace),
            *("--grace-period=0", "--force"),
        )
        await stage.until(partial(is_replaced, stage, victim.uid))
        used |= {pod.metadata.name for pod in stage.pods("forced")}
        assert len(used) == 2 + round_
    await stage.remove("forced")


async def test_a_pod_that_was_deleted_while_core_was_down_is_replaced_under_another_name(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving():
        async with running_operator(core_cluster) as operator:
            await person.create(pcs("down", clique("a", 2)))
            await person.until_ready(2)
            await operator.until_idle()
        victim = person.pods_of("down-0-a")["0"].metadata
        core_cluster.kubectl(
            *("delete", "pod", victim.name, "-n", person.namespace),
            *("--grace-period=0", "--force"),
        )
        await person.until(lambda: len(person.pods) == 1)
        async with running_operator(core_cluster):
            await person.until_ready(2)
        assert person.pods_of("down-0-a")["0"].metadata.name != victim.name


async def test_what_is_created_and_deleted_is_recorded_with_the_reasons_of_grove(
    stage: Stage,
) -> None:
    group = {"name": "sg", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}
    manifest = workload("told", 2, cliques=[clique("a", 2), clique("b")], groups=[group])
    await stage.person.create(manifest)
    await stage.until_ready("told", 6)
    await stage.person.scale(SETS, "told", 1)
    person = stage.person
    assert await person.until_event("told", "PodGangCreateOrUpdateSuccessful")
    assert "told-" in await person.until_event("told", "PodCliqueCreateOrUpdateSuccessful")
    assert "-sg-0-b" in await person.until_event("told", "PodCliqueCreateSuccessful")
    assert await person.until_event("told", "PodCliqueScalingGroupCreateSuccessful")
    assert "Created Pods told-0-a-" in await person.until_event("told-0-a", "PodCreateSuccessful")
    assert "Deleted PodClique told-1-" in await person.until_event(
        "told", "PodCliqueDeleteSuccessful"
    )
    assert "Deleted PodGang told-1" in await person.until_event("told", "PodGangDeleteSuccessful")
    assert await person.until_event("told", "PodCliqueScalingGroupDeleteSuccessful")
    await stage.until_ready("told", 3)
    await person.scale(GROUPS, "told-0-sg", 2)
    await stage.until_ready("told", 4)
    await person.scale(GROUPS, "told-0-sg", 1)
    note = await person.until_event("told", "PodCliqueScalingGroupReplicaDeleteSuccessful")
    assert note.startswith("Deleted replica ")
    await person.scale(CLIQUES, "told-0-a", 1)
    assert await person.until_event("told-0-a", "PodDeleteSuccessful") == (
        "Deleted pods, reason Unwanted"
    )
    await stage.remove("told")


async def test_pods_that_the_server_refuses_are_an_event_with_the_reason_of_grove(
    stage: Stage,
) -> None:
    wrong = clique("a", 1, podSpec={"dnsPolicy": "Nowhere"})
    await stage.person.create(workload("refused", cliques=[wrong], groups=[]))
    note = await stage.person.until_event("refused-0-a", "PodCreateFailed")
    assert note.startswith("Pod is refused: ")
    assert "dnsPolicy" in note
    await stage.remove("refused")
