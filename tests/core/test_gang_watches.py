"""Which changes reconcile a gang, how soon, and which do not."""

from dataclasses import replace

import pytest

from core_operator.watches.gang_predicates import GangPredicates
from core_operator.watches.tables import WatchTables
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import PodGang
from tests.core.scene import GANG, Scene
from tests.plan.pod_samples import BOUND, FAILED, GATE, GATED, READY, RELEASED, condition, going

pytestmark = pytest.mark.usefixtures("handler_order")

LATEST = 31.0


class Stage(Scene):
    """The scene with a queue of gangs."""

    def __init__(self, **backend: object) -> None:
        super().__init__(**backend)
        self.queue = self.queue_of(WatchTables(self.context).podgang)
        self.expected_ungates = self.context.expected_ungates
        self.predicates = GangPredicates(self.view, self.expected_ungates)

    def affects(self, old: Pod, new: Pod) -> bool:
        """Tell whether a change of a pod makes its gang reconcile."""
        return self.predicates.pod_affects_gang(old, new) or self.predicates.binding_affects_gang(
            old, new
        )

    def due(self) -> ObjectKey | None:
        """The gang that is to be looked at now."""
        key = self.queue.take()
        if key is not None:
            self.queue.done(key)
        return key

    def settle(self, *conditions: object, pods: int = 0) -> PodGang:
        """A gang whose reconciler has nothing to do."""
        self.has_clique()
        gang = self.gang_of(*(f"w-0-a-{index}" for index in range(pods)), conditions=conditions)
        self.has_gang(gang)
        self.time += LATEST
        assert self.due() == GANG
        assert self.due() is None
        return gang


def test_a_gang_is_looked_at_when_its_podclique_is_complete_and_not_pod_by_pod() -> None:
    stage = Stage()
    stage.settle()
    stage.has_pod(0)
    assert stage.due() is None
    stage.has_pod(1)
    assert stage.due() == GANG


def test_a_gang_that_does_not_become_complete_is_looked_at_all_the_same() -> None:
    stage = Stage()
    stage.settle()
    stage.has_pod(0)
    stage.time += LATEST
    assert stage.due() == GANG


def test_a_new_gang_waits_for_its_pods() -> None:
    stage = Stage()
    stage.has_gang()
    assert stage.due() is None
    stage.time += LATEST
    assert stage.due() == GANG


def test_what_a_backend_says_of_a_gang_that_gets_its_first_pods_is_no_news_yet() -> None:
    stage = Stage()
    stage.settle()
    stage.has_pod(0)
    stage.has_gang(stage.gang_of(conditions=[condition(names.CONDITION_PROGRAMMED)]))
    assert stage.due() is None
    stage.has_pod(1)
    assert stage.due() == GANG
    stage.has_gang(stage.gang_of(conditions=[condition(names.CONDITION_PROGRAMMED, "False")]))
    assert stage.due() == GANG, "its pods are all there"


def test_a_new_gang_that_no_backend_can_serve_says_so_at_once() -> None:
    stage = Stage(capabilities=[])
    stage.has_gang()
    assert stage.due() == GANG


def test_a_lost_pod_is_news_once() -> None:
    stage = Stage()
    stage.settle(pods=2)
    stage.has_pod(0, READY)
    stage.has_pod(1, READY)
    assert stage.due() == GANG
    pod = stage.has_pod(0, going(READY))
    assert stage.due() == GANG
    stage.loses(pod)
    assert stage.due() is None
    stage.has_pod(1, FAILED)
    assert stage.due() == GANG


def test_a_gate_that_we_remove_is_expected_and_one_that_another_removes_is_not() -> None:
    stage = Stage()
    gated, free = stage.pod(0, GATED), stage.pod(0, RELEASED)
    assert stage.predicates.pod_affects_gang(gated, free)
    with pytest.raises(ConnectionError), stage.expected_ungates.expect(gated):
        raise ConnectionError
    assert stage.predicates.pod_affects_gang(gated, free), "our write failed"
    with stage.expected_ungates.expect(gated):
        assert not stage.affects(gated, free), "the event may come before the answer"
    assert not stage.affects(gated, free)


def test_a_foreign_gate_that_goes_after_ours_is_not_expected() -> None:
    stage = Stage()
    ours = replace(GATED, annotations=((names.ANNOTATION_PREPARATION, f"{GATE}:digest"),))
    theirs = stage.pod(0, replace(ours, gates=("example.com/theirs",)))
    with stage.expected_ungates.expect(stage.pod(0, ours)):
        pass
    assert stage.affects(theirs, stage.pod(0, replace(ours, gates=())))


