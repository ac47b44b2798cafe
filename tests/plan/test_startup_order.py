"""Which pods wait for which, what they are held by, and when they may start."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given

from core_operator.plan.layout.expansion import GangInstance, expand, min_available
from core_operator.plan.manifests.podcliques import starts_after
from core_operator.plan.pods.gang_pods import GroupPods, gang_groups
from core_operator.plan.pods.startup_order import (
    StartupWait,
    clearance_patch,
    plan_clearance,
    with_startup_order,
)
from core_operator.plan.statuses.reasons import pods_blocker
from shared_api import names
from shared_api.kube.container_causes import awaited_cliques
from shared_api.kube.pods import ContainerState, ContainerStatus, ContainerWaiting, Pod, PodStatus
from shared_api.models import CliqueStartupType, JsonObject, PodClique, PodCliqueSet
from startup_wait import __main__ as startup_wait
from tests.plan.pod_samples import BOUND, READY, RELEASED, PodState, gang, going, pod, podclique
from tests.plan.samples import QUICK, pod_spec, workloads

WAITER = StartupWait("registry.example.com/podgang:3", ("await",), 65532)
HELD = (names.ANNOTATION_STARTUP_ORDER, "after w-0-a")
CLEARED = (names.ANNOTATION_STARTUP_ORDER, "cleared")


def held(state: PodState = BOUND) -> PodState:
    return replace(state, annotations=(HELD,))


def follower(
    *predecessors: str, name: str = "w-0-b", pod: dict[str, object] | None = None
) -> PodClique:
    made = podclique(2, name=name, pod=pod)
    spec = made.spec.model_copy(update={"starts_after": predecessors})
    return made.model_copy(update={"spec": spec})


def manifest(**spec: object) -> JsonObject:
    metadata: JsonObject = {"name": "w-0-b-x", "annotations": {"example.com/kept": "yes"}}
    return {"metadata": metadata, "spec": {**pod_spec(), "hostname": "w-0-b-0", **spec}}  # type: ignore[dict-item]


def ordered(pod: JsonObject, waiter: StartupWait = WAITER) -> tuple[JsonObject, JsonObject]:
    """Metadata and spec of the pod as it is created."""
    made = with_startup_order(follower("w-0-a", "w-0-c"), pod, waiter)
    metadata, spec = made["metadata"], made["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    return metadata, spec


def added(spec: JsonObject) -> JsonObject:
    containers = spec["initContainers"]
    assert isinstance(containers, list)
    last = containers[-1]
    assert isinstance(last, dict)
    return last


def test_a_pod_without_predecessors_is_left_as_it_is() -> None:
    made = manifest()
    assert with_startup_order(podclique(2), made, WAITER) is made


def test_a_pod_reports_what_it_waits_for_and_nobody_can_forge_it() -> None:
    forged = manifest()
    forged["metadata"] = {"annotations": dict([CLEARED])}
    for made in (manifest(), forged):
        annotations = ordered(made)[0]["annotations"]
        assert isinstance(annotations, dict)
        assert annotations[names.ANNOTATION_STARTUP_ORDER] == "after w-0-a, w-0-c"


def test_the_users_pod_is_otherwise_untouched() -> None:
    users = manifest(
        initContainers=[{"name": "fetch", "image": "i"}],
        volumes=[{"name": "cache", "emptyDir": {}}],
        securityContext={"runAsUser": 0},
    )
    before = copy.deepcopy(users)
    metadata, spec = ordered(users)
    assert users == before
    containers, volumes = spec["initContainers"], spec["volumes"]
    assert isinstance(containers, list)
    assert isinstance(volumes, list)
    assert containers[-1] == added(spec)
    annotations = dict(metadata["annotations"])  # type: ignore[arg-type]
    del annotations[names.ANNOTATION_STARTUP_ORDER]
    stripped = {
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "initContainers": containers[:-1], "volumes": volumes[:-1]},
    }
    assert stripped == before


def test_the_init_container_reads_the_annotation_from_a_file_and_needs_nothing_else() -> None:
    _, spec = ordered(manifest())
    container = added(spec)
    assert container["name"] == "grove-initc"
    assert container["image"] == WAITER.image
    assert container["command"] == ["await", "/var/run/grove/startup-order/state"]
    assert container["volumeMounts"] == [
        {
            "name": "grove-startup-order",
            "mountPath": "/var/run/grove/startup-order",
            "readOnly": True,
        }
    ]
    field = f"metadata.annotations['{names.ANNOTATION_STARTUP_ORDER}']"
    items = [{"path": "state", "fieldRef": {"fieldPath": field}}]
    assert spec["volumes"] == [{"name": "grove-startup-order", "downwardAPI": {"items": items}}]
    assert startup_wait.CLEARED == names.STARTUP_CLEARED


@pytest.mark.parametrize(("user", "said"), [(65532, {65532}), (0, {None})])
def test_the_init_container_meets_the_restricted_standard(user: int, said: set[int | None]) -> None:
    context = added(ordered(manifest(), replace(WAITER, user=user))[1])["securityContext"]
    assert isinstance(context, dict)
    assert {context.pop("runAsUser", None), context.pop("runAsGroup", None)} == said
    assert context == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_a_guaranteed_pod_stays_so_and_one_that_asks_for_nothing_too() -> None:
    amounts = {"cpu": "4", "memory": "1Gi"}
    asks = {"name": "main", "resources": {"requests": amounts, "limits": amounts}}
    resources = added(ordered(manifest(containers=[asks]))[1])["resources"]
    assert isinstance(resources, dict)
    assert resources["requests"] == resources["limits"] == {"cpu": "100m", "memory": "32Mi"}
    empty = {"name": "main", "resources": {"requests": {}}}
    for nothing in (manifest(), manifest(containers=[empty])):
        assert "resources" not in added(ordered(nothing)[1])


def groups_of(
    *pods: Pod, minimums: Mapping[str, int], cliques: Mapping[str, PodClique]
) -> tuple[GroupPods, ...]:
    named = gang(*((name, minimum, ()) for name, minimum in minimums.items()))
    return gang_groups(named, pods, cliques)


def cleared(*pods: Pod, minimum: int = 2, after: Sequence[str] = ("w-0-a",)) -> list[str]:
    """Names of the pods of `w-0-b` that may start after `w-0-a`."""
    cliques = {"w-0-a": podclique(3, minimum), "w-0-b": follower(*after)}
    groups = groups_of(*pods, minimums={"w-0-a": minimum, "w-0-b": 2}, cliques=cliques)
    return [pod.metadata.name for pod in plan_clearance(cliques, groups)]


FOLLOWERS = (pod(0, held(), clique="w-0-b"), pod(1, held(), clique="w-0-b"))


def test_pods_start_once_the_minimum_of_their_predecessor_is_ready() -> None:
    assert cleared(pod(0, READY), pod(1, BOUND), pod(2, BOUND), *FOLLOWERS) == []
    assert cleared(pod(0, READY), pod(1, BOUND), pod(2, READY), *FOLLOWERS) == [
        "w-0-b-0",
        "w-0-b-1",
    ]


@pytest.mark.parametrize("other", [going(READY), replace(READY, phase="Failed")])
def test_a_pod_that_ends_counts_no_more(other: PodState) -> None:
    assert cleared(pod(0, READY), pod(1, other), *FOLLOWERS) == []


def test_a_pod_of_a_foreign_owner_counts_for_nobody() -> None:
    assert cleared(pod(0, READY), pod(1, READY, owner="another"), *FOLLOWERS) == []


def test_only_gated_pods_that_have_a_node_are_written_to() -> None:
    ready = (pod(0, READY), pod(1, READY))
    others = {
        "unplaced": held(RELEASED),
        "cleared": replace(BOUND, annotations=(CLEARED,)),
        "made without an order": BOUND,
        "going": going(held()),
    }
    pods = [pod(i, s, clique="w-0-b", name=n) for i, (n, s) in enumerate(others.items())]
    assert cleared(*ready, *pods) == []
    assert cleared(*ready, *pods, pod(9, held(), clique="w-0-b", name="held")) == ["held"]


def test_all_predecessors_are_needed() -> None:
    ready = (pod(0, READY), pod(1, READY))
    assert cleared(*ready, *FOLLOWERS, after=("w-0-a", "w-0-b")) == []


def test_predecessors_that_are_scaled_to_zero_are_not_waited_for() -> None:
    ready = (pod(0, READY), pod(1, READY))
    assert cleared(*ready, *FOLLOWERS, after=("w-0-a", "w-0-x"))


def test_the_patch_touches_one_annotation_of_one_pod() -> None:
    made = pod(0, held(), clique="w-0-b")
    assert clearance_patch(made) == {
        "metadata": {"uid": made.metadata.uid, "annotations": dict([CLEARED])}
    }


def test_what_pods_wait_for_is_reported_with_numbers() -> None:
    initializing = replace(held(), waiting="PodInitializing")
    pods = (pod(0, READY), *(pod(i, initializing, clique="w-0-b") for i in range(2)))
    told = pods_blocker(None, pods, 3)
    assert told is not None
    assert told.message == "1/3 pods ready; 2 waiting for w-0-a to be ready"


def test_an_init_container_that_cannot_run_is_reported_first() -> None:
    made = pod(0, held(), clique="w-0-b")
    pull = ContainerStatus(
        "grove-initc", state=ContainerState(ContainerWaiting("ErrImagePull")), image="podgang:9"
    )
    broken = Pod(
        made.metadata,
        made.spec,
        PodStatus("Pending", "", made.status.conditions, (pull,)),
    )
    told = pods_blocker(None, (broken,), 1)
    assert told is not None
    assert told.message == (
        "0/1 pods ready; 1 in ImagePullBackOff: image podgang:9, container grove-initc, pod w-0-b-0"
    )


@QUICK
@given(workloads())
def test_every_gang_starts_to_its_end_and_never_ahead_of_a_predecessor(pcs: PodCliqueSet) -> None:
    expansion = expand(pcs, {})
    any_order = pcs.spec.template.clique_startup_type is CliqueStartupType.ANY_ORDER
    for instance in expansion.gangs:
        started = _started(pcs, instance)
        assert sorted(started) == sorted(clique.name for clique in instance.cliques)
        if not any_order and instance.base is None:
            order = [c.name for c in pcs.spec.template.cliques]
            ranks = {c.name: order.index(c.template.name) for c in instance.cliques}
            assert [ranks[name] for name in started] == sorted(ranks.values())


def _started(pcs: PodCliqueSet, instance: GangInstance) -> list[str]:
    """The PodCliques of a gang in the order in which they become ready."""
    cliques = {
        clique.name: _live(clique.name, min_available(clique.template), starts_after(pcs, clique))
        for clique in instance.cliques
    }
    minimums = {name: clique.spec.minimum for name, clique in cliques.items()}
    ready: list[str] = []
    while True:
        pods = [
            pod(index, READY if name in ready else _waiting(clique), clique=name)
            for name, clique in cliques.items()
            for index in range(minimums[name])
        ]
        groups = groups_of(*pods, minimums=minimums, cliques=cliques)
        may_start = {
            p.metadata.labels[names.LABEL_PODCLIQUE] for p in plan_clearance(cliques, groups)
        }
        free = {name for name, clique in cliques.items() if not clique.spec.starts_after}
        now = [name for name in cliques if name in may_start | free and name not in ready]
        if not now:
            return ready
        for name in now:
            assert set(cliques[name].spec.starts_after) <= set(ready)
        ready.extend(now)


def _live(name: str, minimum: int, predecessors: Sequence[str]) -> PodClique:
    made = podclique(minimum, minimum, name=name)
    spec = made.spec.model_copy(update={"starts_after": tuple(predecessors)})
    return made.model_copy(update={"spec": spec})


def _waiting(clique: PodClique) -> PodState:
    return held() if clique.spec.starts_after else BOUND


def test_a_pod_that_is_gated_can_be_distinguished_from_one_that_is_not() -> None:
    assert awaited_cliques(pod(0, held())) == "w-0-a"
    assert awaited_cliques(pod(0, replace(BOUND, annotations=(CLEARED,)))) == ""
    assert awaited_cliques(pod(0, BOUND)) == ""
