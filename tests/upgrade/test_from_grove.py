"""A cluster that Grove ran is taken over: no pod is restarted, and everything can be deleted."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.resources import HPAS, PODS
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator
from tests.core.stand_in import StandIn
from tests.upgrade.grove_in_use import GATED, RUNNING, SCALE, grove_in_use
from tests.upgrade.grove_objects import (
    GENERATION_HASH,
    HASHES,
    NAMESPACE,
    SET,
    Object,
    grove_objects,
)
from tests.upgrade.grove_objects import PODS as GROVE_PODS
from tests.upgrade.restore import restore_objects

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

PAGE = Path(__file__).parents[2] / "docs" / "migrating-from-grove.md"
COUNT = sum(GROVE_PODS.values())


@contextmanager
def with_objects(core_cluster: Cluster, objects: list[Object]) -> Iterator[Cluster]:
    core_cluster.kubectl("create", "namespace", NAMESPACE)
    account = ("serviceaccount/default", "-n", NAMESPACE, "--timeout=20s")
    core_cluster.kubectl("wait", "--for=create", *account)
    restore_objects(core_cluster, objects)
    try:
        yield core_cluster
    finally:
        core_cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s", check=False)


@pytest.fixture
def grove_cluster(core_cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with the objects of Grove, and without Grove."""
    with with_objects(core_cluster, grove_objects()) as cluster:
        yield cluster


@pytest.fixture
def grove_cluster_in_use(core_cluster: Cluster) -> Iterator[Cluster]:
    """The same with a set that is scaled, was updated, and waits for capacity."""
    with with_objects(core_cluster, grove_in_use()) as cluster:
        yield cluster


def uids(person: Onlooker) -> dict[str, str]:
    return {pod.metadata.name: pod.metadata.uid for pod in person.pods}


def has_finalizers(person: Onlooker) -> bool:
    kinds = (SETS, CLIQUES, GROUPS)
    return any(item.metadata.finalizers for kind in kinds for item in person.all(kind))


