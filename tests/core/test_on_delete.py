"""OnDelete: only the user replaces pods, and each recreated pod has the new template."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.core.kit import Object, clique, is_ready
from tests.core.stage import (
    Stage,
    is_ended,
    mark_of,
    marked,
    on_stage,
    progress,
    set_mark,
    workload,
)

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

ON_DELETE = {"type": "OnDelete"}
ROLLING = {"type": "RollingRecreate"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster) as shared:
        yield shared


async def begin(stage: Stage, manifest: Object, pods: int) -> dict[str, set[str]]:
    name = manifest["metadata"]["name"]
    manifest["spec"]["updateStrategy"] = ON_DELETE
    await stage.person.create(manifest)
    await stage.until_ready(name, pods)
    return stage.uids(name)


async def until_recorded(stage: Stage, name: str) -> None:
    """Wait until the update is said to be over, and all PodCliques have the new template."""
    await stage.until(
        lambda: (
            is_ended(stage.person.get(SETS, name))
            and all(
                (item.status.get("updateProgress") or {}).get("updateEndedAt")
                for item in stage.person.all(CLIQUES)
                if item.metadata.name.startswith(f"{name}-")
            )
        )
    )


async def replace(stage: Stage, podclique: str, index: str) -> LooseObject:
    """Delete a pod and wait for the next one."""
    old = stage.person.pods_of(podclique)[index]
    await stage.person.delete(old, PODS)
    found: list[LooseObject] = []

    def is_replaced() -> bool:
        new = stage.person.pods_of(podclique).get(index)
        if new is None or new.metadata.uid == old.metadata.uid or not is_ready(new):
            return False
        found.append(new)
        return True

    await stage.until(is_replaced)
    return found[0]


async def test_nothing_is_deleted_and_what_the_user_deletes_comes_back_updated(
    stage: Stage,
) -> None:
    before = await begin(stage, workload("od1", 2), 12)
    await stage.change("od1", marked("2"))
    await until_recorded(stage, "od1")
    await stage.operator.until_idle(60)
    assert stage.uids("od1") == before
    assert progress(stage.person.get(SETS, "od1"))["updatedPodCliquesCount"] == 0
    # One that stands alone, and one of a scaling group in the other replica.
    assert mark_of(await replace(stage, "od1-0-a", "1")) == "2"
    assert mark_of(await replace(stage, "od1-1-sg-1-c", "0")) == "2"
    await stage.until(lambda: stage.person.one(CLIQUES, "od1-0-a").status["updatedReplicas"] == 1)
    now = stage.uids("od1")
    assert sum(len(before[name] - now[name]) for name in before) == 2
    assert mark_of(await replace(stage, "od1-0-a", "0")) == "2"
    await stage.until(
        lambda: (
            progress(stage.person.get(SETS, "od1")).get("updatedPodCliquesCount") == 1
            and stage.person.one(CLIQUES, "od1-0-a").status["updatedReplicas"] == 2
        )
    )
    await stage.remove("od1")


async def test_scaling_in_takes_outdated_pods_first_and_scaling_out_makes_new_ones(
    stage: Stage,
) -> None:
    cliques = [clique("a", 3, minAvailable=1), clique("b", 1)]
    group = {"name": "sg", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}
    await begin(stage, workload("od3", cliques=cliques, groups=[group]), 4)
    changed = [set_mark(clique("a", 3, minAvailable=1), "2"), set_mark(clique("b", 1), "2")]
    await stage.change("od3", changed)
    await until_recorded(stage, "od3")
    await stage.person.scale(CLIQUES, "od3-0-a", 5)
    await stage.person.scale(GROUPS, "od3-0-sg", 2)
    await stage.until_ready("od3", 7)
    assert {mark_of(pod) for pod in stage.person.pods_of("od3-0-sg-1-b").values()} == {"2"}
    await stage.person.scale(CLIQUES, "od3-0-a", 3)
    await stage.until(
        lambda: (
            {index: mark_of(pod) for index, pod in stage.person.pods_of("od3-0-a").items()}
            == {"0": "1", "3": "2", "4": "2"}
        )
    )
    await stage.remove("od3")


async def test_a_clique_of_a_group_that_did_not_change_stays_updated(stage: Stage) -> None:
    before = await begin(stage, workload("od4"), 6)
    await stage.change("od4", marked("2", "b"))
    await stage.until(
        lambda: stage.person.one(CLIQUES, "od4-0-sg-0-b").status.get("updatedReplicas") == 0
    )
    await stage.operator.until_idle(60)
    for replica in (0, 1):
        unchanged = stage.person.one(CLIQUES, f"od4-0-sg-{replica}-c")
        assert unchanged.status["updatedReplicas"] == 1
    assert mark_of(await replace(stage, "od4-0-sg-0-b", "0")) == "2"
    await stage.until(
        lambda: stage.person.one(GROUPS, "od4-0-sg").status.get("updatedReplicas") == 1
    )
    # Core replaces pods again, and finds nothing to replace.
    after = stage.uids("od4")
    await stage.person.change(SETS, "od4", {"spec": {"updateStrategy": ROLLING}})
    await stage.operator.until_idle(60)
    assert stage.uids("od4") == after
    assert after["od4-0-sg-0-c"] == before["od4-0-sg-0-c"]
    await stage.remove("od4")


async def test_a_pod_moves_to_another_node_when_the_user_requests_it(stage: Stage) -> None:
    await begin(stage, workload("od8", cliques=[clique("a", 2)], groups=[]), 2)
    selector = {"kubernetes.io/hostname": "node-5"}
    await stage.change("od8", [set_mark(clique("a", 2), "2", nodeSelector=selector)])
    await until_recorded(stage, "od8")
    moved = await replace(stage, "od8-0-a", "0")
    assert moved.spec["nodeName"] == "node-5"
    await stage.remove("od8")


async def test_the_strategy_can_be_changed_both_ways(stage: Stage) -> None:
    cliques = [clique("a", 2)]
    before = await begin(stage, workload("od9", 2, cliques=cliques, groups=[]), 4)
    await stage.change("od9", [set_mark(clique("a", 2), "2")])
    await until_recorded(stage, "od9")
    # By itself the change of strategy replaces nothing.
    await stage.person.change(SETS, "od9", {"spec": {"updateStrategy": ROLLING}})
    await stage.operator.until_idle(60)
    assert stage.uids("od9") == before
    await stage.change("od9", [set_mark(clique("a", 2), "3")])
    await stage.until_updated("od9", 4, "3")
    # An update that is under way ends where it is.
    nowhere = {"nodeSelector": {"example.com/od9": "nowhere"}}
    await stage.change("od9", [set_mark(clique("a", 2), "4", **nowhere)])
    await stage.until(lambda: any(mark_of(pod) == "4" for pod in stage.pods("od9")))
    await stage.person.change(SETS, "od9", {"spec": {"updateStrategy": ON_DELETE}})
    await stage.until(lambda: is_ended(stage.person.get(SETS, "od9")))
    await stage.operator.until_idle(60)
    assert sorted(mark_of(pod) for pod in stage.pods("od9")) == ["3", "3", "3", "4"]
    await stage.remove("od9")
