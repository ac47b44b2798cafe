"""Only the leader counts lost pods and the recoveries of gangs."""

from dataclasses import fields, replace

import pytest

from core_operator.metrics import CoreMetrics
from core_operator.state.caches import OWNER, CoreCaches
from core_operator.state.pod_losses import PodLosses
from shared_api import names
from shared_api.kube.metadata import Metadata, ObservedOwnerReference
from shared_api.kube.pods import Pod, PodCondition, PodStatus
from shared_api.models import KubeObject, PodClique, PodGang
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.clock import Clock
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import by_controller
from shared_api.runtime.watching.reflector import Changed, Removed
from tests.core.kit import clique

pytestmark = pytest.mark.usefixtures("handler_order")

LOST, REPAIRED = "grove_pods_lost_total", "grove_gang_repair_seconds_count"
READY = PodStatus(phase="Running", conditions=(PodCondition("Ready", "True"),))
FAILED = PodStatus(phase="Failed", reason="Evicted")


class Process:
    """The books of one process, before caches that the test fills."""

    def __init__(self, *, leads: bool) -> None:
        self.leads = leads
        self.events: list[str] = []
        self._version = 0
        self._telemetry = Telemetry()
        empty = CoreCaches(*(Cache() for one in fields(CoreCaches) if not one.kw_only))
        self._caches = replace(empty, pods=Cache({OWNER: by_controller}))
        metrics = CoreMetrics(self._telemetry)
        clock = Clock(monotonic=lambda: 0.0)
        self.losses = PodLosses(self._caches, metrics, clock, self, self._record_event)
        self._caches.cliques.take(Changed(applied(PodClique)(_clique(), {})))
        self._caches.gangs.take(Changed(applied(PodGang)(_gang(), {})))

    def loses_gang(self) -> None:
        """Let the gang be seen to be gone."""
        self._caches.gangs.take(Removed(applied(PodGang)(_gang(), {})))

    def has_gang_anew(self) -> None:
        """Let a gang of the same name be seen."""
        self._caches.gangs.take(Changed(applied(PodGang)(_gang("again"), {})))

    def remaining(self) -> float:
        return 10.0 if self.leads else 0.0

    def see(self, name: str, status: PodStatus) -> Pod:
        """Show the process a pod."""
        self._version += 1
        metadata = Metadata(
            name=name,
            namespace="n",
            uid=name,
            resource_version=f"{self._version}",
            labels={names.LABEL_PODGANG: "g"},
            owner_references=(
                ObservedOwnerReference("grove.io/v1alpha1", "PodClique", "c", "c", controller=True),
            ),
        )
        pod = Pod(metadata=metadata, status=status)
        self._caches.pods.take(Changed(pod))
        return pod

    def total(self, name: str) -> float:
        samples = (one for family in self._telemetry.registry.collect() for one in family.samples)
        return sum(one.value for one in samples if one.name == name)

    def _record_event(self, about: KubeObject, reason: str, note: str) -> None:
        self.events.append(f"{about.metadata.name} {reason} {note}")


def _clique() -> PodClique:
    metadata = {"name": "c", "namespace": "n", "uid": "c", "resourceVersion": "1"}
    return PodClique.model_validate({"metadata": metadata, "spec": clique("c")["spec"]})


def _gang(uid: str = "g") -> PodGang:
    metadata = {"name": "g", "namespace": "n", "uid": uid, "resourceVersion": "1"}
    group = {"name": "c", "podReferences": [], "minReplicas": 1}
    return PodGang.model_validate({"metadata": metadata, "spec": {"podgroups": [group]}})


def test_the_leader_counts_a_lost_pod_and_the_repair() -> None:
    leader = Process(leads=True)
    leader.see("p", READY)
    leader.see("p", FAILED)
    assert leader.total(LOST) == 1
    assert leader.events == ["c PodLost pod p is lost: Evicted"]
    leader.see("q", READY)
    assert leader.total(REPAIRED) == 1


def test_what_a_gang_lost_before_it_went_is_no_repair_of_its_successor() -> None:
    leader = Process(leads=True)
    leader.see("p", READY)
    leader.see("p", FAILED)
    leader.loses_gang()
    leader.see("q", READY)
    leader.see("q", FAILED)
    leader.has_gang_anew()
    leader.see("r", READY)
    assert (leader.total(LOST), leader.total(REPAIRED)) == (2, 0)
    leader.see("r", FAILED)
    leader.see("s", READY)
    assert leader.total(REPAIRED) == 1


def test_what_the_leader_deletes_itself_is_not_lost() -> None:
    leader = Process(leads=True)
    with leader.losses.expected_deletions.expect(leader.see("p", READY)):
        leader.see("p", FAILED)
    assert leader.total(LOST) == 0
    with leader.losses.expected_deletions.expect(leader.see("q", READY)):
        pass
    leader.see("q", FAILED)
    assert leader.total(LOST) == 0


def test_a_pod_that_is_lost_after_its_deletion_has_failed_is_lost() -> None:
    leader = Process(leads=True)
    with (
        pytest.raises(ConnectionError),
        leader.losses.expected_deletions.expect(leader.see("p", READY)),
    ):
        raise ConnectionError
    leader.see("p", FAILED)
    assert leader.total(LOST) == 1


def test_a_process_that_does_not_lead_counts_nothing_and_tells_nothing() -> None:
    standby = Process(leads=False)
    standby.see("p", READY)
    standby.see("p", FAILED)
    standby.see("q", READY)
    assert (standby.total(LOST), standby.total(REPAIRED), standby.events) == (0, 0, [])


def test_a_process_that_comes_to_lead_counts_from_then_on() -> None:
    process = Process(leads=False)
    process.see("p", READY)
    process.see("p", FAILED)
    process.leads = True
    process.see("q", READY)
    assert process.total(REPAIRED) == 0
    process.see("q", FAILED)
    assert process.total(LOST) == 1
