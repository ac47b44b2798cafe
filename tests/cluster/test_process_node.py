"""Deployments on the process node are real: processes, rights, probes, restarts, updates."""

import asyncio
import json
import signal
import time

import pytest

from local_cluster.api import wait_for_api
from local_cluster.cluster import Cluster
from local_cluster.process_node.logs import log_file, previous_log_file
from tests.cluster.pods.tellers import (
    PORT,
    Object,
    Pulse,
    Shop,
    ask,
    deployment,
    restarted_once,
    single_pod,
    state_of,
    teller,
    waiting,
)

pytestmark = pytest.mark.cluster


@pytest.fixture
def shop(cluster: Cluster, namespace: str) -> Shop:
    return Shop(cluster, namespace)


def names_of(pod: Object, container: str = "teller") -> tuple[str, str, str, str]:
    metadata = pod["metadata"]
    return metadata["namespace"], metadata["name"], metadata["uid"], container


def log_of(cluster: Cluster, pod: Object, container: str = "teller") -> str:
    return log_file(cluster.process_root, *names_of(pod, container)).read_text()


def test_a_deployment_may_do_what_its_role_grants_and_no_more(shop: Shop) -> None:
    shop.kubectl("create", "serviceaccount", "seller")
    shop.kubectl("create", "role", "seller", "--verb=list", "--resource=configmaps")
    account = f"--serviceaccount={shop.namespace}:seller"
    shop.kubectl("create", "rolebinding", "seller", "--role=seller", account)
    shop.apply(deployment("rights", shop.namespace, teller(), serviceAccountName="seller"))
    (pod,) = shop.ready("rights")
    here = f"/api/v1/namespaces/{shop.namespace}"
    assert ask(pod, "/api", path=f"{here}/configmaps") == "200"
    assert ask(pod, "/api", path=f"{here}/pods") == "403"
    assert ask(pod, "/api", path="/api/v1/namespaces/default/configmaps") == "403"


def test_scaling_starts_and_stops_processes(shop: Shop) -> None:
    shop.apply(deployment("scaled", shop.namespace, teller()))
    shop.ready("scaled")
    shop.kubectl("scale", "deployment/scaled", "--replicas=2")
    both = shop.ready("scaled", 2)
    assert len({pod["status"]["podIP"] for pod in both}) == 2
    assert len({ask(pod, "/pid") for pod in both}) == 2
    with Pulse(both[0]) as one, Pulse(both[1]) as other:
        shop.kubectl("scale", "deployment/scaled", "--replicas=0")
        one.wait_for_end()
        other.wait_for_end()
    shop.pods("scaled", lambda pods: not pods)


def test_a_crashing_container_is_restarted_and_backs_off(cluster: Cluster, shop: Shop) -> None:
    crash = teller(command=["sh", "-c", "echo run; exit 3"], args=[])
    shop.apply(deployment("crash", shop.namespace, crash))

    def backs_off(pods: list[Object]) -> bool:
        status = state_of(pods[0]) if pods else {}
        waiting = status.get("state", {}).get("waiting", {})
        return bool(waiting.get("reason") == "CrashLoopBackOff" and status["restartCount"] >= 2)

    (pod,) = shop.pods("crash", backs_off)
    ended = state_of(pod)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    assert pod["status"]["phase"] == "Running"
    assert log_of(cluster, pod) == "run\n"
    log = log_file(cluster.process_root, *names_of(pod))
    assert previous_log_file(log).read_text() == "run\n"
    assert shop.event("BackOff", "which ended with 3")


def test_readiness_is_the_probes_word(shop: Shop) -> None:
    shop.apply(deployment("shy", shop.namespace, teller("--unready")))
    (pod,) = shop.pods("shy", lambda pods: pods and state_of(pods[0]).get("started"))
    assert not state_of(pod)["ready"]
    shop.event("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 500")
    ask(pod, "/ready/yes", verb="POST")
    (pod,) = shop.ready("shy")
    ask(pod, "/ready/no", verb="POST")
    shop.pods("shy", lambda pods: not state_of(pods[0])["ready"])
    deployed = json.loads(shop.kubectl("get", "deployment", "shy", "-o", "json"))
    assert deployed["status"].get("availableReplicas", 0) == 0


