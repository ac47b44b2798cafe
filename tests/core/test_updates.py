"""Rolling updates: one replica at a time, whole copies, through scaling, roll-back and restarts."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from local_cluster.cluster import Cluster
from local_cluster.simulation.stages import READY_AFTER
from shared_api import names
from shared_api.kube.resources import PODS
from tests.core.kit import clique, condition, holds, is_ready
from tests.core.stage import (
    Stage,
    Witness,
    mark_of,
    marked,
    on_stage,
    progress,
    set_mark,
    workload,
)

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster) as shared:
        yield shared


async def test_a_clique_is_updated_pod_by_pod_and_replica_by_replica(stage: Stage) -> None:
    await stage.person.create(workload("ru7", 2))
    await stage.until_ready("ru7", 12)
    await stage.until(lambda: holds(stage.person.get(SETS, "ru7"), "Ready"))
    before, witness = stage.uids("ru7"), Witness(stage, "ru7")
    await stage.change("ru7", marked("2", "a"))
    await stage.until(
        lambda: (
            {mark_of(pod) for pod in stage.pods("ru7") if "-a-" in pod.metadata.name} == {"2"}
            and "updateEndedAt" in progress(stage.person.get(SETS, "ru7"))
        )
    )
    await stage.until_ready("ru7", 12)
    after = stage.uids("ru7")
    kept = {name for name in before if before[name] == after[name]}
    assert kept == {name for name in before if not name.endswith("-a")}
    assert {name: witness.lowest[name] for name in ("ru7-0-a", "ru7-1-a")} == {
        "ru7-0-a": 1,
        "ru7-1-a": 1,
    }
    assert (witness.replicas_down, witness.copies_down) == (1, 0)
    told = progress(stage.person.get(SETS, "ru7"))
    assert (told["updatedPodCliquesCount"], told["totalPodCliquesCount"]) == (2, 2)
    assert not told.get("currentlyUpdating")
    await stage.until(lambda: "updateEndedAt" in progress(stage.person.get(CLIQUES, "ru7-1-a")))
    await stage.until(lambda: not holds(stage.person.get(SETS, "ru7"), names.CONDITION_UPDATING))
    await stage.person.until_event("ru7", "UpdateStarted", 60)
    await stage.person.until_event("ru7", "UpdateEnded", 60)
    listing = ("controllerrevisions", "-oname", f"-n{stage.person.namespace}")
    stored = stage.cluster.kubectl("get", *listing, "-lapp.kubernetes.io/part-of=ru7").stdout
    assert len(stored.split()) == 2
    await stage.remove("ru7")


async def test_a_scaling_group_is_updated_copy_by_copy_each_as_a_whole(stage: Stage) -> None:
    await stage.person.create(workload("ru8"))
    await stage.until_ready("ru8", 6)
    before, witness = stage.uids("ru8"), Witness(stage, "ru8")
    await stage.change("ru8", marked("2", "b"))
    await stage.until(
        lambda: (
            progress(stage.person.get(SETS, "ru8")).get("updatedPodCliqueScalingGroupsCount") == 1
            and "updateEndedAt" in progress(stage.person.get(SETS, "ru8"))
        )
    )
    await stage.until_ready("ru8", 6)
    after = stage.uids("ru8")
    assert after["ru8-0-a"] == before["ru8-0-a"]
    for name in ("ru8-0-sg-0-b", "ru8-0-sg-0-c", "ru8-0-sg-1-b", "ru8-0-sg-1-c"):
        assert not after[name] & before[name]
    assert witness.copies_down == 1
    await stage.until(lambda: "updateEndedAt" in progress(stage.person.get(GROUPS, "ru8-0-sg")))
    await stage.remove("ru8")


async def test_all_cliques_of_two_replicas_are_updated_one_replica_at_a_time(stage: Stage) -> None:
    await stage.person.create(workload("ru9", 2))
    await stage.until_ready("ru9", 12)
    witness = Witness(stage, "ru9")
    await stage.change("ru9", marked("2"))
    await stage.until_updated("ru9", 12, "2")
    assert (witness.replicas_down, witness.copies_down) == (1, 1)
    assert {witness.lowest["ru9-0-a"], witness.lowest["ru9-1-a"]} == {1}
    await stage.until(lambda: stage.person.one(SETS, "ru9").status.get("updatedReplicas") == 2)
    await stage.remove("ru9")


async def test_a_template_that_does_not_start_costs_one_pod_and_is_rolled_back(
    stage: Stage,
) -> None:
    await stage.person.create(workload("ru10", 2))
    await stage.until_ready("ru10", 12)
    before = stage.uids("ru10")
    nowhere = {"nodeSelector": {"example.com/ru10": "nowhere"}}
    await stage.change("ru10", marked("2", "a", **nowhere))
    await stage.until(
        lambda: (
            "1/2 replicas" not in (told := _updating(stage, "ru10"))
            and told.startswith("0/2 replicas updated; replica 0: ")
            and "1/2 pods scheduled" in told
        )
    )
    await stage.operator.until_idle(60)
    now = stage.uids("ru10")
    lost = {name: len(before[name] - now[name]) for name in before if before[name] != now[name]}
    assert lost == {"ru10-0-a": 1}
    assert holds(stage.person.get(SETS, "ru10"), "Reconciling")
    await stage.change("ru10", marked("1"))
    await stage.until_updated("ru10", 12, "1")
    kept = stage.uids("ru10")
    changed = {name for name in before if before[name] != kept[name]}
    assert changed == {"ru10-0-a"}
    assert len(before["ru10-0-a"] & kept["ru10-0-a"]) == 1
    await stage.remove("ru10")


def _updating(stage: Stage, name: str) -> str:
    return str(condition(stage.person.get(SETS, name), names.CONDITION_UPDATING).get("message", ""))


async def held_update(stage: Stage, name: str) -> str:
    """Begin an update whose pods no node takes until one has the label that is returned."""
    label = f"example.com/{name}"
    await stage.change(name, marked("2", nodeSelector={label: "here"}))
    await stage.until(
        lambda: any(mark_of(pod) == "2" and not is_ready(pod) for pod in stage.pods(name))
    )
    return label


@pytest.mark.parametrize("name", ["ru11", "ru12"], ids=["out", "in"])
async def test_what_is_scaled_in_the_middle_of_an_update_ends_updated(
    stage: Stage, name: str
) -> None:
    await stage.person.create(workload(name, 2))
    await stage.until_ready(name, 12)
    if name == "ru12":
        await stage.person.scale(GROUPS, "ru12-0-sg", 3)
        await stage.person.scale(CLIQUES, "ru12-0-a", 4)
        await stage.until_ready(name, 16)
    label = await held_update(stage, name)
    sizes = {"ru11": (3, 3, 3, 21), "ru12": (1, 2, 2, 6)}
    replicas, copies, pods, total = sizes[name]
    await stage.person.scale(SETS, name, replicas)
    await stage.person.scale(GROUPS, f"{name}-0-sg", copies)
    await stage.person.scale(CLIQUES, f"{name}-0-a", pods)
    stage.cluster.kubectl("label", "node", "node-0", f"{label}=here")
    try:
        await stage.until_updated(name, total, "2")
    finally:
        stage.cluster.kubectl("label", "node", "node-0", f"{label}-")
    await stage.remove(name)


async def test_a_set_scaled_in_below_its_updated_last_replica_updates_the_others(
    stage: Stage,
) -> None:
    one = [clique("a", 2)]
    await stage.person.create(workload("ru13", 2, cliques=one, groups=[]))
    await stage.until_ready("ru13", 4)
    # The one that does not serve is first; here the last by number.
    await stage.sicken(stage.person.pods_of("ru13-1-a")["0"])
    await stage.until(lambda: sum(map(is_ready, stage.pods("ru13"))) == 3)
    await stage.change("ru13", [set_mark(clique("a", 2), "2")])
    await stage.until(
        lambda: (
            len(last := stage.person.pods_of("ru13-1-a").values()) == 2
            and all(is_ready(pod) and mark_of(pod) == "2" for pod in last)
        )
    )
    await stage.person.scale(SETS, "ru13", 1)
    await stage.until_updated("ru13", 2, "2")
    await stage.until(lambda: stage.person.get(CLIQUES, "ru13-1-a") is None)
    await stage.until(lambda: stage.person.one(SETS, "ru13").status["updatedReplicas"] == 1)
    await stage.until(
        lambda: progress(stage.person.get(SETS, "ru13")).get("totalPodCliquesCount") == 1
    )
    await stage.remove("ru13")


async def test_which_pods_an_update_takes_is_told_while_it_lasts(stage: Stage) -> None:
    await stage.person.create(workload("taken", cliques=[clique("a", 3)], groups=[]))
    await stage.until_ready("taken", 3)
    before = {index: pod.metadata.name for index, pod in stage.person.pods_of("taken-0-a").items()}
    slow = set_mark(clique("a", 3), "2")
    slow["annotations"] = {READY_AFTER: "5s"}
    await stage.change("taken", [slow])

    def selected() -> object:
        return progress(stage.person.get(CLIQUES, "taken-0-a")).get("readyPodsSelectedToUpdate")

    await stage.until(lambda: selected() == {"current": before["1"], "completed": [before["0"]]})
    await stage.until_updated("taken", 3, "2")
    await stage.until(lambda: "updateEndedAt" in progress(stage.person.get(CLIQUES, "taken-0-a")))
    assert selected() is None
    await stage.remove("taken")


async def test_sizes_that_were_changed_before_an_update_are_kept_by_it(stage: Stage) -> None:
    await stage.person.create(workload("ru15"))
    await stage.until_ready("ru15", 6)
    await stage.person.scale(GROUPS, "ru15-0-sg", 3)
    await stage.person.scale(CLIQUES, "ru15-0-a", 4)
    await stage.until_ready("ru15", 10)
    witness = Witness(stage, "ru15")
    await stage.change("ru15", marked("2"))
    await stage.until_updated("ru15", 10, "2")
    assert witness.lowest["ru15-0-a"] == 3
    assert witness.copies_down == 1
    await stage.remove("ru15")


async def test_the_replica_that_does_not_serve_is_updated_first(stage: Stage) -> None:
    cliques = [clique("a", 2)]
    await stage.person.create(workload("worst", 3, cliques=cliques, groups=[]))
    await stage.until_ready("worst", 6)
    await stage.sicken(stage.person.pods_of("worst-2-a")["0"])
    await stage.until(lambda: sum(map(is_ready, stage.pods("worst"))) == 5)
    stage.person.history.clear()
    await stage.change("worst", [set_mark(clique("a", 2), "2")])
    await stage.until_updated("worst", 6, "2")
    order = [
        pod.metadata.labels[names.LABEL_PCS_REPLICA_INDEX]
        for _, pod in stage.person.history
        if pod.metadata.labels[names.LABEL_PART_OF] == "worst"
    ]
    assert order == ["2", "2", "0", "0", "1", "1"]
    await stage.remove("worst")


async def test_a_second_update_in_the_middle_of_the_first_converges(stage: Stage) -> None:
    cliques = [clique("a", 2)]
    await stage.person.create(workload("twice", 2, cliques=cliques, groups=[]))
    await stage.until_ready("twice", 4)
    witness = Witness(stage, "twice")
    nowhere = {"nodeSelector": {"example.com/twice": "nowhere"}}
    await stage.change("twice", [set_mark(clique("a", 2), "2", **nowhere)])
    await stage.until(lambda: any(mark_of(pod) == "2" for pod in stage.pods("twice")))
    await stage.change(
        "twice", [set_mark(clique("a", 2), "3", nodeSelector={"kubernetes.io/os": "linux"})]
    )
    await stage.until_updated("twice", 4, "3")
    assert witness.replicas_down == 1
    assert min(witness.lowest.values()) == 1
    await stage.remove("twice")


async def test_a_pod_lost_in_a_replica_that_is_not_yet_updated_keeps_its_template(
    stage: Stage,
) -> None:
    cliques = [clique("a", 2)]
    await stage.person.create(workload("coherent", 2, cliques=cliques, groups=[]))
    await stage.until_ready("coherent", 4)
    nowhere = {"nodeSelector": {"example.com/coherent": "nowhere"}}
    await stage.change("coherent", [set_mark(clique("a", 2), "2", **nowhere)])
    await stage.until(lambda: any(mark_of(pod) == "2" for pod in stage.pods("coherent")))
    lost = stage.person.pods_of("coherent-1-a")["0"]
    await stage.person.delete(lost, PODS)
    await stage.until(
        lambda: (
            (new := stage.person.pods_of("coherent-1-a").get("0")) is not None
            and new.metadata.uid != lost.metadata.uid
            and is_ready(new)
            and mark_of(new) == "1"
        )
    )
    await stage.remove("coherent")


async def test_an_operator_that_is_restarted_in_the_middle_finishes_the_update(
    stage: Stage,
) -> None:
    await stage.person.create(workload("restart", 2))
    await stage.until_ready("restart", 12)
    witness = Witness(stage, "restart")
    await stage.change("restart", marked("2"))
    await stage.until(lambda: any(mark_of(pod) == "2" for pod in stage.pods("restart")))
    await stage.stop()
    await stage.start()
    await stage.until_updated("restart", 12, "2")
    assert (witness.replicas_down, witness.copies_down) == (1, 1)
    await stage.remove("restart")
