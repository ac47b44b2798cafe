"""Which PodClique statuses are written at once while many others change, and which later."""

import pytest

from core_operator.controllers.statuses import PodCliqueStatusReconciler
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.core.scene import Scene
from tests.plan.pod_samples import CLIQUE, READY
from tests.plan.samples import NAMESPACE

pytestmark = pytest.mark.usefixtures("handler_order")

KEY = ObjectKey(NAMESPACE, CLIQUE)


class Stage(Scene):
    """The scene with the writer of PodClique statuses, and a crowd of others."""

    def __init__(self, crowd: int = 100) -> None:
        super().__init__()
        applier = Applier(self.client, names.FIELD_MANAGER_CORE, PendingWrites(), Telemetry())
        self.postponed = self.context.progress_debouncer()
        self.reconciler = PodCliqueStatusReconciler(self.context, applier, self.postponed)
        for number in range(crowd):
            self.postponed.remaining(ObjectKey(NAMESPACE, f"other-{number}"))
        self.has_clique()

    async def tells(self) -> bool:
        """Tell whether the status is written; if not, a delayed clique is queued again."""
        before = len(self.client.writes)
        result = await self.reconciler.reconcile(KEY)
        told = len(self.client.writes) > before
        if not told:
            assert isinstance(result, Result)
            assert result.requeue_after
        return told


async def test_progress_in_a_crowd_is_put_off() -> None:
    stage = Stage()
    stage.has_pod(0, READY)
    assert not await stage.tells()
    stage.time += 31.0
    assert await stage.tells()


async def test_progress_of_one_alone_is_told() -> None:
    stage = Stage(crowd=0)
    assert not await stage.tells()
    stage.time += 0.2
    assert await stage.tells()


async def test_readiness_is_told_in_any_crowd() -> None:
    stage = Stage()
    stage.has_pod(0, READY)
    stage.has_pod(1, READY)
    assert await stage.tells()


async def test_a_loss_is_told_in_any_crowd() -> None:
    stage = Stage()
    stage.clique = stage.clique.model_validate(
        {
            **stage.clique.manifest(),
            "status": {"readyReplicas": 2, "observedGeneration": 4, "conditions": []},
        }
    )
    stage.has_clique()
    stage.has_pod(0, READY)
    assert await stage.tells()


async def test_a_problem_is_told_in_any_crowd() -> None:
    stage = Stage()
    stage.context.report_problem(stage.clique, Blocker(BlockingReason.PODS_REFUSED, "no quota"))
    assert await stage.tells()


async def test_a_change_of_the_podclique_is_told_in_any_crowd() -> None:
    stage = Stage()
    stage.clique = stage.clique.model_validate(
        {**stage.clique.manifest(), "status": {"observedGeneration": 3, "conditions": []}}
    )
    stage.has_clique()
    assert await stage.tells()
