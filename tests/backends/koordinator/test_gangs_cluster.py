"""What Koordinator gets wrong if gangs are written carelessly, on the real scheduler."""

import pytest

from backend_controllers.generic.kinds import GANGS
from backend_controllers.koordinator import BACKEND
from backend_controllers.koordinator.api import KEY_POD_GROUP
from core_operator.state.caches import SETS
from local_cluster.simulation.stages import TERMINATES_AFTER
from shared_api.kube.resources import PODS
from tests.backends.kit import running_backend
from tests.backends.suite.stage import SECONDS, Stage
from tests.core.kit import condition, gates, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(300)]


async def test_members_come_first_and_surplus_gets_what_capacity_is_left(stage: Stage) -> None:
    await stage.add_nodes(6)
    cliques = [stage.clique("prefill", 2), stage.clique("decode", 5, minAvailable=3)]
    cluster = stage.bed.cluster
    async with running_operator(cluster), running_backend(cluster, BACKEND):
        await stage.create_of("w", cliques)
        await stage.person.until(lambda: len(stage.bound("w-0")) == 6, SECONDS)
        placed = {
            pod.metadata.labels[KEY_POD_GROUP]
            for pod in stage.pods("w-0")
            if KEY_POD_GROUP in pod.metadata.labels and pod.spec.get("nodeName")
        }
        assert len(placed) == 2
        [left] = [pod for pod in stage.pods("w-0") if not pod.spec.get("nodeName")]
        assert KEY_POD_GROUP not in left.metadata.labels
        await stage.person.until(
            lambda: stage.said("w-0", "Ready").get("status") == "True", SECONDS
        )


async def test_a_gang_that_lost_everything_starts_whole_or_not_at_all(stage: Stage) -> None:
    first, *_ = await stage.add_nodes(3)
    cluster, person = stage.bed.cluster, stage.person
    async with running_operator(cluster), running_backend(cluster, BACKEND):
        await stage.create("w", {"a": 2, "b": 1})
        await stage.until_runs("w")
        cluster.kubectl("cordon", first)
        before = {pod.metadata.uid for pod in person.pods}
        for pod in person.pods:
            await person.delete(pod, PODS)

        def waits() -> bool:
            said = stage.said("w-0", "Scheduled")
            anew = not before & {pod.metadata.uid for pod in person.pods}
            return anew and "fits 2 of 3: " in said.get("message", "")

        await person.until(waits, SECONDS)
        assert stage.bound("w-0") == []
        assert not any(map(gates, stage.pods("w-0")))
        cluster.kubectl("uncordon", first)
        await stage.until_runs("w")


async def test_a_gang_of_the_same_name_does_not_count_pods_that_are_still_going(
    stage: Stage,
) -> None:
    await stage.add_nodes(2)
    cluster, person = stage.bed.cluster, stage.person
    slow = stage.clique("a", 2, podSpec={"terminationGracePeriodSeconds": 600})
    slow["annotations"] = {TERMINATES_AFTER: "never"}
    async with running_operator(cluster), running_backend(cluster, BACKEND):
        await stage.create_of("w", [slow])
        await stage.until_runs("w")
        old = {pod.metadata.name: pod.metadata.uid for pod in person.pods}
        former = person.one(GANGS, "w-0").metadata.uid
        await stage.delete("w")
        await person.until(lambda: person.get(SETS, "w") is None, SECONDS)
        # Room for one of two: the other's place is held by a pod that does not go.
        await stage.add_nodes(1)
        await stage.create("w", {"a": 2})
        await stage.person.until(
            lambda: (
                (gang := person.get(GANGS, "w-0")) is not None
                and gang.metadata.uid != former
                and "fits 1 of 2: " in condition(gang, "Scheduled").get("message", "")
            ),
            SECONDS,
        )
        assert stage.bound("w-0") == []
        for name, uid in old.items():
            await person.client.delete(PODS, name, stage.namespace, uid=uid, grace_period=0)
        await stage.until_runs("w")
