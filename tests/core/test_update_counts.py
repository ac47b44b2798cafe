"""updatedReplicas counts pods of the template that the set wants, from the moment the set changes."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.codec import LooseObject
from tests.core.stage import Stage, mark_of, marked, on_stage, workload

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster) as shared:
        yield shared


def updated(stage: Stage, name: str) -> dict[str, int]:
    """Return updatedReplicas of the PodCliques and scaling groups of a set, by name."""
    found = [*stage.person.all(CLIQUES), *stage.person.all(GROUPS)]
    return {
        item.metadata.name: item.status.get("updatedReplicas", 0)
        for item in found
        if item.metadata.name.startswith(f"{name}-")
    }


async def test_cliques_and_groups_whose_turn_has_not_come_are_not_updated(stage: Stage) -> None:
    await stage.person.create(workload("uc", 2))
    await stage.until_ready("uc", 12)
    await stage.until(lambda: all(updated(stage, "uc").values()))
    label = "example.com/uc"
    await stage.change("uc", marked("2", nodeSelector={label: "here"}))
    await stage.until(lambda: any(mark_of(pod) == "2" for pod in stage.pods("uc")))
    await stage.operator.until_idle(60)
    counts = updated(stage, "uc")
    waiting = {name: count for name, count in counts.items() if name.startswith("uc-1-")}
    assert set(waiting.values()) == {0}, "the second replica waits for the first"
    assert (counts["uc-0-sg"], counts["uc-0-sg-1-b"]) == (0, 0)
    assert stage.person.one(SETS, "uc").status["updatedReplicas"] == 0
    stage.cluster.kubectl("label", "node", "node-0", f"{label}=here")
    await stage.until_updated("uc", 12, "2")
    await stage.until(lambda: stage.person.one(SETS, "uc").status["updatedReplicas"] == 2)
    # The set comes last: who waits for it finds its PodCliques and scaling groups updated.
    # Read from the server: the watches of the test have no order among each other.
    for kind, names in ((CLIQUES, ("uc-0-a", "uc-1-a")), (GROUPS, ("uc-0-sg", "uc-1-sg"))):
        for name in names:
            found = await stage.person.client.get(
                kind, name, stage.person.namespace, into=LooseObject
            )
            assert found.status["updatedReplicas"] == 2, name
    stage.cluster.kubectl("label", "node", "node-0", f"{label}-")
    await stage.remove("uc")
