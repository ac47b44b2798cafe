"""From a PodCliqueSet to ready pods on real KAI, with core and this backend running."""

import pytest

from backend_controllers.contract.events import EVENTS
from backend_controllers.generic.kinds import BACKENDS, GANGS
from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import BINDINGS, PODGROUPS, TOPOLOGIES
from backend_controllers.kai.installation import KaiOptions
from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from local_cluster.schedulers.kai import QUEUE
from shared_api.kube.client import Patch
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import NODES, PODS, PRIORITY_CLASSES
from tests.backends.kai.live import Stage
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator

pytestmark = pytest.mark.cluster

SECONDS = 60


async def test_a_set_runs_on_kai_with_few_writes_and_leaves_nothing(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    # Slow binds must not show as more writes than the gang needs.
    patient = backend_settings(KaiOptions(), progress_delay_seconds=30)
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND, patient) as backend,
        Onlooker(stage.client, stage.namespace).watching() as person,
    ):
        chosen = {"grove.io/scheduler-backend": "kai", "kai.scheduler/queue": QUEUE}
        await person.create(pcs("w", clique("a", 2), clique("b", 3), annotations=chosen))
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
        assert {pod.spec["schedulerName"] for pod in person.pods} == {"kai-scheduler"}
        assert condition(person.one(GANGS, "w-0"), "Scheduled")["message"] == "5/5 pods scheduled"
        record = await stage.client.get(BACKENDS, "kai", into=LooseObject)
        assert record.spec["schedulerNames"] == ["kai-scheduler", "grove-*"]
        await backend.until_idle()
        written = backend.writes.seen
        assert written["apply", "podgroups"] == 1
        assert written["apply", "podgangs/status"] <= 3
        uid = person.one(GANGS, "w-0").metadata.uid
        assert f"pg-w-0-{uid}" in stage.known(PODGROUPS)
        await person.delete(person.one(SETS, "w"), SETS)
        await stage.until(lambda: f"pg-w-0-{uid}" not in stage.known(PODGROUPS))


async def test_a_set_that_does_not_fit_reports_it_until_there_is_capacity(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(2):
        await stage.add_node(index)
    pod = {"nodeSelector": {"stage": stage.namespace}}
    chosen = {"grove.io/scheduler-backend": "kai", "kai.scheduler/queue": f"q-{stage.namespace}"}
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND),
        Onlooker(stage.client, stage.namespace).watching() as person,
    ):

        def said(text: str) -> bool:
            return text in condition(person.get(GANGS, "w-0"), "Scheduled").get("message", "")

        await person.create(pcs("w", clique("a", 3, cpu="20", podSpec=pod), annotations=chosen))
        await person.until(lambda: said(f"queue 'q-{stage.namespace}' does not exist"), SECONDS)
        await stage.queue(f"q-{stage.namespace}", "root")
        await person.until(lambda: said("group 'w-0-a' fits 2 of 3"), SECONDS)
        scheduled = condition(person.one(GANGS, "w-0"), "Scheduled")
        assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
        assert not any(pod.spec.get("nodeName") for pod in person.pods)
        await stage.add_node(2)
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
        assert condition(person.one(GANGS, "w-0"), "Scheduled")["message"] == "3/3 pods scheduled"


async def test_a_gang_runs_with_any_pods_that_make_up_its_minimum(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(3):
        await stage.add_node(index)
    pod = {"nodeSelector": {"stage": stage.namespace}}
    chosen = {"grove.io/scheduler-backend": "kai", "kai.scheduler/queue": QUEUE}
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND) as backend,
        Onlooker(stage.client, stage.namespace).watching() as person,
    ):
        role = clique("a", 3, minAvailable=2, cpu="20", podSpec=pod)
        await person.create(pcs("w", role, annotations=chosen))
        await person.until_ready(3, SECONDS)
        await _lose(stage, person, person.pods_of("w-0-a")["0"])

        def lacks_room() -> bool:
            made = person.pods_of("w-0-a").get("0")
            said = condition(made, "PodScheduled")
            return made is not None and said.get("reason") == "Unschedulable"

        await person.until(lacks_room, SECONDS)
        await backend.until_idle()
        gang = person.one(GANGS, "w-0")
        assert condition(gang, "Scheduled")["message"] == "2/2 pods scheduled"
        assert holds(gang, "Scheduled")
        assert holds(gang, "Ready")
        assert gang.status["phase"] == "Running"


