"""Translated gangs on real KAI: bound whole or not at all, and what is said about them."""

import msgspec
import pytest

from backend_controllers.kai.api import BINDINGS, TOPOLOGIES
from backend_controllers.kai.topology_sync import topology_for
from local_cluster.cluster import Cluster
from shared_api.kube.resources import PRIORITY_CLASSES
from shared_api.models import ClusterTopologyBinding
from shared_api.runtime.applying.targets import Written
from tests.backends.kai.live import Stage

pytestmark = pytest.mark.cluster

LAST_START = "kai.scheduler/last-start-timestamp"


async def test_the_installed_kai_is_recognised(stage: Stage) -> None:
    assert stage.dialect.name == "scheduling.run.ai/v2alpha2"
    assert "v0.15" in stage.dialect.warning


async def test_a_gang_waits_until_it_fits_and_then_runs_whole(stage: Stage) -> None:
    for index in range(4):
        await stage.add_node(index)
    gang = await stage.gang("held", {"held-a": 2, "held-b": 3})
    assert await stage.write(gang) is Written.CREATED
    await stage.run_pods(gang)

    # Four nodes: KAI tries either group first, and new nodes become usable one by one.
    short = "group 'held-a' fits 1 of 2: ", "group 'held-b' fits 2 of 3: "
    await stage.until(lambda: stage.words(gang).message.startswith(short))
    assert stage.words(gang).reason == "Unschedulable"
    assert "enough resources: CPU cores" in stage.words(gang).message
    assert stage.nodes(gang) == []

    await stage.add_node(4)
    await stage.until(lambda: len(set(stage.nodes(gang))) == 5)
    await stage.until(lambda: LAST_START in stage.pod_group(gang).metadata.annotations)
    # This release leaves its condition on a gang that runs.
    [condition] = stage.pod_group(gang).status.scheduling_conditions
    assert condition.status == "True"
    assert stage.words(gang).reason == ""
    assert await stage.write(gang) is Written.UNCHANGED


async def test_sub_groups_stay_in_their_rack_of_a_topology_made_from_its_binding(
    stage: Stage,
) -> None:
    zone, rack = f"{stage.namespace}/zone", f"{stage.namespace}/rack"
    for index in range(6):
        labels = {f"{stage.namespace}__zone": "z0", f"{stage.namespace}__rack": f"r{index // 2}"}
        await stage.add_node(index, **labels)
    name = f"net-{stage.namespace}"
    await stage.create(
        BINDINGS,
        {
            "metadata": {"name": name},
            "spec": {"levels": [{"domain": "zone", "key": zone}, {"domain": "rack", "key": rack}]},
        },
    )
    gang = await stage.gang(
        "nested",
        {"router": 1, "m-0-leader": 1, "m-0-worker": 1, "m-1-worker": 2},
        annotations={"grove.io/topology-name": name},
        topologyConstraint={"packConstraint": {"required": zone}},
        topologyConstraintGroupConfigs=[
            {
                "name": f"m-{replica}",
                "podGroupNames": groups,
                "topologyConstraint": {"packConstraint": {"required": rack}},
            }
            for replica, groups in enumerate((["m-0-leader", "m-0-worker"], ["m-1-worker"]))
        ],
    )
    assert await stage.write(gang) is Written.CREATED
    await stage.run_pods(gang)
    await stage.until(lambda: "being created" in stage.words(gang).message)
    assert stage.words(gang).reason == "TopologyDoesNotExist"
    assert stage.nodes(gang) == []

    binding = await stage.client.get(BINDINGS, name, into=ClusterTopologyBinding)
    [rendered] = topology_for(binding)
    assert await stage.apply(rendered, BINDINGS, binding) is Written.CREATED
    await stage.until(lambda: len(stage.nodes(gang)) == 5)
    assert stage.words(gang).reason == ""

    racks = {
        pod.metadata.name: int(pod.spec.node_name.rpartition("-")[2]) // 2 for pod in stage.pods
    }
    assert racks["m-0-leader-0"] == racks["m-0-worker-0"]
    assert racks["m-1-worker-0"] == racks["m-1-worker-1"]
    assert await stage.write(gang) is Written.UNCHANGED


