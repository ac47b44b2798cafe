"""What users and administrators get wrong, and what they are told about it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend_controllers.generic import gang_reconciler
from backend_controllers.generic.kinds import BACKENDS, GANGS
from backend_controllers.koordinator import BACKEND
from backend_controllers.koordinator.api import KEY_MODE, KEY_POD_GROUP, KEY_QUOTA, PODGROUPS
from core_operator.state.caches import SETS
from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import ControlPlane
from local_cluster.versions import DEFAULT_MINOR
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.backends.generic.gangs import Eyes, said, until_said
from tests.backends.kit import running_backend
from tests.backends.koordinator.conftest import ASSETS
from tests.backends.suite.stage import SECONDS, Stage
from tests.core.conftest import CRDS
from tests.core.kit import Object, condition, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(300)]

ZONE = "example.com/zone"


async def test_a_quota_that_does_not_exist_is_named_and_the_gang_runs(stage: Stage) -> None:
    await stage.add_nodes(1)
    cluster, person = stage.bed.cluster, stage.person
    async with running_operator(cluster), running_backend(cluster, BACKEND):
        await stage.create("w", {"a": 1}, annotations={KEY_QUOTA: "no-such"})
        await stage.until_runs("w")
        await person.until(
            lambda: "ElasticQuota 'no-such' does not exist" in _programmed(stage), SECONDS
        )
        [pod] = person.pods
        assert pod.metadata.labels[KEY_QUOTA] == "no-such"


async def test_names_as_long_as_they_can_be_are_cut_to_a_label(stage: Stage) -> None:
    await stage.add_nodes(1)
    cluster = stage.bed.cluster
    name, role = "w" * 20, "r" * 20
    group = {"name": "g" * 5, "cliqueNames": [role], "replicas": 1, "minAvailable": 1}
    async with running_operator(cluster), running_backend(cluster, BACKEND):
        cliques = [stage.clique(role, 2, cpu="1")]
        await stage.create_of(name, cliques, podCliqueScalingGroups=[group])
        await stage.until_runs(name)
        [joined] = {pod.metadata.labels[KEY_POD_GROUP] for pod in stage.person.pods}
        assert len(joined) <= 63


async def test_terms_that_nobody_understands_are_refused_until_they_are_corrected(
    stage: Stage,
) -> None:
    await stage.add_nodes(1)
    cluster, person = stage.bed.cluster, stage.person
    async with running_operator(cluster), running_backend(cluster, BACKEND):
        await stage.create("w", {"a": 1}, annotations={KEY_MODE: "strict"})
        told = await until_said(person, "w-0", "Accepted", "False", names.REASON_UNSUPPORTED)
        assert told == (
            f"not supported by the scheduler: {KEY_MODE} has the invalid value 'strict'."
            " Set it to NonStrict or Strict"
        )
        assert person.pods == []
        await person.change(SETS, "w", {"metadata": {"annotations": {KEY_MODE: "Strict"}}})
        await stage.until_runs("w")


async def test_a_placement_that_the_network_lacks_is_refused_until_it_has_it(stage: Stage) -> None:
    await stage.add_nodes(2, **{ZONE: "one"})
    topology = await stage.binding(zone=ZONE)
    cluster, person = stage.bed.cluster, stage.person
    constraint = {"topologyName": topology, "pack": {"required": "zone"}}
    async with running_operator(cluster), running_backend(cluster, BACKEND):
        try:
            _apply(stage, _network(RackLayer="example.com/rack"))
            await stage.create("w", {"a": 2}, topologyConstraint=constraint)
            told = await until_said(person, "w-0", "Accepted", "False", names.REASON_UNSUPPORTED)
            assert f"the gang cannot be packed by {ZONE}: no layer of" in told
            assert "(example.com/rack)" in told
            assert person.pods == []
            _apply(stage, _network(ZoneLayer=ZONE))
            await stage.until_runs("w")
        finally:
            _delete(stage, "clusternetworktopologies/default")


async def test_a_pod_group_of_another_client_is_never_touched(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gang_reconciler, "CONFLICT_RETRY_SECONDS", 0.5)
    cluster, person = stage.bed.cluster, stage.person
    groups = Eyes(person.client, PODGROUPS, stage.namespace)
    async with running_backend(cluster, BACKEND), groups.watching():
        await person.create(_gang(stage.namespace))

        def prepared() -> list[Object]:
            gang = person.get(GANGS, "g")
            found: list[Object] = gang.status.get("podPreparations", []) if gang else []
            return found

        await person.until(prepared, SECONDS)
        labels = prepared()[0]["members"]["labels"]
        name = labels[KEY_POD_GROUP]
        await groups.create(name, minMember=9)
        await groups.until(lambda: groups.get(name))
        await person.create(_pod(labels))
        told = await until_said(person, "g", "Programmed", "False", names.REASON_CONFLICT)
        assert told.startswith(
            f"PodGroup {stage.namespace}/{name} exists and is not owned by PodGang g:"
        )
        assert groups.one(name).spec == {"minMember": 9}
        await groups.delete(name)
        await person.until(lambda: said(person, "g", "Programmed")[0] == "True", SECONDS)
        assert groups.one(name).spec == {"minMember": 1}


# Starting a server runs an event loop of its own, so this may not be async.
@pytest.fixture
def bare_cluster(control_plane: ControlPlane) -> Cluster:
    """An API server without any scheduler's kinds."""
    cluster = control_plane(DEFAULT_MINOR)
    cluster.install_crds(CRDS)
    return cluster


