"""Gang termination: what is ended, when, and what is left alone."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from local_cluster.cluster import Cluster
from local_cluster.simulation.stages import READY_AFTER
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.core.kit import Object, clique, condition, holds, is_ready
from tests.core.stage import Stage, marked, on_stage, set_mark, workload

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

PENDING = names.CONDITION_GANG_TERMINATION_PENDING
TERMINATED = names.CONDITION_GANG_TERMINATION_IN_PROGRESS
NODES = [f"node-{index}" for index in range(8)]
DELAY = "4s"
LENIENT = [clique("a", 2, minAvailable=1), clique("b", 1), clique("c", 2, minAvailable=1)]
COPIES = {"name": "sg", "cliqueNames": ["b", "c"], "replicas": 2, "minAvailable": 1}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster) as shared:
        yield shared


async def begin(stage: Stage, name: str, pods: int = 6, **more: Any) -> dict[str, set[str]]:
    await stage.person.create(workload(name, terminationDelay=more.pop("delay", DELAY), **more))
    await stage.until_ready(name, pods)
    await stage.until(lambda: holds(stage.person.get(SETS, name), "Ready"))
    # The PodCliques have reported that their minimum is met.
    await stage.until(
        lambda: all(
            condition(item, names.CONDITION_MIN_AVAILABLE_BREACHED).get("reason")
            == names.REASON_SUFFICIENT_READY_PODS
            for item in stage.person.all(CLIQUES)
            if item.metadata.labels[names.LABEL_PART_OF] == name
        )
    )
    return stage.uids(name)


async def sicken(stage: Stage, podclique: str, *indexes: str) -> None:
    for index in indexes:
        await stage.sicken(stage.person.pods_of(podclique)[index])


async def crash(stage: Stage, pod: LooseObject) -> None:
    """Have the container of a pod that was never ready exit, as a kubelet reports it."""
    (container,) = pod.spec["containers"]
    status = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 1,
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    }
    await stage.person.change_status(PODS, pod.metadata.name, {"containerStatuses": [status]})


def said(stage: Stage, name: str) -> Object:
    return condition(stage.person.get(SETS, name), PENDING)


async def until_new(stage: Stage, name: str, before: dict[str, set[str]], *cliques: str) -> None:
    """Wait until exactly the pods of these PodCliques were recreated, and all are ready."""
    count = sum(map(len, before.values()))
    await stage.until(
        lambda: (
            len(stage.pods(name)) == count
            and all(map(is_ready, stage.pods(name)))
            and all(not (stage.uids(name)[one] & before[one]) for one in cliques)
            and not said(stage, name)
        )
    )
    now = stage.uids(name)
    assert {one for one in before if now[one] != before[one]} == set(cliques)


@pytest.mark.parametrize(
    ("name", "sick"), [("gt1", "gt1-0-a"), ("gt2", "gt2-0-sg-1-b")], ids=["alone", "in-a-group"]
)
async def test_a_clique_below_its_minimum_takes_its_whole_replica_with_it(
    stage: Stage, name: str, sick: str
) -> None:
    before = await begin(stage, name)
    await sicken(stage, sick, "0")
    told = ""

    def is_told() -> bool:
        nonlocal told
        told = said(stage, name).get("message", told)
        return bool(told) and holds(stage.person.get(CLIQUES, sick), PENDING)

    await stage.until(is_told)
    assert told.startswith("replica 0 is terminated at 20")
    assert f": {sick}: " in told
    assert told.endswith(("minimum 2", "minimum 1"))
    assert f"{sick}: " in await stage.person.until_event(name, PENDING, 60)
    await until_new(stage, name, before, *before)
    await stage.person.until_event(name, "GangTerminated", 60)
    await stage.until(lambda: not holds(stage.person.get(CLIQUES, sick), PENDING))
    assert stage.operator.metric("grove_gang_terminations_total") >= 1
    await stage.remove(name)


async def test_only_what_leaves_the_minimum_unmet_counts(stage: Stage) -> None:
    before = await begin(stage, "gt3", 8, cliques=LENIENT, groups=[COPIES])
    await sicken(stage, "gt3-0-a", "0")
    await stage.until(lambda: sum(map(is_ready, stage.pods("gt3"))) == 7)
    await stage.operator.until_idle(60)
    assert not said(stage, "gt3")
    assert stage.uids("gt3") == before
    await sicken(stage, "gt3-0-a", "1")
    await until_new(stage, "gt3", before, *before)
    await stage.remove("gt3")


async def test_a_replica_is_recreated_alone_while_enough_others_are_left(stage: Stage) -> None:
    before = await begin(stage, "gt5", 8, cliques=LENIENT, groups=[COPIES])
    await sicken(stage, "gt5-0-sg-1-b", "0")
    await stage.until(
        lambda: (
            said(stage, "gt5")
            .get("message", "")
            .startswith("replica 1 of gt5-0-sg is terminated at ")
        )
    )
    await until_new(stage, "gt5", before, "gt5-0-sg-1-b", "gt5-0-sg-1-c")
    await stage.remove("gt5")


async def test_a_group_with_too_few_replicas_takes_the_replica_with_it(stage: Stage) -> None:
    before = await begin(stage, "gt4", 8, cliques=LENIENT, groups=[COPIES])
    await sicken(stage, "gt4-0-sg-0-b", "0")
    await sicken(stage, "gt4-0-sg-1-b", "0")
    await until_new(stage, "gt4", before, *before)
    await stage.remove("gt4")


async def test_replicas_that_go_down_one_after_the_other_take_the_replica_with_them(
    stage: Stage,
) -> None:
    before = await begin(stage, "gt7", 8, cliques=LENIENT, groups=[COPIES], delay="2s")
    stage.cluster.kubectl("cordon", *NODES)
    try:
        await sicken(stage, "gt7-0-sg-1-b", "0")
        await stage.until(lambda: holds(stage.person.get(CLIQUES, "gt7-0-sg-1-b"), TERMINATED))
        await stage.until(lambda: not said(stage, "gt7"))
        assert not holds(stage.person.get(GROUPS, "gt7-0-sg"), TERMINATED)
        assert stage.uids("gt7")["gt7-0-a"] == before["gt7-0-a"]
        # The first one waits for a node, and still counts as down.
        await sicken(stage, "gt7-0-sg-0-b", "0")
        await stage.until(lambda: holds(stage.person.get(GROUPS, "gt7-0-sg"), TERMINATED))
    finally:
        stage.cluster.kubectl("uncordon", *NODES)
    await until_new(stage, "gt7", before, *before)
    await stage.until(lambda: not condition(stage.person.get(GROUPS, "gt7-0-sg"), TERMINATED))
    await stage.remove("gt7")


async def test_a_gang_that_crashes_from_the_beginning_is_recycled_again_and_again(
    stage: Stage,
) -> None:
    never_ready = clique("a", 1)
    never_ready["annotations"] = {READY_AFTER: "1h"}
    manifest = workload("birth", cliques=[never_ready], groups=[], terminationDelay="2s")
    await stage.person.create(manifest)
    seen: set[str] = set()

    def started() -> LooseObject | None:
        found = [pod for pod in stage.pods("birth") if pod.metadata.uid not in seen]
        return found[0] if found and "nodeName" in found[0].spec else None

    for _ in range(3):
        await stage.until(started)
        pod = started()
        assert pod is not None
        seen.add(pod.metadata.uid)
        await crash(stage, pod)
    await stage.until(started)
    await stage.remove("birth")


async def test_a_lost_pod_above_the_minimum_is_only_replaced(stage: Stage) -> None:
    before = await begin(stage, "gt6", 8, cliques=LENIENT, groups=[COPIES])
    lost = stage.person.pods_of("gt6-0-sg-1-c")["1"]
    await stage.person.delete(lost, PODS)
    await stage.until(
        lambda: (
            (pod := stage.person.pods_of("gt6-0-sg-1-c").get("1")) is not None
            and pod.metadata.uid != lost.metadata.uid
            and is_ready(pod)
        )
    )
    await stage.operator.until_idle(60)
    now = stage.uids("gt6")
    assert sum(len(before[name] - now[name]) for name in before) == 1
    assert not said(stage, "gt6")
    await stage.remove("gt6")


async def test_neither_a_flapping_pod_nor_a_restart_starts_the_countdown_over(
    stage: Stage,
) -> None:
    cliques = [clique("a", 1)]
    await begin(stage, "flap", 1, cliques=cliques, groups=[], delay="4m")
    await sicken(stage, "flap-0-a", "0")
    await stage.until(lambda: said(stage, "flap").get("status") == "True")
    deadline = said(stage, "flap")["message"].split(": ")[0]
    await stage.heal(stage.person.pods_of("flap-0-a")["0"])
    await stage.until(
        lambda: (
            condition(stage.person.get(CLIQUES, "flap-0-a"), PENDING).get("reason")
            == names.REASON_MIN_AVAILABLE_RECOVERING
        )
    )
    await sicken(stage, "flap-0-a", "0")
    await stage.stop()
    await stage.start()
    await stage.until(
        lambda: (
            condition(
                stage.person.get(CLIQUES, "flap-0-a"), names.CONDITION_MIN_AVAILABLE_BREACHED
            ).get("status")
            == "True"
        )
    )
    await stage.operator.until_idle(60)
    assert said(stage, "flap")["message"].split(": ")[0] == deadline
    await stage.remove("flap")


async def test_a_minimum_that_holds_again_ends_the_countdown(stage: Stage) -> None:
    cliques = [clique("a", 1)]
    before = await begin(stage, "heal", 1, cliques=cliques, groups=[], delay="20s")
    await sicken(stage, "heal-0-a", "0")
    await stage.until(lambda: said(stage, "heal").get("status") == "True")
    await stage.heal(stage.person.pods_of("heal-0-a")["0"])
    await stage.until(lambda: not said(stage, "heal"))
    await stage.until(lambda: not condition(stage.person.get(CLIQUES, "heal-0-a"), PENDING))
    assert stage.uids("heal") == before
    await stage.remove("heal")


async def test_what_was_never_scheduled_and_what_is_being_updated_is_not_terminated(
    stage: Stage,
) -> None:
    nowhere = {"nodeSelector": {"example.com/gt": "nowhere"}}
    unready = [set_mark(clique("a", 2), "1", **nowhere)]
    await stage.person.create(workload("never", cliques=unready, groups=[], terminationDelay="1s"))
    await begin(stage, "update", delay="1s")
    await stage.change("update", marked("2", "a", **nowhere))
    reasons = {
        "never-0-a": names.REASON_MIN_AVAILABLE_NEVER_MET,
        "update-0-a": names.REASON_UPDATE_IN_PROGRESS,
    }
    await stage.until(
        lambda: all(
            condition(stage.person.get(CLIQUES, name), names.CONDITION_MIN_AVAILABLE_BREACHED).get(
                "reason"
            )
            == reason
            for name, reason in reasons.items()
        )
    )
    # Longer than the delay, by the longest time in which anything would still be written.
    await stage.operator.until_idle(60)
    assert not said(stage, "never")
    assert not said(stage, "update")
    assert all(not condition(item, PENDING) for item in stage.person.all(CLIQUES))
    await stage.remove("never")
    await stage.remove("update")


async def test_a_gang_that_does_not_come_back_is_not_terminated_again(stage: Stage) -> None:
    cliques = [clique("a", 1), clique("b", 1)]
    before = await begin(stage, "again", 2, cliques=cliques, groups=[], delay="1s")
    stage.cluster.kubectl("cordon", *NODES)
    try:
        await sicken(stage, "again-0-a", "0")
        await stage.until(
            lambda: all(
                holds(stage.person.get(CLIQUES, f"again-0-{name}"), TERMINATED) for name in "ab"
            )
        )
        await stage.until(
            lambda: (
                len(stage.pods("again")) == 2
                and not any(stage.uids("again")[name] & before[name] for name in before)
                and not said(stage, "again")
            )
        )
        once = stage.uids("again")
        await stage.operator.until_idle(60)
        assert stage.uids("again") == once
    finally:
        stage.cluster.kubectl("uncordon", *NODES)
    await stage.until_ready("again", 2)
    await stage.until(
        lambda: (
            not any(
                condition(stage.person.get(CLIQUES, f"again-0-{name}"), TERMINATED) for name in "ab"
            )
        )
    )
    await stage.remove("again")