def test_a_gate_of_another_that_goes_before_ours_is_news_and_ours_is_still_expected() -> None:
    stage = Stage()
    ours = replace(GATED, annotations=((names.ANNOTATION_PREPARATION, f"{GATE}:digest"),))
    both = stage.pod(0, replace(ours, gates=("example.com/theirs", GATE)))
    held, free = stage.pod(0, ours), stage.pod(0, replace(ours, gates=()))
    with stage.expected_ungates.expect(both):
        assert stage.predicates.pod_affects_gang(both, held)
        assert not stage.affects(held, free)


def test_a_gate_that_we_lift_is_news_where_the_gang_says_that_it_is_released() -> None:
    stage = Stage()
    stage.has_gang(stage.gang_of(conditions=[condition(names.CONDITION_RELEASED, "False")]))
    held, free = stage.pod(0, GATED), stage.pod(0, RELEASED)
    with stage.expected_ungates.expect(held):
        assert stage.predicates.pod_affects_gang(held, free)


@pytest.mark.parametrize(
    "rules",
    [
        {"surplus": "AfterScheduled"},
        {"programs": "AfterRelease"},
        {"memberLost": "RecreateGang"},
        {"afterBound": {"dropAnnotations": ["example.com/a"]}},
    ],
)
def test_nodes_are_news_where_a_backend_makes_something_depend_on_them(
    rules: dict[str, object],
) -> None:
    plain, special = Stage(), Stage(release=rules)
    change = plain.pod(0, RELEASED), plain.pod(0, BOUND)
    assert not plain.affects(*change)
    assert special.affects(*change)


def test_nodes_are_news_where_another_gang_waits_for_them() -> None:
    stage = Stage()
    scaled = stage.gang_of(name="w-0-s-0")
    labels = {**scaled.metadata.labels, names.LABEL_BASE_PODGANG: GANG.name}
    metadata = scaled.metadata.model_copy(update={"labels": labels})
    stage.has_gang(scaled.model_copy(update={"metadata": metadata}))
    assert stage.affects(stage.pod(0, RELEASED), stage.pod(0, BOUND))


def test_readiness_is_no_news() -> None:
    stage = Stage()
    assert not stage.affects(stage.pod(0, BOUND), stage.pod(0, READY))


def test_what_the_reconciler_writes_itself_is_no_news() -> None:
    stage = Stage()
    stage.settle()
    stage.has_gang(stage.gang_of("w-0-a-0", "w-0-a-1"))
    said = condition(names.CONDITION_INITIALIZED), condition(names.CONDITION_BACKEND_SELECTED)
    with stage.own_write(stage.caches.gangs, GANG):
        stage.has_gang(stage.gang_of("w-0-a-0", "w-0-a-1", conditions=said))
    assert stage.due() is None


def test_a_condition_of_core_that_somebody_else_writes_is_news() -> None:
    stage = Stage()
    stage.settle(condition(names.CONDITION_INITIALIZED), pods=2)
    other = condition(names.CONDITION_INITIALIZED, reason="Other")
    stage.has_gang(stage.gang_of("w-0-a-0", "w-0-a-1", conditions=[other]))
    assert stage.due() == GANG


def test_what_the_backend_says_of_a_gang_that_has_its_pods_is_news() -> None:
    stage = Stage()
    stage.settle(pods=2)
    pods = ("w-0-a-0", "w-0-a-1")
    stage.has_gang(stage.gang_of(*pods, conditions=[condition(names.CONDITION_PROGRAMMED)]))
    assert stage.due() == GANG


def test_what_is_taken_from_a_gang_is_news() -> None:
    said = condition(names.CONDITION_INITIALIZED)
    stage = Stage()
    gang = stage.settle(said, pods=2)
    stage.has_gang(stage.gang_of("w-0-a-0", conditions=[said]))
    assert stage.due() == GANG
    stage.has_gang(gang)
    assert stage.due() is None
    unsaid = condition(names.CONDITION_INITIALIZED, "False")
    stage.has_gang(stage.gang_of("w-0-a-0", "w-0-a-1", conditions=[unsaid]))
    assert stage.due() == GANG
    stage.has_gang(stage.gang_of("w-0-a-0", "w-0-a-1"))
    assert stage.due() == GANG


def test_a_gang_that_says_that_it_is_held_looks_whether_it_still_is() -> None:
    stage = Stage()
    stage.settle(pods=2)
    held = condition(names.CONDITION_RELEASED, "False")
    stage.has_gang(stage.gang_of("w-0-a-0", "w-0-a-1", conditions=[held]))
    assert stage.due() == GANG
