"""The manifests of an earlier version are upgraded by applying those of this version, and nothing else.

Only the objects are of the earlier version. Its programs are not here, so its Deployments have no replicas.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import fresh_namespace, running_cluster
from local_cluster.waiting import wait_until
from releasing.checks import earlier_versions
from tests.core.kit import clique, pcs
from tests.deploy.kit import NAMESPACE, PATIENCE, Object, install, rendered
from tests.upgrade.record_manifests import FOLDER, read

_FILES = sorted(FOLDER.glob("*.yaml.gz"))
_ROOT = Path(__file__).parents[2]


def test_the_manifests_of_every_earlier_version_are_here() -> None:
    assert _FILES
    found = {file.name.removesuffix(".yaml.gz") for file in _FILES}
    assert set(earlier_versions(_ROOT)) <= found, "python -m tests.upgrade.record_manifests"


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster without anything of the product."""
    with running_cluster(ClusterOptions(), tmp_path_factory) as running:
        yield running


@pytest.mark.cluster
@pytest.mark.timeout(400)
@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.name.removesuffix(".yaml.gz"))
def test_applying_todays_manifests_upgrades_an_earlier_version(bare: Cluster, file: Path) -> None:
    earlier = [manifest for manifest in yaml.safe_load_all(read(file)) if manifest]
    for manifest in earlier:
        if manifest["kind"] == "Deployment":
            manifest["spec"]["replicas"] = 0
    _apply(bare, earlier)
    with fresh_namespace(bare) as space:
        gang = json.dumps(pcs("kept", clique("worker", 2)))
        bare.kubectl("create", f"-n{space}", "-f", "-", input=gang)
        # The command of docs/operating.md. It fails if a field may not change, or has another owner.
        install(bare, "all", "default")
        wait_until(
            bare.kubeconfig,
            f"/api/v1/namespaces/{space}/pods",
            lambda pods: len(pods) == 2 and all(pod["spec"].get("nodeName") for pod in pods),
            seconds=PATIENCE,
        )
    todays = rendered(bare, "all")
    # What has another name now would stay, with its rights.
    assert {*map(_identity, earlier)} - {*map(_identity, todays)} == set()
    for manifest in todays:
        if manifest["kind"] == "Deployment":
            _is_as_written(bare, manifest)


def _apply(cluster: Cluster, manifests: list[Object]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    # Objects of kinds that the same call defines are refused until these are served.
    cluster.kubectl("apply", "--server-side", "-f", "-", input=text, check=False)
    cluster.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
    cluster.kubectl("apply", "--server-side", "-f", "-", input=text)


def _identity(manifest: Object) -> tuple[str, str]:
    name = manifest["metadata"]["name"]
    # Kustomize adds a hash of the content to the names of settings.
    return manifest["kind"], name.rpartition("-")[0] if manifest["kind"] == "ConfigMap" else name


def _is_as_written(cluster: Cluster, manifest: Object) -> None:
    """Nothing of the earlier version is left in a Deployment."""
    name = f"deployment/{manifest['metadata']['name']}"
    found = json.loads(cluster.kubectl("get", name, f"-n{NAMESPACE}", "-ojson").stdout)
    for part in ("containers", "volumes"):
        old, new = (one["spec"]["template"]["spec"][part] for one in (found, manifest))
        assert [entry["name"] for entry in old] == [entry["name"] for entry in new], name
    (running,), (written,) = (
        one["spec"]["template"]["spec"]["containers"] for one in (found, manifest)
    )
    for key in ("args", "command", "image"):
        assert running[key] == written[key], name
    assert [one["name"] for one in running["env"]] == [one["name"] for one in written["env"]], name
