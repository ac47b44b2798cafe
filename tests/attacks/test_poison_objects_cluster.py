"""An object that core cannot read harms no other, says what is wrong with it, and heals by itself."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from tests.core.conftest import CRDS
from tests.core.kit import Object, clique, condition, holds, pcs
from tests.core.stage import Stage, on_stage

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(180),
]

HOLE = '"hole"'
POISON = "/spec/template/cliques/0/spec/podSpec/poison"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(cluster: Cluster) -> AsyncIterator[Stage]:
    cluster.install_crds(CRDS)
    async with on_stage(cluster) as shared:
        yield shared


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def poisoned(name: str) -> Object:
    """A set whose open pod spec has a field that nobody knows."""
    return pcs(name, clique("a", podSpec={"poison": json.loads(HOLE)}))


def create(stage: Stage, manifest: Object, levels: int) -> None:
    text = json.dumps(manifest).replace(HOLE, deep(levels))
    stage.cluster.kubectl("-n", stage.person.namespace, "create", "-f", "-", input=text)


def patch(stage: Stage, name: str, operations: str) -> None:
    stage.cluster.kubectl(
        "-n", stage.person.namespace, "patch", "pcs", name, "--type=json", f"-p={operations}"
    )


def cure(stage: Stage, name: str) -> None:
    patch(stage, name, json.dumps([{"op": "remove", "path": POISON}]))


def status(stage: Stage, name: str) -> Object:
    """The status of a set, however deep the rest of the set is."""
    found = stage.cluster.kubectl(
        "-n", stage.person.namespace, "get", "pcs", name, "-o", "jsonpath={.status}"
    )
    read: Object = json.loads(found.stdout or "{}")
    return read


def said(stage: Stage, name: str, kind: str) -> Object:
    conditions = status(stage, name).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


async def until_stalled(stage: Stage, name: str) -> str:
    async def is_stalled() -> bool:
        return said(stage, name, "Stalled").get("reason") == "Unreadable"

    await stage.until_true(is_stalled)
    assert said(stage, name, "Ready")["status"] == "False"
    message = said(stage, name, "Stalled")["message"]
    assert isinstance(message, str)
    return message


async def until_all_are_read(stage: Stage) -> None:
    await stage.operator.until(lambda: not stage.operator.total("cache_unreadable_objects"))


@pytest.mark.parametrize("levels", [200, 1_200, 9_000])
async def test_a_set_that_is_nested_too_deeply_stalls_alone_and_runs_once_it_is_changed(
    stage: Stage, levels: int
) -> None:
    bad, good = f"bad-{levels}", f"good-{levels}"
    create(stage, poisoned(bad), levels)
    await stage.person.create(pcs(good, clique("a", 2)))

    await stage.until_ready(good, 2)
    message = await until_stalled(stage, bad)
    assert f"PodCliqueSet {bad} cannot be read: nested too deeply" in message
    assert "delete the object" in message
    assert await stage.person.until_event(bad, "Unreadable") == message

    cure(stage, bad)
    await stage.until_ready(bad, 1)
    await stage.until(lambda: holds(stage.person.get(SETS, bad), "Ready"))
    assert condition(stage.person.get(SETS, bad), "Stalled") == {}
    await until_all_are_read(stage)


async def test_a_set_that_cannot_be_read_is_forgotten_with_its_deletion(stage: Stage) -> None:
    create(stage, poisoned("gone"), 1_200)
    await until_stalled(stage, "gone")

    stage.cluster.kubectl("-n", stage.person.namespace, "delete", "pcs", "gone")

    await until_all_are_read(stage)
    await stage.person.create(pcs("gone", clique("a")))
    await stage.until_ready("gone", 1)


async def test_a_running_set_keeps_its_pods_and_its_status_while_it_cannot_be_read(
    stage: Stage,
) -> None:
    await stage.person.create(pcs("running", clique("a", 2)))
    await stage.until_ready("running", 2)
    await stage.until(lambda: holds(stage.person.get(SETS, "running"), "Ready"))
    pods, before = stage.uids("running"), status(stage, "running")

    patch(stage, "running", f'[{{"op":"add","path":"{POISON}","value":{deep(1_200)}}}]')
    await until_stalled(stage, "running")
    # Another process has never read it, and must leave it alone as well.
    await stage.stop()
    await stage.start()
    await stage.person.create(pcs("after", clique("a")))
    await stage.until_ready("after", 1)
    await until_stalled(stage, "running")

    after = status(stage, "running")
    kept = before.keys() - {"conditions", "observedGeneration"}
    assert {key: after.get(key) for key in kept} == {key: before[key] for key in kept}
    assert stage.uids("running") == pods

    cure(stage, "running")
    await stage.until(lambda: holds(stage.person.get(SETS, "running"), "Ready"))
    await until_all_are_read(stage)
    assert stage.uids("running") == pods


@pytest.mark.parametrize("levels", [200, 1_200])
async def test_a_claim_template_with_deep_parameters_harms_nobody(
    stage: Stage, levels: int
) -> None:
    name, good = f"template-{levels}", f"beside-{levels}"
    opaque = {"driver": "devices.example.com", "parameters": {"x": json.loads(HOLE)}}
    request = {"name": "one", "exactly": {"deviceClassName": "devices.example.com"}}
    devices = {"requests": [request], "config": [{"requests": ["one"], "opaque": opaque}]}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": devices}},
    }
    create(stage, template, levels)
    await stage.person.create(pcs(good, clique("a")))

    await stage.until_ready(good, 1)
    if levels > 1_000:
        note = await stage.person.until_event(name, "Unreadable")
        assert f"ResourceClaimTemplate {name} cannot be read: nested too deeply" in note

    stage.cluster.kubectl("-n", stage.person.namespace, "delete", "resourceclaimtemplate", name)
    await until_all_are_read(stage)