async def test_running_pods_of_grove_are_kept_and_managed_from_then_on(
    grove_cluster: Cluster,
) -> None:
    async with (
        Client(from_kubeconfig(grove_cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE).watching() as person,
        StandIn(client, "default").serving(),
    ):
        await person.until_ready(COUNT)
        before = uids(person)
        async with running_operator(grove_cluster) as operator:
            await person.until(lambda: holds(person.get(SETS, SET), "Ready"))
            await operator.until_idle()
            assert uids(person) == before
            assert not has_finalizers(person)
            # The hashes of Grove stay, so nothing is outdated.
            assert person.one(SETS, SET).status["currentGenerationHash"] == GENERATION_HASH
            assert not condition(person.one(SETS, SET), names.CONDITION_UPDATING)
            for found in person.all(CLIQUES):
                role = found.metadata.name.rpartition("-")[2]
                assert found.metadata.labels[names.LABEL_POD_TEMPLATE_HASH] == HASHES[role]
                assert found.status["updatedReplicas"] == GROVE_PODS[found.metadata.name]
            for gang in person.all(GANGS):
                assert gang.metadata.labels[names.LABEL_SCHEDULER_BACKEND] == "default"
            # A lost pod is replaced, and a change of the template is rolled out.
            lost = person.pods_of("w-0-a")["1"]
            await person.delete(lost, PODS)
            await person.until(
                lambda: (
                    (new := person.pods_of("w-0-a").get("1")) is not None
                    and new.metadata.uid != lost.metadata.uid
                    and holds(new, "Ready")
                )
            )
            kept = {name: uid for name, uid in uids(person).items() if name in before}
            assert len(kept) == COUNT - 1
        # Another process finds the stored revision.
        async with running_operator(grove_cluster) as operator:
            await operator.until_idle()
            assert kept.items() <= uids(person).items()
            await person.delete(person.one(SETS, SET), SETS)
            await person.until(lambda: not person.pods and not person.all(CLIQUES))


async def test_sizes_order_and_history_of_grove_are_kept_and_gated_pods_are_recreated(
    grove_cluster_in_use: Cluster,
) -> None:
    cluster, size = grove_cluster_in_use, sum(RUNNING.values())
    async with (
        Client(from_kubeconfig(cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE, [HPAS]).watching() as person,
        StandIn(client, "default").serving(),
    ):
        await person.until(lambda: sum(holds(pod, "Ready") for pod in person.pods) == size)
        before = uids(person)
        gated = {pod.metadata.name for pod in person.pods if not holds(pod, "Ready")}
        assert len(gated) == sum(GATED.values())
        autoscalers = {hpa.metadata.name: hpa.metadata.uid for hpa in person.all(HPAS)}
        async with running_operator(cluster) as operator:
            await person.until_ready(size + len(gated))
            await person.until(lambda: holds(person.get(SETS, SET), "Ready"))
            await operator.until_idle()
            running = {name: uid for name, uid in before.items() if name not in gated}
            assert running.items() <= uids(person).items(), "no running pod is restarted"
            # They have never run, and have the gate of their backend now.
            assert not set(uids(person).values()) & {before[name] for name in gated}
            sizes = {found.metadata.name: found.spec["replicas"] for found in person.all(CLIQUES)}
            assert sizes == {**RUNNING, **GATED}
            assert person.one(GROUPS, "w-0-sg").spec["replicas"] == 3
            assert {hpa.metadata.name: hpa.metadata.uid for hpa in person.all(HPAS)} == autoscalers
            for hpa in person.all(HPAS):
                assert {key: hpa.spec[key] for key in SCALE} == SCALE
            assert not condition(person.one(SETS, SET), names.CONDITION_UPDATING)
            for found in person.all(CLIQUES):
                role = found.metadata.name.rpartition("-")[2]
                assert found.metadata.labels[names.LABEL_POD_TEMPLATE_HASH] == HASHES[role]
            # Only an owner reference keeps what Grove made, so all of it goes with the set.
            assert not has_finalizers(person)
            await person.delete(person.one(SETS, SET), SETS)
            await person.until(lambda: not person.pods and not person.all(HPAS))


async def test_a_template_that_changes_after_the_takeover_is_rolled_out(
    grove_cluster: Cluster,
) -> None:
    async with (
        Client(from_kubeconfig(grove_cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE).watching() as person,
        StandIn(client, "default").serving(),
        running_operator(grove_cluster) as operator,
    ):
        await person.until_ready(COUNT)
        await operator.until_idle()
        before = uids(person)
        template = person.one(SETS, SET).spec["template"]
        template["cliques"][0]["spec"]["podSpec"]["containers"][0]["image"] = "example.com/app:2"
        body = {"spec": {"template": {"cliques": template["cliques"]}}}
        await person.change(SETS, SET, body)
        await person.until(
            lambda: (
                {pod.spec["containers"][0]["image"] for pod in person.pods_of("w-0-a").values()}
                == {"example.com/app:2"}
            )
        )
        await person.until_ready(COUNT)
        assert {name for name in uids(person) if name in before} == {
            name for name in before if not name.startswith("w-0-a-")
        }


def commands() -> list[str]:
    """The commands of the steps of the page, in their order."""
    steps = PAGE.read_text().partition("## Steps\n")[2].partition("\n## ")[0]
    blocks = re.findall(r" *```sh\n(.*?) *```", steps, re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


async def test_the_steps_of_the_page_take_a_cluster_over(grove_cluster: Cluster) -> None:
    grove = Path(__file__).parent / "grove_installation.yaml"
    grove_cluster.kubectl("apply", "-f", str(grove))
    new = clique("d")
    async with (
        Client(from_kubeconfig(grove_cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE).watching() as person,
        StandIn(client, "default").serving(),
    ):
        await person.until_ready(COUNT)
        before = uids(person)
        done: list[str] = []

        async def run(command: str) -> str:
            done.append(command)
            words = shlex.split(command)
            assert words[0] == "kubectl", command
            answer = await asyncio.to_thread(grove_cluster.kubectl, *words[1:])
            return answer.stdout

        before_install, after_install = split(commands(), "kubectl apply --server-side")
        for command in before_install:
            await run(command)
        # The install step: the definitions and the operator of this checkout.
        grove_cluster.install_crds(PAGE.parents[1] / "crds")
        async with running_operator(grove_cluster) as operator:
            await person.until(lambda: holds(person.get(SETS, SET), "Ready"))
            await operator.until_idle()
            shown = [await run(command) for command in after_install]
            assert uids(person) == before
            assert not has_finalizers(person)
            assert any("default" in text for text in shown), "the backends are shown"
            assert any(SET in text for text in shown), "the sets are shown"
            # A webhook of Grove that is left would refuse this.
            await person.create(pcs("fresh", new))
            await person.until(lambda: holds(person.get(SETS, "fresh"), "Ready"))
        assert len(done) == len(commands()) - 1, "every command but the installation"


def split(lines: list[str], install: str) -> tuple[list[str], list[str]]:
    place = next(index for index, line in enumerate(lines) if line.startswith(install))
    return lines[:place], lines[place + 1 :]