async def test_evicted_surplus_disrupts_no_gang(kai_with_gangs: Cluster, stage: Stage) -> None:
    low, high = (f"{name}-{stage.namespace}" for name in ("low", "high"))
    for name, value in ((low, 10), (high, 90)):
        await stage.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    for index in range(3):
        await stage.add_node(index)
    pod = {"nodeSelector": {"stage": stage.namespace}}
    chosen = {"grove.io/scheduler-backend": "kai", "kai.scheduler/queue": QUEUE}
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND) as backend,
        Onlooker(stage.client, stage.namespace).watching() as person,
    ):
        role = clique("a", 3, minAvailable=2, cpu="20", podSpec=pod)
        await person.create(pcs("w", role, annotations=chosen, priorityClassName=low))
        await person.until_ready(3, SECONDS)
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
        taker = clique("a", 1, cpu="20", podSpec=pod)
        await person.create(pcs("v", taker, annotations=chosen, priorityClassName=high))
        await person.until(lambda: holds(person.get(GANGS, "v-0"), "Ready"), SECONDS)
        await backend.until_idle()
        assert stage.known(EVENTS)
        assert holds(person.one(GANGS, "w-0"), "Ready")
        assert condition(person.one(GANGS, "w-0"), "DisruptionTarget") == {}


async def test_a_lost_pod_is_replaced_after_somebody_deleted_the_gang(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(2):
        await stage.add_node(index)
    pod = {"nodeSelector": {"stage": stage.namespace}}
    chosen = {"grove.io/scheduler-backend": "kai", "kai.scheduler/queue": QUEUE}
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND) as backend,
        Onlooker(stage.client, stage.namespace).watching() as person,
    ):
        await person.create(pcs("w", clique("a", 2, cpu="20", podSpec=pod), annotations=chosen))
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
        first = person.one(GANGS, "w-0")
        await person.delete(first, GANGS)

        def is_whole(earlier: int) -> bool:
            gang = person.get(GANGS, "w-0")
            left = f"{earlier} pods belong to an earlier gang"
            return (
                gang is not None
                and gang.metadata.uid != first.metadata.uid
                and holds(gang, "Ready")
                and left in condition(gang, "Accepted")["message"]
            )

        await person.until(lambda: is_whole(2), SECONDS)
        kept, lost = (person.pods_of("w-0-a")[index] for index in "01")
        await person.delete(lost, PODS)
        await person.until(lambda: is_whole(1), SECONDS)
        await backend.until_idle()
        gang = person.one(GANGS, "w-0")
        assert "podgrouper" not in condition(gang, "Programmed").get("message", "")
        pods = person.pods_of("w-0-a")
        assert pods["0"].metadata.uid == kept.metadata.uid
        named = pods["1"].metadata.annotations["pod-group-name"]
        assert named == f"pg-w-0-{gang.metadata.uid}"


async def _lose(stage: Stage, person: Onlooker, pod: LooseObject) -> None:
    """A pod goes, and nothing comes to its node any more."""
    full = Patch({"spec": {"unschedulable": True}})
    await stage.client.patch(NODES, pod.spec["nodeName"], patch=full, field_manager="person")
    await person.delete(pod, PODS)


async def test_a_topology_follows_its_binding(kai_with_gangs: Cluster, stage: Stage) -> None:
    name = f"net-{stage.namespace}"

    def levels() -> list[str]:
        found = stage.caches[TOPOLOGIES].get(ObjectKey("", name))
        return [level.node_label for level in found.spec.levels] if found else []

    async with running_backend(kai_with_gangs, BACKEND):
        spec = {"levels": [{"domain": "zone", "key": "example.com/zone"}]}
        await stage.create(BINDINGS, {"metadata": {"name": name}, "spec": spec})
        await stage.until(lambda: levels() == ["example.com/zone"])
        more = [*spec["levels"], {"domain": "rack", "key": "example.com/rack"}]
        changed = Patch({"spec": {"levels": more}})
        await stage.client.patch(BINDINGS, name, patch=changed, field_manager="person")
        await stage.until(lambda: levels() == ["example.com/zone", "example.com/rack"])
