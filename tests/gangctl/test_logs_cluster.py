"""`logs` and `bundle` as a program: lines pass the real API server, and no secret leaves it."""

import asyncio
import contextlib
import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from core_operator.state.caches import GANGS
from tests.core.kit import clique, pcs
from tests.core.stage import Stage
from tests.gangctl.kubelet import Kubelet
from tests.gangctl.program import Program

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

NODE = "node-6"
HERE = {"nodeSelector": {"kubernetes.io/hostname": NODE}}
SECRET = "hunter2-hunter2"


@contextlib.asynccontextmanager
async def kubelet_of(stage: Stage, directory: Path) -> AsyncIterator[Kubelet]:
    """Serve the logs of one simulated node."""

    def patch(address: str, port: int) -> None:
        status = {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        body = json.dumps({"status": status})
        options = ("--subresource=status", "--type=merge", "--patch", body)
        stage.cluster.kubectl("patch", "node", NODE, *options)

    async with Kubelet().serving(directory) as kubelet:
        await asyncio.to_thread(patch, "127.0.0.1", kubelet.port)
        yield kubelet


async def test_logs_show_all_pods_or_one_clique(
    stage: Stage, gang: Program, short_path: Path
) -> None:
    async with kubelet_of(stage, short_path) as kubelet:
        cliques = clique("a", 2, podSpec=HERE), clique("b", 1, podSpec=HERE)
        # As in some of Grove's samples.
        del cliques[1]["spec"]["roleName"]
        await stage.person.create(pcs("l", *cliques))
        await stage.until_ready("l", 3)
        pods = [pod.metadata.name for pod in stage.pods("l")]
        kubelet.text = {pod: f"first of {pod}\n\nlast without end" for pod in pods}
        done = await gang.run("logs", "l")
        assert done.code == 0, done.err
        assert done.out.splitlines() == [
            line
            for pod in pods
            for line in (
                f"[{pod}/main] first of {pod}",
                f"[{pod}/main] ",
                f"[{pod}/main] last without end",
            )
        ]
        assert kubelet.asked[0]["tailLines"] == ["10"]
        one = await gang.run("logs", "l", "-c", "b", "--tail", "-1", "--since", "5m", "-o", "json")
        lines = [json.loads(line) for line in one.out.splitlines()]
        assert {line["pod"] for line in lines} == {pods[2]}
        assert [line["text"] for line in lines][1] == ""
        assert "tailLines" not in kubelet.asked[-1]
        assert kubelet.asked[-1]["sinceSeconds"] == ["300"]
        unknown = await gang.run("logs", "l", "-c", "x")
        assert unknown.code == 3
        assert "No clique x in l. Cliques: a, b." in unknown.err
        await stage.remove("l")


async def test_followed_logs_go_on_with_pods_that_are_created_later(
    stage: Stage, gang: Program, short_path: Path
) -> None:
    async with kubelet_of(stage, short_path) as kubelet:
        await stage.person.create(pcs("f", clique("a", 1, podSpec=HERE)))
        await stage.until_ready("f", 1)
        (first,) = (pod.metadata.name for pod in stage.pods("f"))
        with gang.start("logs", "f", "-f") as process:
            try:
                assert process.stdout is not None
                await kubelet.until_followed(first)
                await kubelet.write(first, "hello\nwor")
                line = await asyncio.to_thread(process.stdout.readline)
                assert line == f"[{first}/main] hello\n"
                await kubelet.write(first, "ld\n")
                line = await asyncio.to_thread(process.stdout.readline)
                assert line == f"[{first}/main] world\n"
                assert (await gang.run("scale", "f", "--replicas", "2")).code == 0
                await stage.until_ready("f", 2)
                (second,) = (p.metadata.name for p in stage.pods("f") if p.metadata.name != first)
                await kubelet.until_followed(second)
                await kubelet.write(second, "me too\n")
                line = await asyncio.to_thread(process.stdout.readline)
                assert line == f"[{second}/main] me too\n"
            finally:
                process.terminate()
        await stage.remove("f")


async def test_pods_without_logs_are_named(stage: Stage, gang: Program) -> None:
    nowhere = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
    await stage.person.create(pcs("n", clique("a", 1, podSpec=nowhere)))
    await stage.until(lambda: stage.person.get(GANGS, "n-0") and stage.pods("n"))
    done = await gang.run("logs", "n")
    assert done.code == 1
    assert done.err.startswith(f"No logs yet: {stage.pods('n')[0].metadata.name} (")
    assert "See: kubectl gang why n" in done.err
    await stage.remove("n")


async def test_a_bundle_has_objects_and_reports_and_no_secret(
    stage: Stage, gang: Program, short_path: Path
) -> None:
    made = pcs("b", clique("a", 1))
    (container,) = made["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"]
    container["env"] = [{"name": "TOKEN", "value": SECRET}]
    made["metadata"]["namespace"] = stage.person.namespace
    place = f"--namespace={stage.person.namespace}"
    # Client-side apply stores the whole manifest in an annotation as well.
    stage.cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump(made))
    stage.cluster.kubectl("create", "secret", "generic", "s", f"--from-literal=a={SECRET}", place)
    stage.cluster.kubectl("create", "configmap", "c", f"--from-literal=a={SECRET}", place)
    await stage.until_ready("b", 1)
    file = short_path / "report.tar.gz"
    done = await gang.run("bundle", "--file", str(file))
    assert done.code == 0, done.err
    assert "It has no Secrets and no values of environment variables." in done.out
    assert file.stat().st_mode & 0o077 == 0
    with tarfile.open(file) as archive:
        found = {
            member.name.split("/", 1)[1]: (archive.extractfile(member) or file.open("rb")).read()
            for member in archive.getmembers()
        }
    for name, body in found.items():
        assert SECRET.encode() not in body, name
    for kind in ("podcliquesets.grove.io", "podgangs.scheduler.grove.io", "pods", "nodes"):
        assert f"objects/{kind}.yaml" in found
    (stored,) = yaml.safe_load_all(found["objects/controllerrevisions.apps.yaml"])
    containers = stored["data"]["cliques"]["a"]["podSpec"]["containers"]
    assert containers[0]["env"] == [{"name": "TOKEN", "value": "(removed)"}]
    assert b"TOKEN" in found["objects/podcliquesets.grove.io.yaml"]
    assert not any("secret" in name or "configmap" in name for name in found)
    assert b"backends" in found["doctor.txt"]
    again = await gang.run("bundle", "--file", str(file))
    assert again.code == 3
    assert "exists. Name another file with --file." in again.err
    await stage.remove("b")


async def test_doctor_names_what_is_not_installed(stage: Stage, gang: Program) -> None:
    done = await gang.run("doctor", "-o", "json")
    assert done.code == 2, done.out + done.err
    checks = {(check["area"], check["outcome"]): check for check in done.json()["checks"]}
    # The stage runs core and the backend without their Deployments.
    assert (
        "there is no Deployment grove-system/core-operator"
        in (checks["controllers", "Failed"]["message"])
    )
    assert ("crds", "Passed") in checks
    assert "default is alive and ready" in checks["backends", "Passed"]["message"]
    assert "scheduling.k8s.io/v1alpha2" in done.out
    assert ("rights", "Passed") in checks
    assert ("rights", "Warning") not in checks
