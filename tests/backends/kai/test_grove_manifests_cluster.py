"""Manifests in the form of Grove's samples for KAI run unchanged, with the queues that they name."""

from typing import Any

import pytest
import yaml

from backend_controllers.generic.kinds import GANGS
from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import BINDINGS, PODGROUPS, QUEUES
from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.codec import LooseObject
from tests.backends.kai.live import Stage
from tests.backends.kit import running_backend
from tests.contract.schemas import SAMPLES
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

SECONDS = 120
KAI = "kai-scheduler"
QUEUE = "kai.scheduler/queue"
# Two blocks of two racks with four hosts each, under the label keys of all bindings.
HOSTS = 16
LEVELS = {
    "kubernetes.io": ("block", "rack"),
    "h100.example.com": ("block", "rack"),
    "gb200.example.com": ("nvl-block", "nvl-rack"),
}


def manifests(family: str, kind: str) -> list[dict[str, Any]]:
    found = (yaml.safe_load(path.read_text()) for path in sorted((SAMPLES / family).iterdir()))
    return [manifest for manifest in found if manifest["kind"] == kind]


def is_for_kai(manifest: dict[str, Any]) -> bool:
    cliques = manifest["spec"]["template"]["cliques"]
    return all(entry["spec"]["podSpec"].get("schedulerName") == KAI for entry in cliques)


def test_the_samples_name_their_queue_on_cliques_alone() -> None:
    found = [*manifests("workloads", "PodCliqueSet"), *manifests("topology", "PodCliqueSet")]
    assert len(found) == 30
    for manifest in filter(is_for_kai, found):
        assert QUEUE not in manifest["metadata"].get("labels", {})
        queues = {entry["labels"][QUEUE] for entry in manifest["spec"]["template"]["cliques"]}
        assert queues == {"test"}


async def prepare(stage: Stage) -> None:
    """The queues and the nodes that the samples expect."""
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = dict.fromkeys(("cpu", "gpu", "memory"), unlimited)
    for name, parent in (("default", {}), ("test", {"parentQueue": "default"})):
        queue = {"metadata": {"name": name}, "spec": {**parent, "resources": resources}}
        await stage.create(QUEUES, queue)
    for index in range(HOSTS):
        labels = {"kubernetes.io__zone": "z0"}
        for domain, (block, rack) in LEVELS.items():
            labels[f"{domain}__{block}"] = f"b{index // 8}"
            labels[f"{domain}__{rack}"] = f"r{index // 4}"
        await stage.add_node(index, **labels)


def pod_groups(person: Onlooker, pcs_name: str) -> list[LooseObject]:
    """The PodGroups of a set, selected as Grove's tools do."""
    return [
        group
        for group in person.all(PODGROUPS)
        if group.metadata.labels.get("app.kubernetes.io/part-of") == pcs_name
    ]


@pytest.mark.parametrize("family", ["workloads", "topology"])
async def test_samples_run_in_the_queue_of_their_cliques(
    kai_with_gangs: Cluster, stage: Stage, family: str
) -> None:
    await prepare(stage)
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND),
        Onlooker(stage.client, stage.namespace, [PODGROUPS]).watching() as person,
    ):
        for binding in manifests(family, "ClusterTopologyBinding"):
            if "schedulerTopologyBindings" not in binding["spec"]:
                await stage.create(BINDINGS, binding)
        samples = [sample for sample in manifests(family, "PodCliqueSet") if is_for_kai(sample)]
        for sample in samples:
            await person.create(sample)
        names = [sample["metadata"]["name"] for sample in samples]
        await person.until(
            lambda: all(holds(person.get(SETS, name), "Ready") for name in names), SECONDS
        )
        for sample in samples:
            groups = pod_groups(person, sample["metadata"]["name"])
            assert bool(groups) == (sample["spec"]["replicas"] > 0), sample["metadata"]
            for group in groups:
                assert group.spec["queue"] == group.metadata.labels[QUEUE] == "test"


async def test_queues_that_differ_are_refused_until_they_are_corrected(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    await prepare(stage)
    manifest = pcs("w", *(clique(name, 1, podSpec={"schedulerName": KAI}) for name in "ab"))
    manifest["metadata"]["labels"] = {"team": "vision"}
    for entry, queue in zip(manifest["spec"]["template"]["cliques"], ("test", "x"), strict=True):
        entry["labels"] = {QUEUE: queue}
    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND),
        Onlooker(stage.client, stage.namespace, [PODGROUPS]).watching() as person,
    ):
        await person.create(manifest)
        differ = f"{QUEUE} has different values: 'test' on clique a; 'x' on clique b."

        def is_refused() -> bool:
            accepted = condition(person.get(GANGS, "w-0"), "Accepted")
            return accepted.get("status") == "False" and differ in accepted["message"]

        await person.until(is_refused, SECONDS)
        await person.until(
            lambda: differ in condition(person.get(SETS, "w"), "Ready").get("message", ""), SECONDS
        )
        assert pod_groups(person, "w") == []
        corrected = manifest["spec"]["template"]["cliques"]
        del corrected[1]["labels"]
        await person.client.patch(
            SETS,
            "w",
            person.namespace,
            patch=Patch({"spec": {"template": {"cliques": corrected}}}, PatchType.MERGE),
            field_manager="person",
        )
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"), SECONDS)
        [group] = pod_groups(person, "w")
        assert group.spec["queue"] == "test"
        assert group.metadata.labels["team"] == "vision"
