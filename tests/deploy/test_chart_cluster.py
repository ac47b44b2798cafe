"""The Helm chart installs what the kustomize bases install, and what its values choose."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from chartgen.__main__ import CHART, main
from chartgen.bases import BACKENDS, FAR_SIDES
from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.process_node.placement import dedicated_namespace
from local_cluster.pytest_plugin import fresh_namespace, running_cluster
from local_cluster.waiting import wait_until
from tests.core.kit import clique, pcs
from tests.deploy.kit import DEPLOY, NAMESPACE, PATIENCE, Object, rendered, until_available

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

_OTHERS = ("kai", "koordinator", "volcano", "yunikorn")
_ONLY_DEFAULT = tuple(f"--set=backends.{name}.enabled=false" for name in _OTHERS)


class Helm:
    """Helm, with this chart and no files of the user's."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        self._program = ensure_built(build_of("helm")) / "helm"
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
        }

    def __call__(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._program), *arguments, f"--namespace={NAMESPACE}"],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def template(self, *values: str) -> list[Object]:
        text = self("template", "podgang", str(CHART), *values)
        return [manifest for manifest in yaml.safe_load_all(text) if manifest]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster without anything of the product."""
    with running_cluster(ClusterOptions(), tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="module")
def helm(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(tmp_path_factory.mktemp("helm"), cluster.kubeconfig)


def test_the_committed_chart_is_what_the_bases_give(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_helm_finds_nothing_to_criticise(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


def test_the_chart_and_the_bases_install_the_same_objects(cluster: Cluster, helm: Helm) -> None:
    bases = {_identity(m): _comparable(m) for m in rendered(cluster, "all")}
    chart = {_identity(m): _comparable(m) for m in helm.template()}
    # The user chooses the namespace of a release.
    del bases["Namespace", "grove-system"]
    assert chart.keys() == bases.keys()
    for identity, manifest in bases.items():
        assert chart[identity] == manifest, identity


def test_values_choose_what_is_installed_and_how(helm: Helm) -> None:
    found = helm.template(
        *_ONLY_DEFAULT,
        "--set=policies.enabled=false,crds.install=false,serviceMonitor.enabled=true",
        "--set=image.repository=example/podgang,image.tag=v9,imagePullSecrets[0].name=pull",
        "--set=backends.default.replicas=1,backends.default.resources.limits.memory=1Gi",
        "--set=core.settings.logging.level=DEBUG,extraLabels.team=serving",
    )
    kinds = [m["kind"] for m in found]
    assert "CustomResourceDefinition" not in kinds
    # Core brings one policy of its own: a rule about annotations, which a CRD cannot express.
    assert kinds.count("ValidatingAdmissionPolicy") == 3
    assert [m["metadata"]["name"] for m in found if m["kind"] == "ServiceMonitor"] == ["podgang"]
    assert all(m["metadata"]["labels"]["team"] == "serving" for m in found)
    deployments = {m["metadata"]["name"]: m["spec"] for m in found if m["kind"] == "Deployment"}
    assert deployments.keys() == {"core-operator", "backend-default"}
    assert deployments["backend-default"]["replicas"] == 1
    for spec in deployments.values():
        pods = spec["template"]["spec"]
        assert pods["imagePullSecrets"] == [{"name": "pull"}]
        assert pods["containers"][0]["image"] == "example/podgang:v9"
    (limit,) = deployments["backend-default"]["template"]["spec"]["containers"]
    assert limit["resources"]["limits"] == {"memory": "1Gi"}
    settings = _settings(found, "core-operator-settings")
    assert settings["logging"] == {"level": "DEBUG"}
    # One value names the image: what runs in users' pods has that of core.
    assert "startupOrder" not in settings


@pytest.mark.parametrize("name", sorted(FAR_SIDES))
def test_a_value_installs_a_backend_of_places_outside_of_the_cluster(
    cluster: Cluster, helm: Helm, name: str
) -> None:
    usual = {_identity(m) for m in helm.template()}
    found = {
        _identity(m): _comparable(m) for m in helm.template(f"--set=backends.{name}.enabled=true")
    }
    bases = {_identity(m): _comparable(m) for m in rendered(cluster, f"backends/{name}")}
    assert not usual & bases.keys()
    assert found.keys() == usual | bases.keys()
    for identity, manifest in bases.items():
        assert found[identity] == manifest, identity


def test_credentials_are_mounted_into_the_backend_that_needs_them_only(helm: Helm) -> None:
    found = helm.template(
        "--set=backends.slurm.enabled=true,backends.docker.enabled=true",
        "--set=backends.slurm.secrets.slurm\\.token=/etc/slurm-token",
        "--set=backends.slurm.instances.slurm-b.secrets.other=/etc/other",
    )
    mounted = {}
    for manifest in found:
        if manifest["kind"] == "Deployment":
            pods = manifest["spec"]["template"]["spec"]
            volumes = {one["name"]: one.get("secret") for one in pods["volumes"]}
            mounted[manifest["metadata"]["name"]] = {
                one["mountPath"]: volumes[one["name"]]["secretName"]
                for one in pods["containers"][0]["volumeMounts"]
                if volumes[one["name"]]
            }
    token = {"/etc/slurm-token": "slurm.token"}
    assert mounted.pop("backend-slurm") == token
    assert mounted.pop("backend-slurm-b") == {**token, "/etc/other": "other"}
    assert {"core-operator", "backend-docker"} < mounted.keys()
    assert not any(mounted.values())


@pytest.mark.parametrize("kind", BACKENDS)
def test_an_instance_of_the_chart_is_that_of_the_overlay(
    cluster: Cluster, helm: Helm, tmp_path: Path, kind: str
) -> None:
    text = (DEPLOY / "overlays/second-instance/kustomization.yaml").read_text()
    folder = tmp_path / "deploy/overlays/second-instance"
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    for old, new in (("backends/kai", f"backends/{kind}"), ("kai-team-a", f"{kind}-team-a")):
        assert old in text
        text = text.replace(old, new)
    (folder / "kustomization.yaml").write_text(text)
    shutil.copy(DEPLOY / "backends" / kind / "settings.yaml", folder)
    overlay = rendered(cluster, str(folder))
    values = f"--set=backends.{kind}.instances.{kind}-team-a.replicas=2"
    chart = {_identity(m): _comparable(m) for m in helm.template(values)}
    assert len(overlay) > 10
    for manifest in overlay:
        assert chart[_identity(manifest)] == _comparable(manifest)
    # It has no right on what has the name of its kind.
    own = ("ClusterRole", f"grove-backend-own-{kind}-team-a")
    named = [one for rule in chart[own]["rules"] for one in rule.get("resourceNames", ())]
    assert named.count(kind) == (kind in ("volcano", "yunikorn")), "names of schedulers"
    if kind not in FAR_SIDES:
        kept = {_identity(m) for m in rendered(cluster, f"backends/{kind}")}
        assert kept <= chart.keys(), "the instance that has the kind's name stays"


def test_an_instance_has_settings_of_its_own(helm: Helm) -> None:
    given = "backends.kai.instances.kai-team-a.settings.options.defaultQueue=team-a"
    found = helm.template(f"--set={given}")
    queues = {
        name: _settings(found, f"backend-{name}-settings")["options"]["defaultQueue"]
        for name in ("kai", "kai-team-a")
    }
    assert queues == {"kai": None, "kai-team-a": "team-a"}


def test_a_digest_names_the_image_of_all_controllers(helm: Helm) -> None:
    digest = f"sha256:{'0' * 64}"
    found = helm.template(f"--set=image.repository=example/podgang,image.digest={digest}")
    image = f"example/podgang@{digest}"
    for manifest in found:
        if manifest["kind"] == "Deployment":
            (container,) = manifest["spec"]["template"]["spec"]["containers"]
            assert container["image"] == image


def test_a_value_permits_sets_only_in_namespaces_that_opted_in(helm: Helm) -> None:
    found = helm.template("--set=namespaces.optIn=true")
    given = yaml.safe_load_all((DEPLOY / "policies/opted-in/namespaces.yaml").read_text())
    for manifest in given:
        (made,) = (m for m in found if _identity(m) == _identity(manifest))
        assert made["spec"] == manifest["spec"]
    usual = {_identity(m) for m in helm.template()}
    assert ("ValidatingAdmissionPolicy", "grove-opted-in-namespaces") not in usual


def test_the_alerts_of_the_chart_are_those_of_the_manifests(helm: Helm) -> None:
    found = helm.template("--set=prometheusRule.enabled=true")
    (rules,) = (m for m in found if m["kind"] == "PrometheusRule")
    given = (DEPLOY / "monitoring" / "rules" / "prometheusrule.yaml").read_text()
    assert rules["spec"] == yaml.safe_load(given)["spec"]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("backends.kia.enabled=true", "kia"),
        ("backends.kai.instances.Kai.replicas=1", "Kai"),
        ("backends.kai.instances.kai-b.replicsa=1", "replicsa"),
        ("core.replicas=-1", "core/replicas"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("backends.slurm.secrets.token=etc", "secrets/token"),
        ("backends.kai.secrets.token=/etc", "secrets"),
        ("policies.enabled=perhaps", "policies/enabled"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(helm: Helm, value: str, named: str) -> None:
    done = helm.run("template", "podgang", str(CHART), f"--set={value}")
    assert done.returncode != 0
    assert named in done.stderr.replace(".", "/")


def test_a_release_runs_gangs_and_leaves_sets_behind(cluster: Cluster, helm: Helm) -> None:
    # Pods of this namespace run on the process node.
    namespace = json.dumps(dedicated_namespace(NAMESPACE))
    cluster.kubectl("apply", "--server-side", "-f", "-", input=namespace)
    wait = ("--wait", f"--timeout={PATIENCE:.0f}s")
    helm("install", "podgang", str(CHART), *_ONLY_DEFAULT, *wait)
    until_available(cluster, "default")
    before = _pods(cluster, "backend-default")
    helm(
        *("upgrade", "podgang", str(CHART), *_ONLY_DEFAULT, *wait),
        "--set=backends.default.settings.logging.level=DEBUG",
    )
    assert not before & _pods(cluster, "backend-default"), "a changed setting starts a rollout"
    with fresh_namespace(cluster) as space:
        gang = json.dumps(pcs("gang", clique("worker", 2)))
        cluster.kubectl("apply", f"-n{space}", "-f", "-", input=gang)
        wait_until(
            cluster.kubeconfig,
            f"/api/v1/namespaces/{space}/pods",
            lambda pods: len(pods) == 2 and all(p["spec"].get("nodeName") for p in pods),
            seconds=PATIENCE,
        )
        helm("uninstall", "podgang", "--wait")
        left = cluster.kubectl("get", "pcs", "gang", f"-n{space}", "-oname").stdout
        assert left.strip() == "podcliqueset.grove.io/gang"
        pods = _uids(cluster, space)
        assert len(pods) == 2
        # It takes over the CRDs that stayed, and the gang.
        helm("install", "podgang", str(CHART), *_ONLY_DEFAULT, *wait)
        until_available(cluster, "default")
        ready = ("pcs/gang", f"-n{space}", "--for=condition=Ready", f"--timeout={PATIENCE:.0f}s")
        cluster.kubectl("wait", *ready)
        assert _uids(cluster, space) == pods
        helm("uninstall", "podgang", "--wait")


def _pods(cluster: Cluster, name: str) -> set[str]:
    return _uids(cluster, NAMESPACE, f"-lapp.kubernetes.io/name={name}")


def _uids(cluster: Cluster, namespace: str, *selectors: str) -> set[str]:
    """Return the pods that are not being deleted."""
    text = cluster.kubectl("get", "pods", f"-n{namespace}", *selectors, "-ojson").stdout
    return {
        pod["metadata"]["uid"]
        for pod in json.loads(text)["items"]
        if not pod["metadata"].get("deletionTimestamp")
    }


def _identity(manifest: Object) -> tuple[str, str]:
    name = manifest["metadata"]["name"]
    if manifest["kind"] == "ConfigMap":
        # Kustomize adds a hash of the content.
        labels = manifest["metadata"].get("labels", {})
        name = labels.get("app.kubernetes.io/instance", "core-operator")
    return manifest["kind"], name


def _comparable(manifest: Object) -> Object:
    """Return a manifest without what only a chart, or only kustomize, adds."""
    metadata = {
        key: value for key, value in manifest["metadata"].items() if key in ("labels", "namespace")
    }
    labels = metadata.pop("labels", {})
    labels.pop("helm.sh/chart", None)
    found = {**manifest, "metadata": {**metadata, "labels": labels}}
    if manifest["kind"] == "ConfigMap":
        found["data"] = yaml.safe_load(manifest["data"]["settings.yaml"])
    if manifest["kind"] == "Deployment":
        pods = manifest["spec"]["template"]
        pods["metadata"]["labels"].pop("helm.sh/chart", None)
        pods["metadata"]["annotations"].pop("checksum/settings", None)
        for name in ("imagePullSecrets", "nodeSelector", "tolerations"):
            pods["spec"].pop(name, None)
        for container in pods["spec"]["containers"]:
            assert container.pop("imagePullPolicy", "IfNotPresent") == "IfNotPresent"
        for volume in pods["spec"]["volumes"]:
            volume["configMap"] = {}
    return found


def _settings(found: list[Object], name: str) -> Object:
    (text,) = (
        m["data"]["settings.yaml"]
        for m in found
        if m["kind"] == "ConfigMap" and m["metadata"]["name"] == name
    )
    settings: Object = yaml.safe_load(text)
    return settings
