"""What cannot be honoured outside of the cluster is refused with its path."""

from typing import Any

import pytest

from backend_controllers.contract.remote.unsupported import unsupported

SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


def template(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}


@pytest.mark.parametrize(
    ("found", "path"),
    [
        (template(volumes=[{"name": "v", "hostPath": {}}]), "podSpec.volumes[0].hostPath"),
        (template(serviceAccountName="admin"), "podSpec.serviceAccountName"),
        (template(initContainers=[{"name": "i"}]), "podSpec.initContainers"),
        (template(hostPID=True), "podSpec.hostPID"),
        (
            template({"env": [{"name": "E", **SECRET}]}),
            "podSpec.containers[0].env[0].valueFrom.secretKeyRef",
        ),
        (template({"envFrom": [{}]}), "podSpec.containers[0].envFrom"),
        (template({"readinessProbe": {"httpGet": {}}}), "podSpec.containers[0].readinessProbe"),
        (
            template({"securityContext": {"privileged": True}}),
            "podSpec.containers[0].securityContext.privileged",
        ),
        (
            template({"securityContext": {"runAsUser": 1000}}),
            "podSpec.containers[0].securityContext.runAsUser",
        ),
        (
            template({"securityContext": {"capabilities": {"drop": ["ALL"]}}}),
            "podSpec.containers[0].securityContext.capabilities",
        ),
        (template(securityContext={"fsGroup": 5}), "podSpec.securityContext.fsGroup"),
        (template(securityContext={"sysctls": [{}]}), "podSpec.securityContext.sysctls"),
        (template(activeDeadlineSeconds=5), "podSpec.activeDeadlineSeconds"),
        (template({"ports": [{"hostPort": 80}]}), "podSpec.containers[0].ports[0].hostPort"),
        ({"containers": [{}, {}]}, "podSpec.containers[1]"),
    ],
)
def test_a_field_that_needs_the_cluster_is_refused(found: dict[str, Any], path: str) -> None:
    assert [text.split(": ")[0] for text in unsupported(found)] == [path]


def test_a_plain_container_is_accepted() -> None:
    label = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}}
    container = {
        "env": [{"name": "A", "value": "1"}, {"name": "B", **label}],
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    assert list(unsupported(template(container, serviceAccountName="default"))) == []


def test_a_restriction_is_accepted_where_it_is_enforced() -> None:
    enforced = ("runAsUser", "runAsNonRoot", "capabilities")
    drop = {"securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}}
    assert list(unsupported(template(drop, securityContext={"runAsUser": 7}), enforced)) == []
    (refused,) = unsupported(template(drop), enforced)
    assert "runAsNonRoot: set runAsUser too" in refused
    add = {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}
    (refused,) = unsupported(template(add), enforced)
    assert "without additional rights" in refused


@pytest.mark.parametrize("odd", [{}, {"containers": "x"}, {"containers": [None], "volumes": 3}])
def test_a_malformed_template_raises_nothing(odd: dict[str, Any]) -> None:
    list(unsupported(odd))
