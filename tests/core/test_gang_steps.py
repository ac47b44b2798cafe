"""What one reconcile of a gang does by itself, without waiting to see its own writes."""

import pytest

from core_operator.controllers.podgang import PodGangReconciler
from shared_api import names
from shared_api.kube.errors import KubeError, Timeout
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.core.scene import GANG, Scene
from tests.plan.pod_samples import RELEASED
from tests.runtime.writes import Write


class Stage(Scene):
    """The scene with the reconciler of gangs, and a gang whose pods exist."""

    def __init__(self) -> None:
        super().__init__()
        applier = Applier(self.client, names.FIELD_MANAGER_CORE, PendingWrites(), Telemetry())
        self.reconciler = PodGangReconciler(self.context, applier)
        self.has_clique()
        self.has_gang()
        self.has_pod(0)
        self.has_pod(1)


async def test_a_complete_gang_gets_its_references_and_then_reports_that_it_has_them() -> None:
    stage = Stage()
    await stage.reconciler.reconcile(GANG)
    first, second = stage.client.writes
    assert (first.options["subresource"], second.options["subresource"]) == (None, "status")
    (group,) = first.body["spec"]["podgroups"]
    assert [one["name"] for one in group["podReferences"]] == ["w-0-a-0", "w-0-a-1"]
    said = {one["type"]: one["status"] for one in second.body["status"]["conditions"]}
    assert said[names.CONDITION_INITIALIZED] == "True"


async def test_a_gang_whose_references_were_not_taken_reports_nothing() -> None:
    stage = Stage()

    def refuse(write: Write) -> KubeError | None:
        return Timeout("no answer") if write.options["subresource"] is None else None

    stage.client.refuse = refuse
    with pytest.raises(Timeout):
        await stage.reconciler.reconcile(GANG)
    assert [write.options["subresource"] for write in stage.client.writes] == [None]


def test_a_release_that_was_interrupted_is_what_work_begins_with() -> None:
    stage = Stage()
    assert list(stage.reconciler.interrupted()) == []
    stage.has_pod(1, RELEASED)
    assert list(stage.reconciler.interrupted()) == [GANG]
    stage.has_pod(0, RELEASED)
    assert list(stage.reconciler.interrupted()) == []
