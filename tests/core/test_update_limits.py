"""How many pods an update replaces at a time, and what it reports when it makes no progress."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from shared_api import names
from tests.core.kit import Object, clique, condition, holds
from tests.core.stage import Stage, Witness, on_stage, progress, set_mark, workload

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster) as shared:
        yield shared


GROUP = {
    "name": "sg",
    "cliqueNames": ["c"],
    "replicas": 4,
    "minAvailable": 1,
    "rollingUpdate": {"maxUnavailable": 3},
}


def cliques(mark: str, **pod_spec: object) -> list[Object]:
    """Five `a` of which two may go, four `b` of which the minimum leaves one, and `c` of the group."""
    first = {**clique("a", 5, minAvailable=2), "rollingUpdate": {"maxUnavailable": 2}}
    second = {**clique("b", 4, minAvailable=3), "rollingUpdate": {"maxUnavailable": 4}}
    return [set_mark(one, mark, **pod_spec) for one in (first, second, clique("c", 1))]


def updating(stage: Stage, name: str, field: str) -> str:
    return str(condition(stage.person.get(SETS, name), names.CONDITION_UPDATING).get(field, ""))


def lost(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, int]:
    found = {name: len(uids - after.get(name, set())) for name, uids in before.items()}
    return {name: count for name, count in found.items() if count}


async def test_an_update_replaces_as_many_as_max_unavailable_and_the_minimum_allow(
    stage: Stage,
) -> None:
    await stage.person.create(workload("wide", cliques=cliques("1"), groups=[GROUP]))
    await stage.until_ready("wide", 13)
    before, witness = stage.uids("wide"), Witness(stage, "wide")
    label = "example.com/wide"
    # No node has the label yet, so the update goes as far as it may and stays there.
    await stage.change("wide", cliques("2", nodeSelector={label: "here"}))
    expected = {"wide-0-a": 2, "wide-0-b": 1, **{f"wide-0-sg-{index}-c": 1 for index in range(3)}}
    await stage.until(lambda: lost(before, stage.uids("wide")) == expected)
    await stage.until(lambda: len(stage.pods("wide")) == 13)
    await stage.operator.until_idle(60)
    assert lost(before, stage.uids("wide")) == expected
    told = updating(stage, "wide", "message")
    assert "; at most 2 of a, 4 of b, 3 of sg unavailable; " in told
    stage.cluster.kubectl("label", "node", "node-0", f"{label}=here")
    try:
        await stage.until_updated("wide", 13, "2")
    finally:
        stage.cluster.kubectl("label", "node", "node-0", f"{label}-")
    assert (witness.lowest["wide-0-a"], witness.lowest["wide-0-b"]) == (3, 3)
    assert witness.copies_down == 3
    await stage.remove("wide")


async def test_an_update_that_makes_no_progress_is_reported_until_it_does(stage: Stage) -> None:
    before = [clique("a", 2)]
    await stage.person.create(workload("late", cliques=before, groups=[]))
    await stage.until_ready("late", 2)
    await stage.until(lambda: holds(stage.person.get(SETS, "late"), "Ready"))
    label = "example.com/late"
    strategy = {"rollingUpdate": {"progressDeadlineSeconds": 2}}
    changed = [set_mark(clique("a", 2), "2", nodeSelector={label: "here"})]
    await stage.change("late", changed, updateStrategy=strategy)
    await stage.until(lambda: updating(stage, "late", "reason") == "ProgressDeadlineExceeded")
    told = updating(stage, "late", "message")
    assert told.startswith("no updated pod became ready since ")
    assert ", progressDeadlineSeconds is 2: 0/1 replicas updated; replica 0: " in told
    assert told.endswith(". Correct the template, or apply the former one to roll back")
    assert progress(stage.person.get(SETS, "late"))["updatedPodsCount"] == 0
    await stage.person.until_event("late", "ProgressDeadlineExceeded", 60)
    stage.cluster.kubectl("label", "node", "node-0", f"{label}=here")
    try:
        await stage.until_updated("late", 2, "2")
    finally:
        stage.cluster.kubectl("label", "node", "node-0", f"{label}-")
    assert "lastProgressAt" not in progress(stage.person.get(SETS, "late"))
    await stage.until(lambda: not holds(stage.person.get(SETS, "late"), names.CONDITION_UPDATING))
    await stage.remove("late")


async def test_a_changed_limit_replaces_no_pod(stage: Stage) -> None:
    await stage.person.create(workload("limit", cliques=cliques("1"), groups=[GROUP]))
    await stage.until_ready("limit", 13)
    before = stage.uids("limit")
    wider = cliques("1")
    wider[0]["rollingUpdate"] = {"maxUnavailable": 5}
    await stage.change("limit", wider, updateStrategy={"rollingUpdate": {}})
    await stage.operator.until_idle(60)
    assert stage.uids("limit") == before
    assert not progress(stage.person.get(SETS, "limit"))
    await stage.remove("limit")