def test_a_failed_liveness_probe_restarts_the_container(shop: Shop) -> None:
    probe = {
        "httpGet": {"path": "/healthy", "port": PORT},
        "periodSeconds": 1,
        "failureThreshold": 2,
        # On a busy machine answers are slow, and a process is slower than its first probes.
        "timeoutSeconds": 20,
    }
    patient = {**probe, "failureThreshold": 60}
    sick = teller(livenessProbe=probe, startupProbe=patient)
    shop.apply(deployment("sick", shop.namespace, sick))
    (pod,) = shop.ready("sick")
    before = ask(pod, "/pid")
    with Pulse(pod) as pulse:
        ask(pod, "/healthy/no", verb="POST")
        pulse.wait_for_end()
    (again,) = shop.pods("sick", restarted_once)
    assert again["metadata"]["uid"] == pod["metadata"]["uid"]
    assert ask(again, "/pid") != before
    assert shop.event("Unhealthy", "Liveness probe failed: HTTP probe failed")
    assert shop.event("Killing", "failed its livenessProbe")


def test_sigterm_comes_first_and_sigkill_after_the_grace_period(
    cluster: Cluster, shop: Shop
) -> None:
    stubborn = teller("--ignore-sigterm")
    spec = {"containers": [stubborn], "terminationGracePeriodSeconds": 2}
    shop.apply(single_pod("stubborn", shop.namespace, **spec))
    (pod,) = shop.ready("stubborn")
    with Pulse(pod) as pulse:
        began = time.monotonic()
        shop.kubectl("delete", "pod", "stubborn", "--wait=false")
        (leaving,) = shop.pods("stubborn", lambda pods: pods and not_ready(pods[0]))
        assert state_of(leaving)["state"].get("running")
        pulse.wait_for_end()
        assert time.monotonic() - began >= 2
    shop.pods("stubborn", lambda pods: not pods)
    assert "got SIGTERM" in log_of(cluster, pod)


def not_ready(pod: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "False" for c in pod["status"]["conditions"])


def test_a_polite_process_is_not_waited_for(shop: Shop) -> None:
    spec = {"containers": [teller()], "terminationGracePeriodSeconds": 600}
    shop.apply(single_pod("polite", shop.namespace, **spec))
    shop.ready("polite")
    shop.kubectl("delete", "pod", "polite", "--wait=false")
    shop.pods("polite", lambda pods: not pods)


def test_config_maps_are_variables_and_files_that_follow_them(shop: Shop) -> None:
    shop.kubectl("create", "configmap", "settings", "--from-literal=color=red")
    color = {"configMapKeyRef": {"name": "settings", "key": "color"}}
    container = teller(
        env=[{"name": "COLOR", "valueFrom": color}, {"name": "FILE", "value": "/etc/shop/color"}],
        envFrom=[{"configMapRef": {"name": "settings"}, "prefix": "ALL_"}],
        volumeMounts=[{"name": "settings", "mountPath": "/etc/shop"}],
    )
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}]
    shop.apply(deployment("painter", shop.namespace, container, volumes=volumes))
    (pod,) = shop.ready("painter")
    assert (ask(pod, "/env/COLOR"), ask(pod, "/env/ALL_color")) == ("red", "red")
    file = ask(pod, "/env/FILE")
    assert ask(pod, "/file", path=file) == "red"
    shop.kubectl("patch", "configmap", "settings", "-p", '{"data": {"color": "blue"}}')
    assert ask(pod, "/await", path=file, text="blue") == "so it is"


def test_a_pod_waits_for_its_config_map(shop: Shop) -> None:
    volumes = [{"name": "late", "configMap": {"name": "late"}}]
    spec = {"containers": [teller()], "volumes": volumes}
    shop.apply(single_pod("waiter", shop.namespace, **spec))
    assert shop.event("FailedMount", 'configmap "late" not found')
    shop.kubectl("create", "configmap", "late")
    shop.ready("waiter")


