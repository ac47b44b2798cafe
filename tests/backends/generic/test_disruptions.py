"""Members that are taken away are remembered until the gang has its minimum again."""

import itertools

import msgspec

from backend_controllers.generic.disruptions import Disruption, Disruptions
from shared_api import names
from shared_api.kube.metadata import ObjectKey, ObservedOwnerReference
from shared_api.kube.pods import Pod, PodCondition
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Removed
from tests.backends.generic.samples import NAMESPACE, gang, going, pod

GANG = gang(("a", 2, 3))
CLIQUE = ObservedOwnerReference(
    "grove.io/v1alpha1", "PodClique", "w-0-a", "clique", controller=True
)
TAKEN = "taken by a higher priority"


def member(name: str, reason: str = "PreemptionByScheduler", owner: str = "PodClique") -> Pod:
    """A pod that is marked."""
    made = pod(name)
    labels = {**made.metadata.labels, names.LABEL_PODCLIQUE: "w-0-a"}
    owners = (msgspec.structs.replace(CLIQUE, kind=owner),)
    metadata = msgspec.structs.replace(made.metadata, labels=labels, owner_references=owners)
    mark = PodCondition("DisruptionTarget", "True", reason, TAKEN)
    status = msgspec.structs.replace(made.status, conditions=(mark,))
    return msgspec.structs.replace(made, metadata=metadata, status=status)


class World:
    """Pods that change, and who looks at them."""

    def __init__(self, *gangs: str, surplus_stands_in: bool = False) -> None:
        self._versions = itertools.count(10)
        self.pods: Cache[Pod] = Cache()
        self.seen = Disruptions(
            self.pods,
            {ObjectKey(NAMESPACE, name) for name in gangs}.__contains__,
            surplus_stands_in=surplus_stands_in,
        )

    def changed(self, value: Pod) -> None:
        version = str(next(self._versions))
        metadata = msgspec.structs.replace(value.metadata, resource_version=version)
        self.pods.take(Changed(msgspec.structs.replace(value, metadata=metadata)))

    def removed(self, value: Pod) -> None:
        self.pods.take(Removed(value))

    def told(self, *pods: Pod, is_scheduled: bool = False) -> Disruption | None:
        return self.seen.of(GANG, pods, is_scheduled=is_scheduled)


def test_a_pod_that_was_gone_before_anybody_looked_is_reported() -> None:
    world = World("w-0")
    world.changed(pod("a-0"))
    world.changed(going(member("a-0")))
    world.removed(member("a-0"))
    assert world.told() == Disruption("Preempted", f"1 of 2 pods are being evicted: {TAKEN}")


def test_a_member_that_is_taken_again_and_again_counts_once_and_reports_how_often() -> None:
    world = World("w-0")
    for number in range(11):
        taken = member("a-0")
        metadata = msgspec.structs.replace(taken.metadata, uid=f"uid-{number}")
        marked = msgspec.structs.replace(taken, metadata=metadata)
        world.changed(marked)
        world.changed(going(marked))
        world.removed(marked)
    told = f"1 of 2 pods are being evicted (11 times so far): {TAKEN}"
    assert world.told() == Disruption("Preempted", told)
    assert world.told(is_scheduled=True) is None


def test_it_is_over_when_the_minimum_is_scheduled_and_the_marked_pods_are_gone() -> None:
    world = World("w-0")
    world.changed(member("a-0"))
    assert world.told(is_scheduled=True) is not None
    world.removed(member("a-0"))
    assert world.told(is_scheduled=True) is None
    assert world.told() is None


def test_other_disruptions_keep_their_own_word() -> None:
    world = World("w-0")
    world.changed(member("a-1", "DeletionByTaintManager"))
    told = world.told()
    assert told is not None
    assert told.reason == "DeletionByTaintManager"


def test_surplus_pods_foreign_objects_and_gangs_that_are_gone_do_not_count() -> None:
    world = World("w-0")
    world.changed(member("a-2"))
    world.changed(member("a-0", owner="ReplicaSet"))
    assert world.told() is None
    away = World()
    away.changed(member("a-0"))
    assert away.told() is None


def test_surplus_that_stands_in_for_members_is_reported_in_their_number() -> None:
    world = World("w-0", surplus_stands_in=True)
    world.changed(member("a-2"))
    assert world.told() == Disruption("Preempted", f"1 of 2 pods are being evicted: {TAKEN}")
    world.changed(member("a-1"))
    world.changed(member("a-0"))
    assert world.told() == Disruption("Preempted", f"2 of 2 pods are being evicted: {TAKEN}")


def test_a_gang_that_has_enough_others_is_not_disrupted_where_surplus_stands_in() -> None:
    marked, others = member("a-0"), (pod("a-1"), pod("a-2"))
    world = World("w-0", surplus_stands_in=True)
    world.changed(marked)
    assert world.told(marked, *others, is_scheduled=True) is None
    assert world.told(marked, others[0], is_scheduled=True) is not None
    apart = World("w-0")
    apart.changed(marked)
    assert apart.told(marked, *others, is_scheduled=True) is not None


def test_a_pod_without_a_mark_is_no_disruption() -> None:
    world = World("w-0")
    world.changed(pod("a-0"))
    world.removed(pod("a-0"))
    assert world.told() is None


def unmarked(value: Pod) -> Pod:
    """The pod after its mark was taken back."""
    mark = PodCondition("DisruptionTarget", "False", "", "")
    status = msgspec.structs.replace(value.status, conditions=(mark,))
    return msgspec.structs.replace(value, status=status)


def test_a_pod_whose_mark_is_taken_back_is_not_removed() -> None:
    world = World("w-0")
    world.changed(member("a-0"))
    world.changed(member("a-1"))
    world.changed(unmarked(member("a-0")))
    told = world.told(is_scheduled=True)
    assert told is not None
    assert told.message == f"1 of 2 pods are being evicted: {TAKEN}"
    world.changed(unmarked(member("a-1")))
    assert world.told(is_scheduled=True) is None


def test_a_pod_that_goes_all_the_same_is_removed() -> None:
    world = World("w-0")
    world.changed(member("a-0"))
    world.changed(going(unmarked(member("a-0"))))
    assert world.told() is not None
