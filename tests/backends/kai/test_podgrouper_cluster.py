"""The real podgrouper of a KAI that heeds no annotation, beside gangs."""

import contextlib
from collections.abc import Iterator

import pytest

from backend_controllers.generic import gang_reconciler, object_writer
from backend_controllers.generic.kinds import GANGS
from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import KEY_POD_GROUP, PODGROUPS
from core_operator.state.caches import SETS
from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from local_cluster.schedulers.kai import QUEUE, podgrouper
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.backends.kai.live import Stage
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator

pytestmark = pytest.mark.cluster

SECONDS = 60
CHOSEN = {"grove.io/scheduler-backend": "kai", "kai.scheduler/queue": QUEUE}
FENCE = "example.com/podgrouper"


@contextlib.contextmanager
def running_podgrouper(cluster: Cluster, *flags: str) -> Iterator[None]:
    """The podgrouper, until the block ends."""
    component = podgrouper(ensure_built(build_of("kai")), cluster.kubeconfig, *flags)
    cluster.control.start(component)
    try:
        yield
    finally:
        cluster.control.stop(component.name)


def programmed(person: Onlooker) -> dict[str, str]:
    return condition(person.get(GANGS, "w-0"), "Programmed")


def pod_group(person: Onlooker) -> LooseObject:
    """The PodGroup of the one gang; an empty one until it is seen."""
    return next(iter(person.all(PODGROUPS)), LooseObject())


def is_taken(person: Onlooker) -> bool:
    """Tell whether the podgrouper wrote its own owner over ours."""
    owners = pod_group(person).metadata.owner_references
    return bool(owners) and not any(owner.controller for owner in owners)


async def test_a_gang_whose_pod_group_is_taken_reports_it_and_gets_it_back_without_a_fight(
    kai_with_gangs: Cluster, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_writer, "RECLAIM_AFTER", 3.0)
    monkeypatch.setattr(gang_reconciler, "CONFLICT_RETRY_SECONDS", 4.0)
    for index in range(2):
        await stage.add_node(index)
    pod = {"nodeSelector": {"stage": stage.namespace}}
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND) as backend,
        Onlooker(stage.client, stage.namespace, also=(PODGROUPS,)).watching() as person,
    ):
        role = clique("a", 2, cpu="20", podSpec=pod)
        await person.create(pcs("w", role, annotations=CHOSEN))
        # Nothing happens to the gang any more that would have it looked at by the way.
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
        with running_podgrouper(kai_with_gangs):
            await person.until(lambda: is_taken(person), SECONDS)
            await person.until(lambda: programmed(person).get("reason") == "Conflict", SECONDS)
            told = programmed(person)["message"]
            assert "KAI's podgrouper creates PodGroups of this name" in told
            assert "--namespace-label-selector" in told
            # What KAI goes by is as it was, so the gang runs in spite of all.
            await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
            groups = {pod.metadata.annotations[KEY_POD_GROUP] for pod in person.pods}
            assert groups == {pod_group(person).metadata.name}
            # The podgrouper looks at pods alone: once they are quiet, ours is the last word.
            await person.until(lambda: holds(person.get(GANGS, "w-0"), "Programmed"), SECONDS)
            assert not is_taken(person)
            await person.until(
                lambda: "has changed PodGroup" in programmed(person)["message"], SECONDS
            )
            await backend.until_idle()
            assert backend.writes.seen["apply", "podgroups"] <= 4
            assert backend.writes.seen["apply", "podgangs/status"] <= 10
        remains = pod_group(person)
        assert remains.spec["minMember"] == 2
        assert "delete the PodGroup" in programmed(person)["message"]
        await person.delete(remains, PODGROUPS)
        await person.until(lambda: not programmed(person)["message"], SECONDS)
        assert "minMember" not in pod_group(person).spec
        assert holds(person.one(GANGS, "w-0"), "Ready")


async def test_a_set_whose_pod_group_the_podgrouper_made_first_reports_what_to_do(
    kai_with_gangs: Cluster, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gang_reconciler, "CONFLICT_RETRY_SECONDS", 1.0)
    async with (
        running_operator(kai_with_gangs),
        Onlooker(stage.client, stage.namespace, also=(PODGROUPS,)).watching() as person,
    ):
        async with running_backend(kai_with_gangs, BACKEND) as early:
            await early.until_serving()  # its record stays
        with running_podgrouper(kai_with_gangs):
            await person.create(pcs("w", clique("a", 2), annotations=CHOSEN))
            await person.until(lambda: is_taken(person), SECONDS)
        made_by_it = pod_group(person)
        async with running_backend(kai_with_gangs, BACKEND) as backend:

            def told() -> str:
                return str(condition(person.get(SETS, "w"), "Ready").get("message"))

            await person.until(lambda: "is not owned by PodGang w-0" in told(), SECONDS)
            assert "KAI's podgrouper creates" in programmed(person)["message"]
            assert "delete the PodGroup" in programmed(person)["message"]
            assert programmed(person)["reason"] == "Conflict"
            await backend.until_total("backend_conflicts_total", 3)
            assert backend.writes.seen["apply", "podgroups"] == 0
            assert pod_group(person).metadata.uid == made_by_it.metadata.uid
            assert all(pod.spec.get("schedulingGates") for pod in person.pods)
            await person.delete(made_by_it, PODGROUPS)
            await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
            assert programmed(person)["message"] == ""


async def test_a_podgrouper_that_is_fenced_off_leaves_gangs_alone(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    with (
        fresh_namespace(kai_with_gangs) as its_own,
        running_podgrouper(kai_with_gangs, f"--namespace-label-selector={FENCE}=yes"),
    ):
        kai_with_gangs.kubectl("label", "namespace", its_own, f"{FENCE}=yes")
        async with (
            running_operator(kai_with_gangs),
            running_backend(kai_with_gangs, BACKEND) as backend,
            Onlooker(stage.client, stage.namespace, also=(PODGROUPS,)).watching() as person,
            Onlooker(stage.client, its_own).watching() as elsewhere,
        ):
            await person.create(pcs("w", clique("a", 2), annotations=CHOSEN))
            await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)
            container = {"name": "main", "image": "example.com/none"}
            manifest = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "p",
                    "namespace": its_own,
                    "labels": {"kai.scheduler/queue": QUEUE},
                },
                "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
            }
            await stage.client.create(PODS, manifest, field_manager="person", into=LooseObject)

            def is_grouped() -> bool:
                pod = elsewhere.get(PODS, "p")
                return pod is not None and KEY_POD_GROUP in pod.metadata.annotations

            await elsewhere.until(is_grouped, SECONDS)
            await backend.until_idle()
            assert not is_taken(person)
            assert "minMember" not in pod_group(person).spec
            assert programmed(person)["message"] == ""
            assert backend.writes.seen["apply", "podgroups"] == 1
            assert backend.writes.seen["apply", "podgangs/status"] <= 3
