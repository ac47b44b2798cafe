"""The situations, by name: what somebody did or what broke, until the product can report it."""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from backend_controllers.generic.kinds import GANGS
from local_cluster.components import SCHEDULER
from shared_api import names
from tests.core.kit import Object
from tests.situations.theatre import KAI, Theatre

Act = Callable[[Theatre], AbstractAsyncContextManager[None]]
RACK = "example.com/rack"
_IS_FOREIGN = "'foreign' in object.metadata.?labels.orValue({})"


@asynccontextmanager
async def the_queue_does_not_exist(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(1)
    wrong = {**KAI, "kai.scheduler/queue": "no-such-queue"}
    await stage.create(stage.clique("a", 1), annotations=wrong)
    yield


@asynccontextmanager
async def an_object_of_the_name_exists(stage: Theatre) -> AsyncIterator[None]:
    # The name has the UID of the gang, so the object is created while the backend may not.
    await _only_foreign_workloads(stage)
    await stage.create(stage.clique("a", 1))
    await stage.until_reported("Rejected")
    uid = stage.person.one(GANGS, "w-0").metadata.uid
    foreign = _workload(stage, f"w-0-{uid}")
    foreign["metadata"]["labels"] = {"foreign": ""}
    await stage.apply(foreign)
    yield


def _workload(stage: Theatre, name: str) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": stage.namespace},
        "spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]},
    }


async def _only_foreign_workloads(stage: Theatre) -> None:
    """Have a policy reject the objects of the backend."""
    name = f"no-workloads-{stage.namespace}"
    rule = {"apiGroups": ["scheduling.k8s.io"], "apiVersions": ["*"], "resources": ["workloads"]}
    policy: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
            "validations": [
                {"expression": _IS_FOREIGN, "message": "workloads are not allowed here"}
            ],
        },
    }
    only = {"matchLabels": {"kubernetes.io/metadata.name": stage.namespace}}
    binding: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": only},
        },
    }
    await stage.apply(policy)
    await stage.apply(binding)
    await stage.until_refused(_workload(stage, "probe"))


@asynccontextmanager
async def a_policy_rejects_the_schedulers_object(stage: Theatre) -> AsyncIterator[None]:
    await _only_foreign_workloads(stage)
    await stage.create(stage.clique("a", 1))
    yield


async def _of_an_earlier_gang(stage: Theatre, pods: int) -> None:
    """Let ungated pods outlive their gang: nobody has capacity for them."""
    await stage.create(stage.clique("a", pods), annotations=KAI)
    await stage.until_ungated(pods)
    # Without it core recreates such pods. Pods of versions before 0.1 have none.
    scope, known = f"--namespace={stage.namespace}", names.ANNOTATION_PODGANG_UID
    await stage.kubectl("annotate", "pods", "--all", f"{known}-", scope)
    await stage.kubectl("delete", "podgang", "w-0", scope)


@asynccontextmanager
async def the_pods_are_of_an_earlier_gang(stage: Theatre) -> AsyncIterator[None]:
    await _of_an_earlier_gang(stage, 2)
    yield


@asynccontextmanager
async def a_long_message_keeps_its_end(stage: Theatre) -> AsyncIterator[None]:
    await _of_an_earlier_gang(stage, 80)
    yield


@asynccontextmanager
async def the_schedulers_api_is_missing(stage: Theatre) -> AsyncIterator[None]:
    chosen = {names.ANNOTATION_SCHEDULER_BACKEND: "volcano"}
    await stage.create(stage.clique("a", 1), annotations=chosen)
    yield


