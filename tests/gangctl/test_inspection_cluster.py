"""The verbs that read, as a program against a real cluster with core and a backend."""

import asyncio
import json
import signal

import pytest
import yaml

from core_operator.state.caches import BINDINGS, GANGS
from shared_api.kube.codec import PartialObject
from tests.core.kit import Object, clique, condition, pcs
from tests.core.stage import Stage
from tests.gangctl.program import Program

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

GPU = "nvidia.com/gpu"
RACK = "local-cluster/rack"


def gpu_clique(name: str, replicas: int, gpus: int) -> Object:
    made = clique(name, replicas)
    (container,) = made["spec"]["podSpec"]["containers"]
    container["resources"] = {"limits": {GPU: str(gpus)}}
    return made


async def waiting(stage: Stage) -> None:
    """One set runs on three of the eight nodes, and one of twelve pods does not fit."""
    await stage.person.create(pcs("inference", gpu_clique("worker", 3, 8)))
    await stage.until_ready("inference", 3)
    await stage.person.create(pcs("training", gpu_clique("worker", 12, 4)))
    await stage.until(
        lambda: (
            condition(stage.person.get(GANGS, "training-0"), "Scheduled").get("status") == "False"
        )
    )


async def test_verbs_explain_a_gang_that_does_not_fit(stage: Stage, gang: Program) -> None:
    await waiting(stage)
    status = await gang.run("status")
    assert status.code == 1, status.err
    assert [line.split()[0] for line in status.out.splitlines()] == [
        "NAME",
        "training",
        "inference",
    ]
    why = await gang.run("why", "training")
    assert why.code == 1, why.err
    head, stages, needs, remedy, users, following = why.out.splitlines()
    assert head.startswith("training-0  Pending ")
    assert "backend default (Kubernetes v1." in head
    assert stages == (
        "  ✓ selected  ✓ accepted  ✓ pods 12/12  ✓ programmed  ✓ released  ✗ scheduled 0/12"
    )
    assert needs == (
        "  Needs 48 nvidia.com/gpu (12 pods x 4). 40 free on 8 nodes; 10 of 12 pods fit."
    )
    assert remedy == "  Would run with 2 more nodes with 4 free GPUs, or minAvailable <= 10."
    assert users == f"  In the way: {stage.person.namespace}/inference (24 GPUs, priority 0)."
    assert following == f"  Next: kubectl gang tree training -n {stage.person.namespace}"
    tree = await gang.run("tree", "training")
    assert tree.code == 1
    assert tree.out.count("Pod training-0-worker-") == 12
    assert "PodGroup training-0" in tree.out
    backends = await gang.run("backends", "-o", "json")
    assert backends.code == 0
    (row,) = backends.json()["backends"]
    assert (row["name"], row["alive"], row["ready"]) == ("default", True, True)
    fine = await gang.run("why", "inference")
    assert fine.code == 0
    missing = await gang.run("why", "nothing")
    assert missing.code == 3
    assert "List the sets of all namespaces: kubectl gang status -A" in missing.err
    await stage.remove("training")
    await stage.remove("inference")


async def test_json_and_yaml_are_the_same_report(stage: Stage, gang: Program) -> None:
    await stage.person.create(pcs("two", clique("a", 2)))
    await stage.until_ready("two", 2)
    for verb in (["why", "two"], ["tree", "two"], ["rollout", "status", "two"]):
        in_json, in_yaml = await gang.run(*verb, "-o", "json"), await gang.run(*verb, "-o", "yaml")
        assert in_json.code == in_yaml.code == 0, in_json.err
        a, b = json.loads(in_json.out), yaml.safe_load(in_yaml.out)
        assert a.keys() == b.keys()
        assert a["verdict"] == b["verdict"] == 0
    await stage.remove("two")


