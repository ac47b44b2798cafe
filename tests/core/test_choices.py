"""A set's choice of backend is worked out once, and anew when something has changed."""

from shared_api import names
from shared_api.models import PodCliqueSet, SchedulerBackend
from shared_api.runtime.applying.applied_fields import applied
from tests.core import stand_in
from tests.core.scene import Scene
from tests.plan.pod_samples import BACKEND


def test_all_gangs_of_a_set_get_the_same_answer() -> None:
    scene = Scene()
    first = scene.view.choice(scene.set, None, released=False)
    assert first.ok
    assert scene.view.choice(scene.set, None, released=False) is first


def test_a_released_gang_gets_an_answer_of_its_own() -> None:
    scene = Scene()
    held = scene.view.choice(scene.set, "gone", released=False)
    released = scene.view.choice(scene.set, "gone", released=True)
    assert held.backend == BACKEND
    assert released.backend == "gone"
    assert not released.ok


def test_a_set_that_asks_for_another_backend_is_asked_again() -> None:
    scene = Scene()
    assert scene.view.choice(scene.set, None, released=False).ok
    annotations = {names.ANNOTATION_SCHEDULER_BACKEND: "other"}
    metadata = scene.set.metadata.model_copy(update={"annotations": annotations})
    changed: PodCliqueSet = scene.set.model_copy(update={"metadata": metadata})
    assert not scene.view.choice(changed, None, released=False).ok


def test_a_backend_that_can_do_less_is_passed_over_at_once() -> None:
    scene = Scene()
    assert scene.view.choice(scene.set, None, released=False).ok
    record = stand_in.record(BACKEND, capabilities=[])
    record["metadata"]["uid"] = "uid-of-backend"
    value = SchedulerBackend.model_validate(record)
    scene.put(scene.caches.backends, applied(SchedulerBackend)(value, {}))
    assert not scene.view.choice(scene.set, None, released=False).ok
