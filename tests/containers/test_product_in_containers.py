"""Core and every backend run from their image, under their accounts, with a read-only root."""

import json
import re
import sys
from datetime import datetime

import pytest

from local_cluster.cluster import Cluster
from tests.containers.kit import Object, pods
from tests.deploy.kit import NAMESPACE

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(900)]

_BACKENDS = ("default", "kai", "koordinator", "volcano", "yunikorn")
_WITHOUT_SCHEDULER = {
    "koordinator": r"scheduling\.sigs\.k8s\.io",
    "volcano": r"scheduling\.volcano\.sh",
    "yunikorn": "Service yunikorn-service",
}
_QUIET = 60
"""Lines that two replicas print until they wait."""
_PROBE = """
import json, os
try:
    open("/written", "w")
    root = "writable"
except OSError as error:
    root = error.strerror
token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
capabilities = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")]
print(json.dumps({"root": root, "uid": os.getuid(), "token": os.path.exists(token),
  "capabilities": int(capabilities[0], 16), "shell": os.path.exists("/bin/sh")}))
"""


@pytest.fixture(scope="module")
def running(product: Cluster) -> dict[str, list[Object]]:
    """The pods of each Deployment."""
    found: dict[str, list[Object]] = {}
    for pod in pods(product, NAMESPACE):
        found.setdefault(pod["metadata"]["labels"]["app.kubernetes.io/name"], []).append(pod)
    return found


def test_core_and_all_backends_are_ready_with_two_replicas_each(
    running: dict[str, list[Object]],
) -> None:
    assert running.keys() == {"core-operator", *(f"backend-{name}" for name in _BACKENDS)}
    for name, members in running.items():
        assert len(members) == 2, name
        for pod in members:
            (status,) = pod["status"]["containerStatuses"]
            assert status["ready"], pod["metadata"]["name"]
            assert status["restartCount"] == 0, pod["metadata"]["name"]
            assert pod["spec"]["serviceAccountName"] == name


def test_the_time_until_a_pod_is_ready_is_printed(
    running: dict[str, list[Object]], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, members in sorted(running.items()):
        times = []
        for pod in members:
            (status,) = pod["status"]["containerStatuses"]
            (ready,) = (c for c in pod["status"]["conditions"] if c["type"] == "Ready")
            moments = (status["state"]["running"]["startedAt"], ready["lastTransitionTime"])
            began, ended = map(datetime.fromisoformat, moments)
            times.append((ended - began).total_seconds())
        assert min(times) >= 0
        with capsys.disabled():
            sys.stdout.write(f"\n{name}: ready {max(times):.0f} s after its container started\n")


def test_a_container_has_no_shell_no_capability_and_a_root_that_nobody_can_write(
    product: Cluster, running: dict[str, list[Object]]
) -> None:
    for name, members in running.items():
        pod = members[0]["metadata"]["name"]
        done = product.kubectl("exec", f"-n{NAMESPACE}", pod, "--", "python", "-c", _PROBE)
        assert json.loads(done.stdout) == {
            "root": "Read-only file system",
            "uid": 65532,
            "token": True,
            "capabilities": 0,
            "shell": False,
        }, name


def test_the_namespace_refuses_pods_that_are_not_restricted(product: Cluster) -> None:
    lax = ("run", "lax", "--image=registry.example.com/app:1", f"-n{NAMESPACE}", "--dry-run=server")
    done = product.kubectl(*lax, check=False)
    assert 'violates PodSecurity "restricted:latest"' in done.stderr


def test_logs_are_json_lines_that_name_the_leader(product: Cluster) -> None:
    text = product.kubectl(
        "logs", f"-n{NAMESPACE}", "-lapp.kubernetes.io/name=core-operator", "--tail=-1"
    ).stdout
    lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    assert any("leader" in json.dumps(line) for line in lines), text[-2000:]


def test_a_backend_without_its_scheduler_is_ready_as_a_pod_and_not_as_a_backend(
    product: Cluster,
) -> None:
    text = product.kubectl("get", "schedulerbackends", "-ojson").stdout
    ready = {
        item["metadata"]["name"]: next(
            one for one in item["status"]["conditions"] if one["type"] == "Ready"
        )
        for item in json.loads(text)["items"]
    }
    assert ready.keys() == {*_BACKENDS}
    for name, condition in ready.items():
        assert condition["status"] == ("False" if name in _WITHOUT_SCHEDULER else "True"), name
    for name, missing in _WITHOUT_SCHEDULER.items():
        assert ready[name]["reason"] == "SchedulerApiMissing"
        assert re.fullmatch(rf"missing: .*{missing}.*; install .*", ready[name]["message"])


def test_a_backend_without_its_scheduler_is_quiet(product: Cluster) -> None:
    for name in _WITHOUT_SCHEDULER:
        selector = f"-lapp.kubernetes.io/name=backend-{name}"
        text = product.kubectl("logs", f"-n{NAMESPACE}", selector, "--tail=-1").stdout
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        assert not [line for line in lines if line["level"] != "info"], text[-2000:]
        assert len(lines) < _QUIET, text[-2000:]
