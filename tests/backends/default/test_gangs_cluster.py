"""Gangs on real kube-schedulers, in every form of the API."""

import msgspec
import pytest

from backend_controllers.generic.kinds import GANGS
from shared_api.kube.resources import PODS
from tests.backends.default.kit import TREE, V135, V136, V137, pack
from tests.backends.default.stage import CPU, Form, Stage
from tests.backends.kit import running_backend
from tests.core.kit import clique, pcs, running_operator

pytestmark = pytest.mark.cluster

EVERY = frozenset({"ElasticSurplus", "Gang", "GroupMinimums"})
WHOLE = EVERY | {"Priority", "TopologyRequiredGang"}
LEVELS = frozenset({"Hierarchy", "TopologyRequiredGroup", "TopologyRequiredGroupSet"})
FORMS = {
    "1.35": Form("1.35", V135, "v1alpha1", EVERY, immutable=True),
    "1.36": Form("1.36", V136, "v1alpha2", WHOLE, immutable=True),
    "1.37": Form("1.37", V137, "v1beta1", WHOLE | {"ResizeInPlace"}, composite=False),
    "1.37-tree": Form("1.37", TREE, "v1beta1", WHOLE | LEVELS | {"ResizeInPlace"}),
}


@pytest.fixture(scope="module", params=list(FORMS.values()), ids=list(FORMS))
def form(request: pytest.FixtureRequest) -> Form:
    found: Form = request.param
    return found


async def test_set_waits_for_capacity_then_runs_and_a_restart_writes_nothing(stage: Stage) -> None:
    person = stage.person
    for _ in range(2):
        await stage.add_node()
    # 1.37 refuses a gang whose pods differ from it in priority.
    priority = await stage.priority_class(1000)
    cliques = [
        clique(name, size, cpu=CPU, podSpec=stage.pod_spec) for name, size in (("a", 2), ("b", 1))
    ]
    async with (
        running_operator(stage.cluster),
        running_backend(stage.cluster, stage.form.backend) as backend,
    ):
        await person.create(pcs("w", *cliques, priorityClassName=priority))
        await person.until(
            lambda: "2 Insufficient cpu" in stage.said("w-0", "Scheduled").get("message", ""), 60
        )
        said = stage.said("w-0", "Scheduled")
        assert said["status"] == "False"
        assert said["reason"] == "Unschedulable"
        assert "preemption" not in said["message"]
        assert stage.bound() == {}
        await stage.add_node()
        await person.until(lambda: stage.said("w-0", "Ready").get("status") == "True", 60)
        assert len(set(stage.bound().values())) == 3
        await backend.until_idle()
        assert set((await stage.record()).spec["capabilities"]) == stage.form.capabilities
        assert backend.writes.seen["apply", "workloads"] == 1
    async with running_backend(stage.cluster, stage.form.backend) as again:
        await again.until_idle()
        written = {kind for _, kind in again.writes.seen}
        # Nodes were added a moment ago, and the inventory is written at most once a minute.
        records = {"schedulerbackends", "schedulerbackends/status", "backendinventories"}
        assert written <= records


async def test_smaller_minimum_reaches_pods_that_wait_and_spares_those_that_run(
    stage: Stage,
) -> None:
    person = stage.person
    async with running_backend(stage.cluster, stage.form.backend):
        gang = await stage.gang("w", {"a": 3})
        await person.until(lambda: stage.said("w", "Programmed").get("status") == "True", 60)
        (before,) = await stage.written("workloads")
        await stage.run_pods(gang)
        await person.until(
            lambda: "nodes are available" in stage.said("w", "Scheduled").get("message", ""), 60
        )
        # The third pod goes, and is no longer asked for.
        await stage.remove_pod("a-2")
        generation = await stage.regroup("w", stage.groups({"a": 2}))
        await person.until(lambda: _is_programmed(stage, generation), 60)
        for _ in range(2):
            await stage.add_node()
        await person.until(lambda: stage.said("w", "Scheduled").get("status") == "True", 60)
        (after,) = await stage.written("workloads")
        assert (after.metadata.uid != before.metadata.uid) is stage.form.immutable
        nodes, uids = stage.bound(), {pod.metadata.uid for pod in person.all(PODS)}
        assert sorted(nodes) == ["a-0", "a-1"]
        # Nobody waits any more: what cannot be changed now is left as it is.
        generation = await stage.regroup("w", [{**stage.groups({"a": 2})[0], "minReplicas": 1}])
        await person.until(lambda: _is_programmed(stage, generation), 60)
        reason = "OutdatedObjectKept" if stage.form.immutable else "Programmed"
        assert stage.said("w", "Programmed")["reason"] == reason
        (kept,) = await stage.written("workloads")
        assert kept.metadata.uid == after.metadata.uid
        assert stage.bound() == nodes
        assert {pod.metadata.uid for pod in person.all(PODS)} == uids


