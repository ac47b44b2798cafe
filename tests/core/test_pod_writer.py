"""The one writer that deletes pods protects minAvailable and knows each exemption.

`tests/source/test_pod_deletions.py` proves that it is the only one.
"""

import ast
from pathlib import Path

import pytest

import core_operator
from core_operator.state.caches import CLIQUES
from core_operator.writes.child_writer import Unwanted
from core_operator.writes.pod_writer import MinAvailableExemption, PodCliqueRemoval, PodWriter
from shared_api import names
from shared_api.kube.errors import KubeError, Timeout
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.core.scene import Scene
from tests.plan.pod_samples import BOUND, CLIQUE, GATED, READY, RELEASED
from tests.plan.samples import NAMESPACE
from tests.runtime.writes import Write

BEHALF = Behalf(ObjectKey(NAMESPACE, CLIQUE))


class Stage(Scene):
    """A PodClique with replicas 2 and minAvailable 2, and a writer of its pods."""

    def __init__(self) -> None:
        super().__init__()
        self.applier = Applier(self.client, names.FIELD_MANAGER_CORE, PendingWrites(), Telemetry())
        self.writer = PodWriter(self.context, self.applier)
        self.has_clique()
        self.has_gang()

    async def deletes(self, *pods: Pod, is_update: bool = False) -> list[str]:
        """The pods that are deleted if these are to be."""
        before = len(self.client.sent("delete"))
        await self.writer.delete_within_minimum(
            self.set, self.clique, pods, BEHALF, is_update=is_update
        )
        return self.client.sent("delete")[before:]

    def total(self, name: str, **labels: str) -> float:
        found = self.context.telemetry.registry.get_sample_value(name, labels)
        assert found is not None
        return found

    def violations(self) -> float:
        return self.total("grove_invariant_violations_total", invariant="min_available")

    def lost(self) -> float:
        return self.total("grove_pods_lost_total", cause="Deleted")


@pytest.mark.parametrize("is_update", [False, True])
async def test_a_deletion_that_would_break_min_available_is_refused_and_counted(
    *, is_update: bool
) -> None:
    stage = Stage()
    ready, other = stage.has_pod(0, READY), stage.has_pod(1, READY)
    assert await stage.deletes(ready, other, is_update=is_update) == []
    assert stage.violations() == 1
    assert stage.context.selections.of(stage.clique) == ()


async def test_a_deletion_that_keeps_min_available_is_sent_and_counted() -> None:
    stage = Stage()
    stage.has_pod(0, READY)
    stage.has_pod(1, READY)
    surplus = stage.has_pod(2, READY)
    assert await stage.deletes(surplus) == [surplus.metadata.name]
    assert stage.violations() == 0
    assert stage.total("grove_pods_deleted_total", reason="Unwanted") == 1


async def test_pods_that_are_not_ready_do_not_count_for_min_available() -> None:
    stage = Stage()
    stage.has_pod(0, READY)
    bound = stage.has_pod(1, BOUND)
    assert await stage.deletes(bound) == [bound.metadata.name]


async def test_a_pod_that_is_deleted_does_not_count_as_lost() -> None:
    stage = Stage()
    pods = [stage.has_pod(index, READY) for index in range(2)]
    await stage.writer.delete_exempt(pods, MinAvailableExemption.GANG_TERMINATED, BEHALF)
    for pod in pods:
        stage.loses(pod)
    assert stage.lost() == 0
    assert stage.total("grove_pods_deleted_total", reason="GangTerminated") == 2


async def test_a_deletion_that_fails_is_neither_counted_nor_expected() -> None:
    stage = Stage()
    pod = stage.has_pod(0, READY)

    def refuse(write: Write) -> KubeError | None:
        return Timeout("no answer")

    stage.client.refuse = refuse
    with pytest.raises(Timeout):
        await stage.writer.delete_exempt([pod], MinAvailableExemption.GANG_TERMINATED, BEHALF)
    stage.loses(pod)
    assert stage.lost() == 1


async def test_only_gated_pods_are_given_back_to_a_quota() -> None:
    stage = Stage()
    chosen = [stage.has_pod(index, GATED) for index in range(2)]
    stage.has_pod(1, RELEASED)
    await stage.writer.delete_exempt(chosen, MinAvailableExemption.QUOTA_GIVEN_BACK, BEHALF)
    assert stage.client.sent("delete") == [chosen[0].metadata.name]


async def test_a_podclique_is_deleted_before_its_pods() -> None:
    stage = Stage()
    pods = [stage.has_pod(index, READY).metadata.name for index in range(2)]
    found = stage.caches.cliques.get(ObjectKey(NAMESPACE, CLIQUE))
    assert found is not None
    clique = Unwanted(Target(CLIQUES, stage.caches.cliques), found)
    await PodCliqueRemoval(stage.context, clique, {}).remove(stage.applier, BEHALF)
    assert stage.client.sent("delete") == [CLIQUE, *pods]


def test_every_exemption_is_used_once_and_explained() -> None:
    root = Path(core_operator.__file__).parent
    used = [
        node.attr
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "MinAvailableExemption"
    ]
    # The writer itself names one more: it checks that what is given back is gated.
    assert sorted([*used]) == sorted(
        [*MinAvailableExemption.__members__, MinAvailableExemption.QUOTA_GIVEN_BACK.name]
    )