async def test_colours_are_on_terminals_only(stage: Stage, gang: Program) -> None:
    await stage.person.create(pcs("red", clique("a", 1)))
    await stage.until_ready("red", 1)
    assert "\x1b[" in await gang.on_a_terminal("status")
    assert "\x1b[" not in (await gang.run("status")).out
    await stage.remove("red")


async def test_topology_shows_racks_of_a_binding(stage: Stage, gang: Program) -> None:
    await stage.person.create(pcs("inference", gpu_clique("worker", 2, 8)))
    await stage.until_ready("inference", 2)
    name = f"{stage.person.namespace}-levels"
    manifest = {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": name},
        "spec": {"levels": [{"domain": "rack", "key": RACK}]},
    }
    client = stage.person.client
    made = await client.create(BINDINGS, manifest, field_manager="person", into=PartialObject)
    done = await gang.run("topology", "rack", "-o", "json")
    assert done.code == 0, done.err
    racks = {row["name"]: row for row in done.json()["domains"]}
    assert {"rack-0", "rack-1", "rack-2", "rack-3"} <= set(racks)
    assert sum(int(row["ours"]) for row in racks.values()) == 16
    assert sum(int(row["free"]) for row in racks.values()) == 48
    unknown = await gang.run("topology", "row")
    assert unknown.code == 3
    assert "No level row" in unknown.err
    assert await gang.completions("topology", "ra") == ["rack", ":4"]
    await client.delete(BINDINGS, name, uid=made.metadata.uid)
    await stage.remove("inference")


async def test_fit_asks_the_server_and_predicts_before_anything_is_applied(
    stage: Stage, gang: Program
) -> None:
    fits = await gang.run("fit", "-f", "-", given=yaml.safe_dump(pcs("w", gpu_clique("a", 8, 8))))
    assert fits.code == 0, fits.out + fits.err
    assert "✓ admission: accepted by the API server" in fits.out
    assert "✓ backend 'default' by default" in fits.out
    assert "✓ w-0: 8 pods fit" in fits.out
    large = await gang.run("fit", "-f", "-", given=yaml.safe_dump(pcs("w", gpu_clique("a", 9, 8))))
    assert large.code == 2
    assert "It does not fit even if no other pod runs." in large.out
    wrong = pcs("w", clique("a", 1, minAvailable=3))
    refused = await gang.run("fit", "-f", "-", given=yaml.safe_dump(wrong))
    assert refused.code == 2
    assert "spec.template.cliques[0].spec" in refused.out
    assert "minAvailable must not be greater than replicas" in refused.out
    assert stage.person.get(GANGS, "w-0") is None, "nothing is stored"


async def test_names_are_completed(stage: Stage, gang: Program) -> None:
    await stage.person.create(pcs("alpha", clique("worker", 1)))
    await stage.until_ready("alpha", 1)
    place = ("-n", stage.person.namespace)
    assert await gang.completions("tree", *place, "al") == ["alpha", ":4"]
    assert await gang.completions("why", *place, "alpha-0") == [
        "alpha-0",
        *[pod.metadata.name for pod in stage.pods("alpha")],
        ":4",
    ]
    assert await gang.completions("logs", "alpha", *place, "-c", "w") == ["worker", ":4"]
    assert await gang.completions("rollout", "st") == ["status", ":4"]
    await stage.remove("alpha")


async def test_status_follows_changes_until_it_is_interrupted(stage: Stage, gang: Program) -> None:
    process = gang.start("status", "-w", "--interval", "0.1", "-o", "json")
    printed = process.stdout
    assert printed is not None

    async def until(text: str) -> None:
        while text not in await asyncio.to_thread(printed.readline):
            pass

    with process:
        try:
            await until('"takenAt"')
            await stage.person.create(pcs("live", clique("a", 1)))
            await until('"name": "live"')
            await until('"available": 1')
        finally:
            process.send_signal(signal.SIGINT)
        # Whatever is left is read, so that the program is not kept from ending.
        await asyncio.to_thread(printed.read)
        assert await asyncio.to_thread(process.wait, 30) == 0
    await stage.remove("live")