async def test_a_gang_too_large_for_any_rack_reports_how_much_of_it_fits(stage: Stage) -> None:
    name = f"flat-{stage.namespace}"
    rack = f"{stage.namespace}/rack"
    for index in range(4):
        await stage.add_node(index, **{f"{stage.namespace}__rack": f"r{index // 2}"})
    spec = {"levels": [{"domain": "rack", "key": rack}]}
    await stage.create(BINDINGS, {"metadata": {"name": name}, "spec": spec})
    binding = await stage.client.get(BINDINGS, name, into=ClusterTopologyBinding)
    [rendered] = topology_for(binding)
    await stage.apply(rendered, BINDINGS, binding)
    await stage.until(lambda: name in stage.known(TOPOLOGIES))

    gang = await stage.gang(
        "wide",
        {"wide-a": 3},
        annotations={"grove.io/topology-name": name},
        topologyConstraint={"packConstraint": {"required": rack}},
    )
    await stage.write(gang)
    await stage.run_pods(gang)
    best = "fits 2 of 3 pods in r0, the best of 2 domains"
    await stage.until(lambda: best in stage.words(gang).message)
    assert stage.words(gang).reason == "TopologyUnsatisfied"
    assert f"level {rack} in topology '{name}'" in stage.words(gang).message
    assert stage.nodes(gang) == []


async def test_a_gang_waits_for_its_queue_and_reports_it(stage: Stage) -> None:
    queue = f"late-{stage.namespace}"
    await stage.add_node(0)
    gang = await stage.gang("queued", {"queued-a": 1}, queue=queue)
    await stage.write(gang)
    await stage.run_pods(gang)
    await stage.until(lambda: stage.pod_group(gang).status.scheduling_conditions)
    assert stage.words(gang).reason == "QueueDoesNotExist"
    assert f"queue '{queue}' does not exist. Create it" in stage.words(gang).message

    await stage.queue(queue, "root")
    await stage.until(lambda: len(stage.nodes(gang)) == 1)
    assert stage.words(gang).reason == ""


async def test_a_gang_whose_binder_is_down_reports_what_it_waits_for(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    await stage.add_node(0)
    kai_with_gangs.control.stop("kai-binder")
    try:
        gang = await stage.gang("chosen", {"chosen-a": 1})
        await stage.write(gang)
        await stage.run_pods(gang)
        await stage.until(lambda: "its binder has not bound" in stage.words(gang).message)
        assert stage.words(gang).reason == ""
    finally:
        kai_with_gangs.control.resume("kai-binder")
    await stage.until(lambda: len(stage.nodes(gang)) == 1)
    assert stage.words(gang).message == ""


async def test_a_queue_at_its_limit_is_reported_with_its_numbers(stage: Stage) -> None:
    queue = f"small-{stage.namespace}"
    await stage.add_node(0)
    await stage.queue(queue, "root", cpu=10_000)
    gang = await stage.gang("limited", {"limited-a": 1}, queue=queue)
    await stage.write(gang)
    await stage.run_pods(gang)
    await stage.until(lambda: stage.words(gang).reason == "OverLimit")
    said = stage.words(gang).message
    assert "Limit is 10 cores" in said
    assert "requested 20 cores" in said


async def test_a_preempted_gang_names_the_gang_that_took_its_capacity(stage: Stage) -> None:
    classes = {f"low-{stage.namespace}": 10, f"high-{stage.namespace}": 90}
    for name, value in classes.items():
        await stage.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    low, high = classes
    for index in range(2):
        await stage.add_node(index)
    await stage.until(lambda: len(stage.known(PRIORITY_CLASSES) & classes.keys()) == 2)

    victim = await stage.gang("victim", {"victim-a": 2}, priorityClassName=low)
    await stage.write(victim)
    await stage.run_pods(victim)
    await stage.until(lambda: len(stage.nodes(victim)) == 2)
    await stage.until(lambda: LAST_START in stage.pod_group(victim).metadata.annotations)

    winner = await stage.gang("winner", {"winner-a": 2}, priorityClassName=high)
    await stage.write(winner)
    await stage.run_pods(winner)
    taken = f"preempted by gang winner in namespace {stage.namespace} (2 pods)"
    await stage.until(lambda: stage.words(victim).disruption == taken)
    assert stage.words(victim).reason == "Preempted"
    await stage.until(lambda: len(stage.nodes(winner)) == 2)
    assert stage.words(winner).reason == ""


async def test_a_changed_minimum_is_taken_over_in_place(stage: Stage) -> None:
    await stage.add_node(0)
    gang = await stage.gang("resized", {"resized-a": 2})
    await stage.write(gang)
    await stage.run_pods(gang)
    await stage.until(lambda: stage.words(gang).reason == "Unschedulable")
    [group] = gang.spec.podgroups
    group = msgspec.structs.replace(group, min_replicas=1)
    smaller = msgspec.structs.replace(
        gang, spec=msgspec.structs.replace(gang.spec, podgroups=(group,))
    )
    assert await stage.write(smaller) is Written.APPLIED
    await stage.until(lambda: len(stage.nodes(gang)) == 1)
    assert stage.words(smaller).reason == ""
