"""The verbs that change a set: rollout and scale, as a program against a real cluster."""

import pytest

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from shared_api.kube.codec import LooseObject
from tests.core.stage import GROUP, Stage, is_ended, mark_of, marked, workload
from tests.gangctl.program import Program

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]


def marks(stage: Stage, name: str) -> set[str]:
    return {mark_of(pod) for pod in stage.pods(name)}


def replicas_of(found: LooseObject | None) -> int | None:
    return found.spec["replicas"] if found is not None else None


async def test_undo_brings_back_the_revision_before_and_status_follows_it(
    stage: Stage, gang: Program
) -> None:
    await stage.person.create(workload("w"))
    await stage.until_ready("w", 6)
    first = await gang.run("rollout", "status", "w")
    assert first.code == 0, first.out + first.err
    assert "1 (current)" in first.out
    nothing = await gang.run("rollout", "undo", "w")
    assert nothing.code == 3
    assert "There is no revision before the current one" in nothing.err

    await stage.change("w", marked("2"))
    followed = await gang.run("rollout", "status", "w", "-w", "--timeout", "60")
    assert followed.code == 0, followed.out + followed.err
    assert marks(stage, "w") == {"2"}
    assert "2 (current)" in followed.out

    undone = await gang.run("rollout", "undo", "w", "-o", "json")
    assert undone.code == 0, undone.err
    report = undone.json()
    assert (report["revision"], sorted(report["cliques"])) == (1, ["a", "b", "c"])
    await stage.until_updated("w", 6, "1")
    again = await gang.run("rollout", "undo", "w", "--to-revision", "1")
    assert again.code == 0
    assert "has the templates of revision 1 already" in again.out
    forth = await gang.run("rollout", "undo", "w", "--to-revision", "2")
    assert forth.code == 0, forth.err
    await stage.until_updated("w", 6, "2")
    unknown = await gang.run("rollout", "undo", "w", "--to-revision", "7")
    assert unknown.code == 3
    assert "There is no revision 7. Stored revisions: 1, 2" in unknown.err
    await stage.remove("w")


async def test_restart_replaces_the_pods_of_one_clique_or_of_all(
    stage: Stage, gang: Program
) -> None:
    await stage.person.create(workload("r"))
    await stage.until_ready("r", 6)
    before = stage.uids("r")
    one = await gang.run("rollout", "restart", "r", "-c", "a")
    assert one.code == 0, one.err
    assert "Next: kubectl gang rollout status r" in one.out
    await stage.until(
        lambda: (
            is_ended(stage.person.get(SETS, "r"))
            and not before["r-0-a"] & stage.uids("r").get("r-0-a", set())
        )
    )
    await stage.until_ready("r", 6)
    after = stage.uids("r")
    assert after["r-0-sg-0-b"] == before["r-0-sg-0-b"], "other cliques keep their pods"
    unknown = await gang.run("rollout", "restart", "r", "-c", "x")
    assert unknown.code == 3
    assert "No clique x in r. Cliques: a, b, c." in unknown.err
    everything = await gang.run("rollout", "restart", "r")
    assert everything.code == 0, everything.err
    followed = await gang.run("rollout", "status", "r", "-w", "--timeout", "60")
    assert followed.code == 0, followed.out + followed.err
    now = {uid for uids in stage.uids("r").values() for uid in uids}
    assert not now & {uid for uids in after.values() for uid in uids}
    await stage.remove("r")


async def test_scale_sets_the_size_of_a_set_a_clique_or_a_group(
    stage: Stage, gang: Program
) -> None:
    await stage.person.create(workload("s", groups=[{**GROUP, "minAvailable": 1}]))
    await stage.until_ready("s", 6)
    assert (await gang.run("scale", "s", "--replicas", "2")).code == 0
    await stage.until_ready("s", 12)
    group = await gang.run("scale", "s", "--group", "sg", "--replicas", "3")
    assert group.code == 0, group.err
    assert "PodCliqueScalingGroup s-0-sg   2        3" in group.out
    await stage.until_ready("s", 16)
    one = await gang.run("scale", "s", "-c", "a", "--replica", "1", "--replicas", "3", "-o", "json")
    assert one.code == 0, one.err
    assert [row["name"] for row in one.json()["objects"]] == ["s-1-a"]
    await stage.until_ready("s", 17)
    assert replicas_of(stage.person.get(CLIQUES, "s-0-a")) == 2
    assert replicas_of(stage.person.get(GROUPS, "s-1-sg")) == 3
    member = await gang.run("scale", "s", "-c", "b", "--replicas", "2")
    assert member.code == 3
    assert (
        "Clique b belongs to scaling group sg and is scaled with it: use --group sg" in member.err
    )
    await stage.remove("s")