async def test_member_of_a_gang_recreated_under_its_name_is_replaced(stage: Stage) -> None:
    person = stage.person
    for _ in range(2):
        await stage.add_node()
    async with running_backend(stage.cluster, stage.form.backend):
        gang = await stage.gang("w", {"a": 1, "b": 1})
        await stage.run_pods(gang)
        await person.until(lambda: stage.said("w", "Scheduled").get("status") == "True", 60)
        kept = person.one(PODS, "a-0").metadata.uid
        await person.delete(person.one(GANGS, "w"), GANGS)
        await person.until(lambda: person.get(GANGS, "w") is None, 60)
        await stage.remove_pod("b-0")
        await person.until(lambda: person.get(PODS, "b-0") is None, 60)
        # As core does: a gang of the same name, and a pod in place of the one that was lost.
        anew = await stage.gang("w", {"a": 1, "b": 1}, remade={"b"})
        spec = msgspec.structs.replace(anew.spec, podgroups=anew.spec.podgroups[1:])
        only_b = msgspec.structs.replace(anew, spec=spec)
        await stage.run_pods(only_b)
        await person.until(lambda: stage.said("w", "Scheduled").get("status") == "True", 60)
        assert person.one(PODS, "a-0").metadata.uid == kept
        before = "1 pods were created before"
        await person.until(lambda: before in stage.said("w", "Accepted").get("message", ""), 60)


@pytest.mark.parametrize("form", [FORMS["1.35"]], ids=["1.35"], indirect=True)
async def test_required_topology_is_refused_where_there_is_none(stage: Stage) -> None:
    async with running_backend(stage.cluster, stage.form.backend):
        await stage.gang("w", {"a": 1}, topologyConstraint=pack("example.com/row"))
        await stage.person.until(lambda: stage.said("w", "Accepted").get("status") == "False", 60)
        assert "Kubernetes 1.36" in stage.said("w", "Accepted")["message"]
        assert await stage.written("workloads") == []


@pytest.mark.parametrize(
    "form", [FORMS["1.36"], FORMS["1.37"]], ids=["1.36", "1.37"], indirect=True
)
async def test_required_topology_keeps_a_gang_together(stage: Stage) -> None:
    row = "example.com/row"
    for value in ("one", "two", "three", "three"):
        await stage.add_node(**{row: value})
    async with running_backend(stage.cluster, stage.form.backend):
        gang = await stage.gang("w", {"a": 1, "b": 1}, topologyConstraint=pack(row))
        await stage.run_pods(gang)
        await stage.person.until(lambda: stage.said("w", "Scheduled").get("status") == "True", 60)
        assert set(stage.bound().values()) == {f"{stage.pool}-3", f"{stage.pool}-4"}


@pytest.mark.parametrize("form", [FORMS["1.37-tree"]], ids=["1.37-tree"], indirect=True)
async def test_tree_keeps_groups_together_inside_the_domain_of_their_gang(stage: Stage) -> None:
    row, shelf = "example.com/row", "example.com/shelf"
    # Only the second row has room for three pods, and only one shelf of it for two.
    places = (("one", "s1"), ("one", "s1"), ("two", "s2"), ("two", "s3"), ("two", "s3"))
    for in_row, on_shelf in places:
        await stage.add_node(**{row: in_row, shelf: on_shelf})
    async with running_backend(stage.cluster, stage.form.backend):
        gang = await stage.gang(
            "w", {"a": 2, "b": 1}, keys={"a": shelf}, topologyConstraint=pack(row)
        )
        await stage.run_pods(gang)
        await stage.person.until(lambda: stage.said("w", "Scheduled").get("status") == "True", 60)
        bound = stage.bound()
        assert {bound["a-0"], bound["a-1"]} == {f"{stage.pool}-4", f"{stage.pool}-5"}
        assert bound["b-0"] == f"{stage.pool}-3"


def _is_programmed(stage: Stage, generation: int) -> bool:
    said = stage.said("w", "Programmed")
    return said.get("status") == "True" and said["observedGeneration"] >= generation