async def test_definitions_that_are_missing_or_too_old_are_named(bare_cluster: Cluster) -> None:
    cluster = bare_cluster
    assets = ensure_built(build_of("koordinator")) / ASSETS
    async with Client(from_kubeconfig(cluster.kubeconfig)) as client:
        records = Eyes(client, BACKENDS, "")

        def ready(text: str, status: str) -> bool:
            found = condition(records.get("koordinator"), "Ready")
            return found.get("status") == status and text in found["message"]

        async with records.watching(), running_backend(cluster, BACKEND):
            missing = "missing: podgroups.scheduling.sigs.k8s.io in version v1alpha1"
            await records.until(lambda: ready(missing, "False"))
            definition = _definition(assets / "scheduling.sigs.k8s.io_podgroups.yaml")
            minimum = _spec_fields(definition).pop("minMember")
            await asyncio.to_thread(
                cluster.kubectl, "apply", "--server-side", "-f", "-", input=json.dumps(definition)
            )
            await records.until(lambda: ready("missing: the field spec.minMember", "False"))
            _spec_fields(definition)["minMember"] = minimum
            await asyncio.to_thread(
                cluster.kubectl, "apply", "--server-side", "-f", "-", input=json.dumps(definition)
            )
            waits = "koord-scheduler waits for them without a message"
            await records.until(lambda: ready(waits, "True"))
            uses = "uses scheduling.sigs.k8s.io/v1alpha1;"
            assert ready(uses, "True")
            listed = records.one("koordinator").spec["capabilities"]
            assert not [name for name in listed if name.startswith("Topology")]


def _programmed(stage: Stage) -> str:
    return str(stage.said("w-0", "Programmed").get("message", ""))


def _network(**layers: str) -> Object:
    [(layer, key)] = layers.items()
    listed = [
        {"topologyLayer": layer, "labelKey": [key]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": layer},
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": listed},
    }


def _apply(stage: Stage, manifest: Object) -> None:
    stage.bed.cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def _delete(stage: Stage, name: str) -> None:
    stage.bed.cluster.kubectl("delete", name, "--ignore-not-found")


def _gang(namespace: str) -> Object:
    """A gang made by hand, with one member."""
    reference = {"namespace": namespace, "name": "g-a-0"}
    return {
        "apiVersion": GANGS.api_version,
        "kind": GANGS.kind,
        "metadata": {"name": "g", "labels": {names.LABEL_SCHEDULER_BACKEND: "koordinator"}},
        "spec": {"podgroups": [{"name": "g-a", "podReferences": [reference], "minReplicas": 1}]},
    }


def _pod(labels: dict[str, str]) -> Object:
    """The member, without a gate, for a scheduler that nobody runs."""
    ours = {
        names.LABEL_PODGANG: "g",
        names.LABEL_PODCLIQUE: "g-a",
        names.LABEL_POD_INDEX: "0",
        names.LABEL_SCHEDULER_BACKEND: "koordinator",
    }
    container = {"name": "main", "image": "registry.example.com/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "g-a-0", "labels": {**ours, **labels}},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    }


def _definition(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


def _spec_fields(definition: dict[str, Any]) -> dict[str, Any]:
    [version] = definition["spec"]["versions"]
    fields: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"][
        "properties"
    ]
    return fields