def test_secrets_are_refused_by_name(shop: Shop) -> None:
    volumes = [{"name": "keys", "secret": {"secretName": "keys"}}]
    spec = {"containers": [teller()], "volumes": volumes}
    shop.apply(single_pod("greedy", shop.namespace, **spec))
    # The container shows as ContainerCreating for a moment before its volumes are looked at.
    (pod,) = shop.pods(
        "greedy",
        lambda pods: pods and waiting(pods[0]).get("reason") == "CreateContainerConfigError",
    )
    assert waiting(pod)["message"] == 'volume "keys": secret is not supported'
    assert shop.event("FailedMount", 'volume "keys"')
    shop.kubectl("delete", "pod", "greedy", "--wait=false")
    shop.pods("greedy", lambda pods: not pods)


def test_init_containers_and_sidecars_surround_the_work(cluster: Cluster, shop: Shop) -> None:
    mount = [{"name": "board", "mountPath": "/board"}]
    shell = {"image": "none", "volumeMounts": mount}
    init = {**shell, "name": "init", "command": ["sh", "-c", "echo first >/board/note"]}
    sidecar = {**teller(), "name": "sidecar", "restartPolicy": "Always"}
    main = {**shell, "name": "main", "command": ["sh", "-c", "cat /board/note"]}
    shop.apply(
        single_pod(
            "work",
            shop.namespace,
            restartPolicy="Never",
            initContainers=[init, sidecar],
            containers=[main],
            volumes=[{"name": "board", "emptyDir": {}}],
        )
    )
    (pod,) = shop.pods("work", lambda pods: pods and pods[0]["status"]["phase"] == "Succeeded")
    assert log_of(cluster, pod, "main") == "first\n"
    ended = {c["name"]: c["state"] for c in pod["status"]["initContainerStatuses"]}
    assert ended["init"]["terminated"]["exitCode"] == 0
    assert "terminated" in ended["sidecar"]


def test_a_rolling_update_replaces_processes(shop: Shop) -> None:
    def version(text: str) -> Object:
        return teller(env=[{"name": "VERSION", "value": text}])

    shop.apply(deployment("rolling", shop.namespace, version("1")))
    (old,) = shop.ready("rolling")
    with Pulse(old) as pulse:
        shop.apply(deployment("rolling", shop.namespace, version("2")))
        pulse.wait_for_end()
    (new,) = shop.ready("rolling")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert ask(new, "/env/VERSION") == "2"


def test_no_process_survives_a_killed_node_and_each_comes_back_once(
    cluster: Cluster, shop: Shop
) -> None:
    shop.apply(deployment("survivor", shop.namespace, teller()))
    (before,) = shop.ready("survivor")
    pid = ask(before, "/pid")
    with Pulse(before) as pulse:
        cluster.signal("process-node", signal.SIGKILL)
        pulse.wait_for_end()
    (after,) = shop.pods("survivor", restarted_once)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["podIP"] == before["status"]["podIP"]
    assert state_of(after)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert ask(after, "/pid") != pid
    assert log_of(cluster, after) == "listening\n"


def test_processes_do_not_notice_a_new_api_server(cluster: Cluster, shop: Shop) -> None:
    shop.apply(deployment("calm", shop.namespace, teller()))
    (pod,) = shop.ready("calm")
    pid = ask(pod, "/pid")
    cluster.signal("kube-apiserver", signal.SIGKILL)
    asyncio.run(wait_for_api(cluster.kubeconfig, 30))
    assert ask(pod, "/pid") == pid
    with Pulse(pod) as pulse:
        shop.kubectl("scale", "deployment/calm", "--replicas=0")
        pulse.wait_for_end()
    shop.pods("calm", lambda pods: not pods)


def test_a_stopped_node_stops_its_processes_politely_and_marks_nothing(
    cluster: Cluster, shop: Shop
) -> None:
    shop.apply(deployment("guest", shop.namespace, teller()))
    (before,) = shop.ready("guest")
    with Pulse(before) as pulse:
        cluster.control.stop("process-node")
        pulse.wait_for_end()
    (meanwhile,) = shop.pods("guest", bool)
    cluster.control.resume("process-node")
    assert meanwhile["status"] == before["status"]
    (after,) = shop.pods("guest", restarted_once)
    log = log_file(cluster.process_root, *names_of(after))
    assert previous_log_file(log).read_text() == "listening\ngot SIGTERM\n"
