"""A ClusterTopologyBinding reports on a real control plane whether KAI's Topology has its levels."""

import asyncio

import pytest

from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import BINDINGS, TOPOLOGIES
from local_cluster.cluster import Cluster
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.metadata import ObjectKey
from shared_api.models import ClusterTopologyBindingStatus
from tests.backends.kai.live import Stage
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker

pytestmark = pytest.mark.cluster

ZONE, RACK = "example.com/zone", "example.com/rack"


def levels(*keys: str) -> list[dict[str, str]]:
    return [{"domain": key.rpartition("/")[2], "key": key} for key in keys]


def topology(name: str, *keys: str) -> dict[str, object]:
    spec = {"levels": [{"nodeLabel": key} for key in keys]}
    return {"metadata": {"name": name}, "spec": spec}


def status(stage: Stage, name: str) -> ClusterTopologyBindingStatus:
    found = stage.caches[BINDINGS].get(ObjectKey("", name))
    return (found and found.status) or ClusterTopologyBindingStatus()


def drift(stage: Stage, name: str) -> tuple[str, str]:
    conditions = status(stage, name).conditions
    return (conditions[0].status, conditions[0].reason) if conditions else ("", "")


async def test_a_binding_reports_the_drift_of_a_topology_that_it_refers_to(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    name, site = f"net-{stage.namespace}", f"site-{stage.namespace}"
    # Events about objects without a namespace are in `default`.
    person = Onlooker(stage.client, "default")
    async with running_backend(kai_with_gangs, BACKEND) as backend, asyncio.TaskGroup() as group:
        drifted = group.create_task(person.until_event(name, "TopologyDriftDetected", 100))
        corrected = group.create_task(person.until_event(name, "TopologyInSync", 100))
        reference = {"schedulerName": "kai-scheduler", "topologyReference": site}
        spec = {"levels": levels(ZONE, RACK), "schedulerTopologyBindings": [reference]}
        await stage.create(BINDINGS, {"metadata": {"name": name}, "spec": spec})
        await stage.until(lambda: drift(stage, name) == ("True", "Drift"))
        assert f"Topology '{site}' does not exist" in await drifted
        await stage.create(TOPOLOGIES, topology(site, ZONE))
        await stage.until(
            lambda: f"this binding has {ZONE}, {RACK}" in status(stage, name).conditions[0].message
        )
        shorter = Patch({"spec": {"levels": levels(ZONE)}}, PatchType.MERGE)
        await stage.client.patch(BINDINGS, name, patch=shorter, field_manager="person")
        await stage.until(lambda: drift(stage, name) == ("False", "InSync"))
        assert site in await corrected
        [entry] = status(stage, name).scheduler_topology_statuses
        assert (entry.scheduler_name, entry.topology_reference) == ("kai-scheduler", site)
        assert (entry.in_sync, entry.scheduler_backend_topology_observed_generation) == (True, 1)
        wiped = Patch({"status": None}, PatchType.MERGE)
        await stage.client.patch(
            BINDINGS, name, patch=wiped, field_manager="person", subresource="status"
        )
        await stage.until(lambda: drift(stage, name) == ("False", "InSync"))
        await backend.until_idle()
        backend.writes.seen.clear()
        await stage.create(TOPOLOGIES, topology(f"other-{site}", RACK))
        await backend.until_idle()
        assert backend.writes.seen == {}


async def test_a_binding_reports_a_topology_that_the_backend_cannot_write(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    name, own = f"foreign-{stage.namespace}", f"own-{stage.namespace}"
    await stage.create(TOPOLOGIES, topology(name, RACK))
    async with running_backend(kai_with_gangs, BACKEND):
        for one in (name, own):
            spec = {"levels": levels(ZONE)}
            await stage.create(BINDINGS, {"metadata": {"name": one}, "spec": spec})
        await stage.until(lambda: drift(stage, own) == ("False", "InSync"))
        await stage.until(lambda: drift(stage, name) == ("True", "Drift"))
        message = status(stage, name).conditions[0].message
        assert f"Topology '{name}' could not be written" in message
        assert f"is not owned by ClusterTopologyBinding {name}" in message
        # The levels of a Topology are immutable: the backend replaces its own.
        more = Patch({"spec": {"levels": levels(ZONE, RACK)}}, PatchType.MERGE)
        await stage.client.patch(BINDINGS, own, patch=more, field_manager="person")
        await stage.until(lambda: status(stage, own).observed_generation == 2)
        assert drift(stage, own) == ("False", "InSync")
