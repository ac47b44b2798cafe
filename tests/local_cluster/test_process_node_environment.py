"""What a container's process is started with."""

from pathlib import Path
from typing import Any

import pytest

from local_cluster.process_node.environment import (
    ContainerConfigError,
    container_variables,
    expand,
    plan_command,
    plan_launch,
)
from tests.local_cluster.process_node_samples import ROOT, config_map, facts


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("$(A)$(B)-$(A)", "12-1"),
        ("$(MISSING)", "$(MISSING)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(not closed", "$(not closed"),
        ("$(DOTS.and-dashes)", "3"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1", "B": "2", "DOTS.and-dashes": "3"}) == expanded


def variables(*env: dict[str, Any], **container: Any) -> dict[str, str]:
    maps = {"settings": config_map(COLOR="red", **{"not a name": "x"})}
    return container_variables({"name": "main", "env": list(env), **container}, facts(maps))


def test_a_value_sees_only_what_was_defined_before_it() -> None:
    found = variables(
        {"name": "A", "value": "$(B)"}, {"name": "B", "value": "b"}, {"name": "C", "value": "$(B)"}
    )
    assert (found["A"], found["C"]) == ("$(B)", "b")


def test_the_api_server_is_named_and_usable_in_values() -> None:
    found = variables({"name": "URL", "value": "https://$(KUBERNETES_SERVICE_HOST)"})
    assert found["KUBERNETES_SERVICE_PORT"] == "6443"
    assert found["URL"] == "https://127.0.0.1"


def test_env_overrides_env_from_and_bad_names_are_skipped() -> None:
    source = [{"configMapRef": {"name": "settings"}, "prefix": ""}]
    found = variables({"name": "COLOR", "value": "not $(COLOR)"}, envFrom=source)
    assert found["COLOR"] == "not red"
    assert "not a name" not in found
    prefixed = variables(envFrom=[{"configMapRef": {"name": "settings"}, "prefix": "P_"}])
    assert prefixed["P_COLOR"] == "red"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web-1"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "uid-1"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['absent']", ""),
        ("metadata.annotations['example.com/note']", 'a "b"\nc'),
        ("spec.nodeName", "process-node"),
        ("spec.serviceAccountName", "seller"),
        ("status.podIP", "127.9.9.9"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_downward_fields(path: str, value: str) -> None:
    source = {"fieldRef": {"fieldPath": path}}
    assert variables({"name": "X", "valueFrom": source})["X"] == value


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("requests.cpu", "0", "1"),
        ("requests.cpu", "1m", "250"),
        ("limits.memory", "1Mi", "512"),
        ("limits.memory", "1", "536870912"),
        ("limits.cpu", "1", "64"),
        ("requests.memory", "1", "0"),
    ],
)
def test_resources_are_counted_in_divisors_and_rounded_up(
    resource: str, divisor: str, value: str
) -> None:
    source = {"resourceFieldRef": {"resource": resource, "divisor": divisor}}
    resources = {"requests": {"cpu": "250m"}, "limits": {"memory": "512Mi"}}
    assert variables({"name": "X", "valueFrom": source}, resources=resources)["X"] == value


def key_of(name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"name": "X", "valueFrom": {"configMapKeyRef": {"name": name, "key": key, **more}}}


def test_config_map_keys_are_values_and_optional_ones_may_be_missing() -> None:
    assert variables(key_of("settings", "COLOR"))["X"] == "red"
    assert "X" not in variables(key_of("settings", "absent", optional=True))
    assert "X" not in variables(key_of("absent", "COLOR", optional=True))


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (key_of("settings", "absent"), 'key "absent" of configmap "settings" not found'),
        (key_of("absent", "COLOR"), 'configmap "absent" not found'),
        ({"name": "X", "valueFrom": {"secretKeyRef": {}}}, "secretKeyRef is not supported"),
    ],
)
def test_what_cannot_be_resolved_is_named(entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ContainerConfigError, match=complaint):
        variables(entry)


CONTAINER: dict[str, Any] = {
    "name": "main",
    "command": ["python", "-m", "shop"],
    "args": ["--config=/etc/shop/$(FILE)", "/etc/shopping"],
    "env": [{"name": "FILE", "value": "a.yaml"}, {"name": "DIR", "value": "/etc/shop"}],
    "volumeMounts": [
        {"name": "c", "mountPath": "/etc/shop"},
        {"name": "t", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
    ],
}


def test_mount_paths_are_rewritten_in_arguments_and_values() -> None:
    launch = plan_launch(CONTAINER, ROOT, facts())
    assert launch.argv == (
        "/venv/bin/python",
        "-m",
        "shop",
        f"--config={ROOT}/etc/shop/a.yaml",
        "/etc/shopping",
    )
    assert launch.env["DIR"] == f"{ROOT}/etc/shop"
    assert launch.cwd == ROOT


def test_what_a_value_brings_into_an_argument_is_rewritten_once() -> None:
    root = Path("/etc/shop/node")
    container = {**CONTAINER, "args": ["$(DIR)/x"]}
    launch = plan_launch(container, root, facts())
    assert launch.argv[-1] == "/etc/shop/node/etc/shop/x"
    assert launch.env["DIR"] == "/etc/shop/node/etc/shop"


def test_the_token_directory_is_named() -> None:
    launch = plan_launch(CONTAINER, ROOT, facts())
    expected = f"{ROOT}/var/run/secrets/kubernetes.io/serviceaccount"
    assert launch.env["KUBERNETES_SERVICE_ACCOUNT_DIR"] == expected
    bare = plan_launch({"name": "main", "command": ["x"]}, ROOT, facts())
    assert "KUBERNETES_SERVICE_ACCOUNT_DIR" not in bare.env


def test_the_interpreter_of_the_node_comes_first_on_the_path() -> None:
    launch = plan_launch({"name": "main", "command": ["sh", "-c", "python x"]}, ROOT, facts())
    assert launch.env["PATH"].split(":")[0] == "/venv/bin"
    assert launch.argv[0] == "sh"


def test_a_container_without_a_command_cannot_run() -> None:
    with pytest.raises(ContainerConfigError, match="needs a command"):
        plan_launch({"name": "main", "args": ["x"]}, ROOT, facts())


def test_a_probe_command_is_rewritten_but_not_expanded() -> None:
    launch = plan_launch(CONTAINER, ROOT, facts())
    probe = plan_command(["cat", "/etc/shop/x", "$(FILE)"], CONTAINER, ROOT, launch)
    assert probe.argv == ("cat", f"{ROOT}/etc/shop/x", "$(FILE)")
    assert probe.env == launch.env


def test_a_working_directory_is_under_the_root() -> None:
    for path, expected in (("/etc/shop", "etc/shop"), ("/app", "app"), ("/../../x", "x")):
        launch = plan_launch({**CONTAINER, "workingDir": path}, ROOT, facts())
        assert launch.cwd == ROOT / expected