@asynccontextmanager
async def the_gang_does_not_fit(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(2)
    await stage.create(stage.clique("a", 3))
    yield


@asynccontextmanager
async def one_clique_alone_does_not_fit(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(3)
    await stage.create(stage.clique("a", 1), stage.clique("b", 1, cpu="500"), annotations=KAI)
    yield


@asynccontextmanager
async def no_topology_domain_is_large_enough(stage: Theatre) -> AsyncIterator[None]:
    for rack in ("r1", "r2"):
        await stage.add_nodes(1, **{RACK: rack})
    await stage.binding(rack=RACK)
    await stage.create(stage.clique("a", 2), annotations=KAI, **stage.packed("rack"))
    yield


@asynccontextmanager
async def no_node_has_the_label_of_a_level(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(2)
    await stage.binding(rack="example.com/nowhere")
    await stage.create(stage.clique("a", 2), annotations=KAI, **stage.packed("rack"))
    yield


@asynccontextmanager
async def the_scheduler_is_down(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(1)
    stage.cluster.signal(SCHEDULER, signal.SIGSTOP)
    try:
        await stage.create(stage.clique("a", 1))
        yield
    finally:
        stage.cluster.signal(SCHEDULER, signal.SIGCONT)


@asynccontextmanager
async def an_image_cannot_be_pulled(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(2)
    await stage.create(stage.clique("a", 2))
    await stage.person.until_ready(2, 60)
    waiting = {"reason": "ErrImagePull", "message": "not found"}
    await stage.patch_pods(_failing({"state": {"waiting": waiting}}))
    yield


@asynccontextmanager
async def a_container_crashes(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(2)
    await stage.create(stage.clique("a", 2))
    await stage.person.until_ready(2, 60)
    ended = {"exitCode": 137, "reason": "OOMKilled", "startedAt": None, "finishedAt": None}
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    last = {"terminated": ended}
    await stage.patch_pods(_failing({"state": state, "lastState": last, "restartCount": 7}))
    yield


def _failing(container: Object) -> Object:
    image = "registry.example.com/app:1"
    described = {"name": "main", "image": image, "imageID": "", "restartCount": 0, "ready": False}
    return {
        "containerStatuses": [{**described, **container}],
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady"},
        ],
    }


@asynccontextmanager
async def two_autoscalers_have_one_target(stage: Theatre) -> AsyncIterator[None]:
    await stage.add_nodes(1)
    metric = {"type": "Utilization", "averageUtilization": 60}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": metric}}]
    scaled = {"minReplicas": 1, "maxReplicas": 2, "metrics": metrics}
    await stage.create(stage.clique("a", 1, minAvailable=1, autoScalingConfig=scaled))
    await stage.person.until_ready(1, 60)
    target = {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "w-0-a"}
    await stage.apply(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "mine", "namespace": stage.namespace},
            "spec": {"scaleTargetRef": target, "maxReplicas": 5, "metrics": metrics},
        }
    )
    yield


@asynccontextmanager
async def the_backend_is_down(stage: Theatre) -> AsyncIterator[None]:
    record: Object = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "SchedulerBackend",
        "metadata": {"name": "stopped"},
        "spec": {
            "schedulerNames": ["stopped-scheduler"],
            "capabilities": ["Gang"],
            "preparation": {"mode": "Static", "members": {}},
            "schedulingGate": "grove.io/podgang",
            "lease": {"namespace": "grove-system", "name": "backend-stopped"},
        },
    }
    await stage.apply(record)
    # As the backend wrote it while it ran.
    status = '{"status": {"schedulers": "stopped-scheduler"}}'
    scope = ("--subresource=status", "--type=merge")
    await stage.kubectl("patch", "schedulerbackend", "stopped", *scope, "--patch", status)
    stage.also_show("get", "schedulerbackends", "stopped", "-o", "wide")
    chosen = {names.ANNOTATION_SCHEDULER_BACKEND: "stopped"}
    await stage.create(stage.clique("a", 1), annotations=chosen)
    yield


SITUATIONS: dict[str, tuple[Act, str]] = {
    "queue-does-not-exist": (the_queue_does_not_exist, "QueueDoesNotExist"),
    "conflict": (an_object_of_the_name_exists, "Conflict"),
    "rejected": (a_policy_rejects_the_schedulers_object, "Rejected"),
    "pods-of-earlier-gang": (the_pods_are_of_an_earlier_gang, "PodsOfEarlierGang"),
    "long-message": (a_long_message_keeps_its_end, "PodsOfEarlierGang"),
    "scheduler-api-missing": (the_schedulers_api_is_missing, "SchedulerApiMissing"),
    "does-not-fit": (the_gang_does_not_fit, "needs 60 cpu"),
    "clique-alone": (one_clique_alone_does_not_fit, "clique b alone does not fit"),
    "topology-domain": (no_topology_domain_is_large_enough, "the best domain"),
    "topology-label": (no_node_has_the_label_of_a_level, "no node has the label"),
    "scheduler-down": (the_scheduler_is_down, "SchedulerNotResponding"),
    "image-pull": (an_image_cannot_be_pulled, "ImagePullBackOff"),
    "crash-loop": (a_container_crashes, "CrashLoopBackOff"),
    "second-autoscaler": (two_autoscalers_have_one_target, "AutoscalerConflict"),
    "backend-down": (the_backend_is_down, "BackendUnavailable"),
}
"""Each with a text that is shown once the product has noticed."""
