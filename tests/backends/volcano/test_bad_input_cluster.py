"""What cannot work on real Volcano is said, with what to do, and works once that is done."""

import asyncio
import copy
from typing import Any

import pytest
import yaml

from backend_controllers.generic import gang_reconciler
from backend_controllers.generic.kinds import BACKENDS, GANGS
from backend_controllers.volcano import BACKEND
from backend_controllers.volcano.api import HYPERNODES, PODGROUPS, QUEUES
from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.cluster import Cluster
from local_cluster.simulation.nodes import RACK
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.backends.generic.gangs import Eyes
from tests.backends.kit import running_backend
from tests.backends.volcano.live import (
    SECONDS,
    bound,
    existing,
    message,
    product,
    until_running,
    until_said,
    volcanic,
)
from tests.core.kit import Onlooker, clique, condition, holds
from tests.core.topology_kit import Bindings, asks

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]

OLDER = "scheduling.volcano.sh/v1beta1+minTaskMember+networkTopology"
NEWER = "scheduling.volcano.sh/v1beta1+subGroupPolicy+networkTopology"


async def test_a_gang_waits_for_its_queue_and_one_of_an_impossible_name_is_refused(
    volcano_with_gangs: Cluster, person: Onlooker
) -> None:
    queue = f"q-{person.namespace}"
    async with product(volcano_with_gangs):
        await person.create(volcanic("w", clique("a", 2), queue=queue))
        await person.create(volcanic("long", clique("a", 1), queue="q" * 254))
        said = await until_said(person, "w-0", "Scheduled", "QueueDoesNotExist")
        assert f"queue '{queue}' does not exist. Create it, or set another" in said
        assert "open queues: default" in said
        refused = await until_said(person, "long-0", "Accepted", "Unsupported")
        assert "(254 characters)' is not a valid name of a queue" in refused
        assert bound(person) == []
        async with existing(person, QUEUES, queue, spec={"weight": 1}):
            await until_running(person, "w-0")
            await person.start_over()


async def test_the_longest_names_that_a_set_may_have_run(
    volcano_with_gangs: Cluster, person: Onlooker
) -> None:
    async with product(volcano_with_gangs):
        set_name, clique_name = "s" * 22, "c" * 23
        await person.create(volcanic(set_name, clique(clique_name, 2), clique("b", 1)))
        await until_running(person, f"{set_name}-0")


async def test_a_rack_is_refused_until_there_are_hyper_nodes_of_racks(
    volcano_with_gangs: Cluster, person: Onlooker
) -> None:
    bindings = Bindings(person.client, person.namespace)
    await bindings.create("net", {"rack": RACK})
    placed = asks(bindings.name("net"), required="rack")
    try:
        async with product(volcano_with_gangs):
            await person.create(volcanic("w", clique("a", 2), **placed))
            said = await until_said(person, "w-0", "Accepted", "Unsupported")
            assert f"there are no HyperNodes of level {RACK}. Create them" in said
            assert bound(person) == []
            selector = {"labelMatch": {"matchLabels": {RACK: "rack-0"}}}
            members = [{"type": "Node", "selector": selector}]
            spec = {"tier": 1, "tierName": RACK, "members": members}
            async with existing(person, HYPERNODES, f"r-{person.namespace}", spec=spec):
                await until_running(person, "w-0")
                nodes = {pod.spec["nodeName"] for pod in person.pods}
                assert nodes <= {"node-0", "node-1"}
                await person.start_over()
    finally:
        await bindings.clean_up()


async def test_a_pod_group_of_another_client_is_left_alone(
    volcano_with_gangs: Cluster, person: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gang_reconciler, "CONFLICT_RETRY_SECONDS", 0.5)
    async with product(volcano_with_gangs):
        async with existing(person, PODGROUPS, "w-0", spec={"minMember": 9}):
            await person.create(volcanic("w", clique("a", 2)))
            said = await until_said(person, "w-0", "Programmed", "Conflict")
            owner = f"PodGroup {person.namespace}/w-0 exists and is not owned by PodGang w-0:"
            assert said.startswith(owner)
            assert bound(person) == []
        await until_running(person, "w-0")


async def test_an_older_pod_group_is_written_in_its_own_form(
    volcano_with_gangs: Cluster, person: Onlooker
) -> None:
    """The same scheduler, whose CRD lacks the sub-groups of v1.14."""
    newer = _definition(PODGROUPS.plural)
    records = Eyes(person.client, BACKENDS, "")
    async with product(volcano_with_gangs), records.watching():
        try:
            await _write(volcano_with_gangs, "replace", _without(newer, "subGroupPolicy"))
            await records.until(lambda: records.one("volcano").status.get("dialect") == OLDER)
            await person.create(volcanic("w", clique("a", 2), clique("b", 1)))
            await until_running(person, "w-0")
            annotations = {pod.metadata.annotations["volcano.sh/task-spec"] for pod in person.pods}
            assert annotations == {"w-0-a", "w-0-b"}
        finally:
            await _write(volcano_with_gangs, "replace", newer)
        await records.until(lambda: records.one("volcano").status.get("dialect") == NEWER)
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Programmed"), SECONDS)
        assert message(person, "w-0", "Scheduled") == "3/3 pods scheduled"


async def test_without_its_definitions_the_backend_waits_and_reports_what_is_missing(
    bare_cluster: Cluster,
) -> None:
    async with Client(from_kubeconfig(bare_cluster.kubeconfig)) as client:
        records = Eyes(client, BACKENDS, "")

        def ready() -> tuple[Any, Any]:
            said = condition(records.get("volcano"), "Ready")
            return said.get("reason"), said.get("message")

        async with records.watching(), running_backend(bare_cluster, BACKEND):
            try:
                await records.until(lambda: ready()[0] == "SchedulerApiMissing")
                assert "missing: podgroups.scheduling.volcano.sh in version v1beta1" in ready()[1]
                assert "install Volcano" in ready()[1]
                for kind in (PODGROUPS, QUEUES):
                    await _write(bare_cluster, "create", _definition(kind.plural))
                await records.until(lambda: ready()[0] == "SchedulerApiFound")
                assert "hypernodes.topology.volcano.sh is not installed" in ready()[1]
            finally:
                for kind in (PODGROUPS, QUEUES):
                    await asyncio.to_thread(
                        bare_cluster.kubectl, "delete", "crd", str(kind), "--ignore-not-found"
                    )
                await asyncio.to_thread(
                    bare_cluster.kubectl, "delete", "schedulerbackend", "volcano"
                )


def _definition(plural: str) -> dict[str, Any]:
    """Volcano's own, as its module has it."""
    file = ensure_built(build_of("volcano")) / "assets" / f"scheduling.volcano.sh_{plural}.yaml"
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


def _without(definition: dict[str, Any], field: str) -> dict[str, Any]:
    older = copy.deepcopy(definition)
    for version in older["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][field]
    return older


async def _write(cluster: Cluster, verb: str, definition: dict[str, Any]) -> None:
    text = yaml.safe_dump(definition)
    await asyncio.to_thread(cluster.kubectl, verb, "-f", "-", input=text)
