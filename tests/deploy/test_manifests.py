"""What is written in deploy/: rights, and how pods are locked down."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend_controllers import registry

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CORE_GROUPS = {
    "",
    "apps",
    "autoscaling",
    "coordination.k8s.io",
    "events.k8s.io",
    "grove.io",
    "policy.grove.io",
    "resource.k8s.io",
    "resource.nvidia.com",
    "scheduler.grove.io",
}
NEVER = {"*", "secrets", "escalate", "bind", "impersonate", "serviceaccounts/token", "pods/exec"}
Object = dict[str, Any]


def manifests(folder: Path = DEPLOY) -> Iterator[tuple[Path, Object]]:
    for file in sorted(folder.rglob("*.yaml")):
        if "chart" in file.relative_to(DEPLOY).parts:
            # Templates, generated from the rest.
            continue
        for manifest in yaml.safe_load_all(file.read_text()):
            # Neither settings nor what tells kustomize what to do.
            if manifest and "metadata" in manifest and "$patch" not in manifest:
                yield file, manifest


def rules(folder: Path) -> list[Object]:
    return [
        rule
        for _, manifest in manifests(folder)
        if manifest["kind"] in ("Role", "ClusterRole")
        for rule in manifest["rules"]
    ]


def scheduler_groups(backend: str) -> set[str]:
    """The groups that a backend writes in: those of its scheduler."""
    shared = {"", "grove.io", "scheduler.grove.io", "coordination.k8s.io", "events.k8s.io"}
    written = (rule for rule in rules(DEPLOY / "backends" / backend) if "create" in rule["verbs"])
    return {group for rule in written for group in rule["apiGroups"]} - shared


def test_every_file_names_the_image_of_this_version() -> None:
    """A moving tag would start another version than the one that was installed."""
    files = (ROOT / "README.md", ROOT / "Containerfile", *DEPLOY.rglob("*.yaml"))
    named = {
        image: file.relative_to(ROOT)
        for file in files
        for image in re.findall(r"\bpodgang:[\w.-]+", file.read_text())
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert named.keys() == {f"podgang:{project['version']}"}, named


def deployments() -> list[Object]:
    return [manifest for _, manifest in manifests() if manifest["kind"] == "Deployment"]


def test_nobody_has_rights_that_lead_to_others() -> None:
    found = rules(DEPLOY)
    assert found
    words = {word for rule in found for words in rule.values() for word in words}
    assert not words & NEVER


@pytest.mark.parametrize("kind", ["podcliquesets", "placementpolicies"])
def test_users_of_a_namespace_see_and_write_what_they_describe_there(kind: str) -> None:
    granted = {
        manifest["metadata"]["name"]: {
            verb
            for rule in manifest["rules"]
            if kind in rule["resources"]
            for verb in rule["verbs"]
        }
        for file, manifest in manifests()
        if file.name == "roles.yaml"
    }
    assert granted["grove-view"] == {"get", "list", "watch"}
    assert granted["grove-edit"] == {"create", "update", "patch", "delete", "deletecollection"}


def test_core_knows_no_scheduler() -> None:
    found = {group for rule in rules(DEPLOY / "core") for group in rule["apiGroups"]}
    assert found == CORE_GROUPS


@pytest.mark.parametrize("name", sorted(registry.MODULES))
def test_a_backend_makes_no_pods_and_knows_no_other_scheduler(name: str) -> None:
    own = rules(DEPLOY / "backends" / "base") + rules(DEPLOY / "backends" / name)
    for rule in own:
        if "pods" in rule["resources"]:
            # A far side deletes pods of its own node, as a kubelet does; a policy selects them.
            far = {"delete"} if name in registry.FAR_SIDES else set()
            assert set(rule["verbs"]) in ({"list", "watch"}, far)
    others = set[str]().union(*(scheduler_groups(o) for o in registry.MODULES if o != name))
    found = {
        (group, resource)
        for rule in own
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if group in others - scheduler_groups(name)
    }
    # Kubernetes keeps its priority classes in the group of its own gang API.
    assert found <= {("scheduling.k8s.io", "priorityclasses")}


@pytest.mark.parametrize("deployment", deployments(), ids=lambda item: item["metadata"]["name"])
def test_pods_keep_to_the_restricted_standard_and_more(deployment: Object) -> None:
    spec = deployment["spec"]["template"]["spec"]
    assert spec["enableServiceLinks"] is False
    assert spec["priorityClassName"] == "grove-controllers"
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    # An exit takes ten seconds.
    assert spec["terminationGracePeriodSeconds"] > 10


def test_every_deployment_has_its_account_service_and_network_policy() -> None:
    for file, deployment in manifests():
        if deployment["kind"] != "Deployment":
            continue
        name = deployment["metadata"]["name"]
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        kinds = {m["kind"]: m for _, m in manifests(file.parent) if m["metadata"]["name"] == name}
        assert {"ServiceAccount", "Service", "NetworkPolicy"} <= set(kinds)
        assert kinds["Service"]["spec"]["selector"] == labels
        policy = kinds["NetworkPolicy"]["spec"]
        assert policy["podSelector"]["matchLabels"] == labels
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        if deployment["spec"]["replicas"] > 1:
            assert kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels


def test_the_gates_of_all_backends_are_guarded() -> None:
    text = (DEPLOY / "policies" / "managed-pods.yaml").read_text()
    for name in registry.MODULES:
        assert f"'{registry.find(name).scheduling_gate}'" in text


@pytest.mark.parametrize("name", sorted(registry.MODULES))
def test_a_backend_is_granted_what_it_registers_with_and_no_more(name: str) -> None:
    backend = registry.find(name)
    virtual = {
        rule["resources"][0]: rule.get("resourceNames", [])
        for rule in rules(DEPLOY / "backends" / name)
        if rule["apiGroups"] == ["policy.grove.io"]
    }
    assert virtual["backends"] == [name]
    assert set(virtual["schedulernames"]) == {one for one in backend.scheduler_names if one}
    assert set(virtual.get("podkeys", ())) == set(backend.pod_keys or ())


@pytest.mark.parametrize("name", sorted(registry.MODULES))
def test_an_overlay_finds_the_name_of_an_instance_in_the_first_rules(name: str) -> None:
    """deploy/overlays/second-instance replaces the name there, for every kind."""
    roles = {
        manifest["metadata"]["name"]: manifest["rules"]
        for _, manifest in manifests(DEPLOY / "backends" / name)
        if manifest["kind"] in ("Role", "ClusterRole")
    }
    # A far side has a Node and its Lease of the same name, too.
    count = 6 if name in registry.FAR_SIDES else 3
    own = roles["grove-backend-own"]
    assert [rule["resourceNames"] for rule in own[:count]] == [[name]] * count
    rest = [one for rule in own[count:] for one in rule.get("resourceNames", ())]
    # YuniKorn and Volcano have a scheduler of the same name.
    assert rest.count(name) == (name in registry.find(name).scheduler_names)
    assert [rule["resourceNames"] for rule in roles["backend-own"]] == [[f"backend-{name}"]]


@pytest.mark.parametrize("folder", ["all", "overlays/all-in-one"])
def test_the_policies_are_in_every_overlay(folder: str) -> None:
    text = (DEPLOY / folder / "kustomization.yaml").read_text()
    listed = yaml.safe_load(text)["resources"]
    assert DEPLOY / "policies" in {(DEPLOY / folder / path).resolve() for path in listed}


def test_every_backend_without_a_far_side_is_in_all_and_in_the_all_in_one() -> None:
    listed = yaml.safe_load((DEPLOY / "all" / "kustomization.yaml").read_text())["resources"]
    found = {Path(path).name for path in listed if "backends/" in path}
    folders = {path.parent.name for path in DEPLOY.glob("backends/*/settings.yaml")}
    assert found == folders - registry.FAR_SIDES
    folder = DEPLOY / "overlays" / "all-in-one"
    (deployment,) = (m for _, m in manifests(folder) if m["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    started = [one for one in container["args"] if one.startswith("--backend=")]
    assert started == [f"--backend={n}=/etc/backend-{n}/settings.yaml" for n in sorted(found)]


def test_one_service_monitor_finds_every_service_of_two_replicas() -> None:
    monitor = next(m for _, m in manifests() if m["kind"] == "ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"]
    for folder in ("core", "backends/base"):
        service = next(m for _, m in manifests(DEPLOY / folder) if m["kind"] == "Service")
        assert wanted.items() <= service["metadata"]["labels"].items()
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports


def test_only_labelled_namespaces_reach_the_ports() -> None:
    policies = [m for _, m in manifests() if m["kind"] == "NetworkPolicy"]
    assert len(policies) == 3
    for policy in policies:
        senders = [sender for rule in policy["spec"]["ingress"] for sender in rule["from"]]
        labels = {"metrics.grove.io/scrape": "allowed"}
        assert senders == [{"namespaceSelector": {"matchLabels": labels}}]


def test_every_account_that_serves_secured_metrics_may_ask_for_reviews() -> None:
    found = manifests(DEPLOY / "components" / "secure-metrics")
    binding = next(m for _, m in found if m["kind"] == "ClusterRoleBinding")
    accounts = {subject["name"] for subject in binding["subjects"]}
    assert accounts == {"core-operator", *(f"backend-{name}" for name in registry.MODULES)}


def test_the_supervisor_imports_neither_core_nor_backends() -> None:
    for file in sorted((ROOT / "all_in_one").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            tops = {name.split(".")[0] for name in names}
            assert not tops & {"core_operator", "backend_controllers", "local_cluster"}, file
