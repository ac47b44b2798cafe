"""Which pods are recreated because they were made with something else than is wanted now."""

from dataclasses import replace

import msgspec
import pytest

from core_operator.plan.pods.gang_pods import gang_groups, has_ungated_pod
from core_operator.plan.pods.pod_plan import plan_pods
from core_operator.plan.pods.preparation import (
    GangRef,
    Preparation,
    digest,
    preparation_of,
    required_fields,
)
from shared_api import names
from shared_api.kube.pods import Pod, PodSchedulingGroup, PodSpec, PodWorkloadReference
from shared_api.models import PodGang, PodPatch, SchedulerBackendSpec
from tests.plan.pod_samples import (
    BACKEND,
    BOUND,
    CLIQUE,
    GANG_UID,
    GATE,
    GATED,
    RELEASED,
    PodState,
    gang,
    pod,
    podclique,
)
from tests.plan.samples import NAMESPACE, record

STATIC = record(
    "",
    preparation={
        "mode": "Static",
        "members": {"annotations": {"example.com/of": "{gangUID} {index}"}},
        "surplus": {},
    },
)
PER_GANG = record("", preparation={"mode": "PerGang"})
GANG = gang((CLIQUE, 1, ()))


def made(index: int, state: PodState = GATED, wanted: Preparation | None = None) -> Pod:
    """A pod that carries what it was made with."""
    wanted = wanted or preparation_of(GANG, STATIC, CLIQUE, 1)
    digest = wanted.members if index < wanted.minimum else wanted.surplus
    carried = ((names.ANNOTATION_PREPARATION, digest or ""),)
    return pod(index, replace(state, annotations=carried))


def made_anew(of: PodGang) -> PodGang:
    again = of.model_copy(deep=True)
    return again.model_copy(update={"metadata": again.metadata.model_copy(update={"uid": "new"})})


def remade(
    pods: tuple[Pod, ...], of: PodGang = GANG, backend: SchedulerBackendSpec = STATIC
) -> list[str]:
    wanted = preparation_of(of, backend, CLIQUE, 1)
    plan = plan_pods(podclique(len(pods), 1), pods, 1, wanted)
    assert [new.index for new in plan.create] == [
        int(gone.metadata.labels[names.LABEL_POD_INDEX]) for gone in plan.delete
    ]
    return [gone.metadata.name for gone in plan.delete]


def counted(
    pods: tuple[Pod, ...], of: PodGang = GANG, backend: SchedulerBackendSpec | None = STATIC
) -> list[str]:
    (group,) = gang_groups(of, pods, {CLIQUE: podclique(len(pods), 1)}, backend)
    return [found.metadata.name for found in group.live]


def test_pods_that_were_made_as_they_should_be_stay() -> None:
    pods = (made(0), made(1))
    assert remade(pods) == []
    assert counted(pods) == [f"{CLIQUE}-0", f"{CLIQUE}-1"]


def test_a_gang_with_another_uid_needs_other_pods_where_the_uid_is_in_them() -> None:
    pods = (made(0), made(1))
    # The surplus pod has nothing of the gang in it, and is as good as before.
    assert remade(pods, made_anew(GANG)) == [f"{CLIQUE}-0"]
    assert counted(pods, made_anew(GANG)) == [f"{CLIQUE}-1"]


def test_a_gang_that_is_recreated_needs_other_pods_where_the_count_is_in_them() -> None:
    members = {"labels": {"example.com/app": "{gang}-{incarnation}"}}
    counting = record("", preparation={"mode": "Static", "members": members, "surplus": {}})
    wanted = preparation_of(GANG, counting, CLIQUE, 1)
    pods = (made(0, GATED, wanted), made(1, GATED, wanted))
    again = GANG.model_validate({**GANG.manifest(), "status": {"incarnation": 1}})
    assert remade(pods, GANG, counting) == []
    assert remade(pods, again, counting) == [f"{CLIQUE}-0"]
    assert remade((made(0), made(1)), again) == [], "elsewhere the count means nothing"


@pytest.mark.parametrize("state", [RELEASED, BOUND])
def test_a_pod_that_was_ungated_and_does_not_show_for_which_gang_it_was_made_stays(
    state: PodState,
) -> None:
    pods = (made(0, state), made(1, state))
    other = record("", preparation={"mode": "Static", "members": {"labels": {"a": "b"}}})
    assert remade(pods, made_anew(GANG)) == []
    assert remade(pods, GANG, other) == []
    assert len(counted(pods, GANG, other)) == 2


def of_gang(found: Pod, uid: str = GANG_UID) -> Pod:
    """The pod with the UID of the gang for which it was made."""
    annotations = {**found.metadata.annotations, names.ANNOTATION_PODGANG_UID: uid}
    metadata = msgspec.structs.replace(found.metadata, annotations=annotations)
    return msgspec.structs.replace(found, metadata=metadata)


def test_a_released_pod_of_an_earlier_gang_is_recreated_unless_it_has_a_node() -> None:
    again = made_anew(GANG)
    waits, runs = (of_gang(made(0, state)) for state in (RELEASED, BOUND))
    assert remade((waits,), again) == [f"{CLIQUE}-0"]
    assert counted((waits,), again) == []
    assert not has_ungated_pod(gang_groups(again, (waits,), {CLIQUE: podclique(1)}, STATIC))
    assert remade((runs,), again) == []
    assert counted((runs,), again) == [f"{CLIQUE}-0"]


def test_a_released_pod_of_this_gang_stays_whatever_its_backend_wants_now() -> None:
    other = record("", preparation={"mode": "Static", "members": {"labels": {"a": "b"}}})
    pods = (of_gang(made(0, RELEASED)),)
    assert remade(pods, GANG, other) == []
    assert counted(pods, GANG, other) == [f"{CLIQUE}-0"]


def test_a_released_pod_stays_where_nothing_on_it_is_of_its_gang() -> None:
    plain = record("", preparation={"mode": "Static", "members": {"labels": {"a": "b"}}})
    wanted = preparation_of(GANG, plain, CLIQUE, 1)
    pods = (of_gang(made(0, RELEASED, wanted)),)
    assert remade(pods, made_anew(GANG), plain) == []


def test_a_released_pod_stays_until_it_is_published_what_its_new_gang_wants() -> None:
    patches = {"name": CLIQUE, "members": {"annotations": {"example.com/a": "{gangUID}"}}}
    published = GANG.model_validate({**GANG.manifest(), "status": {"podPreparations": [patches]}})
    wanted = preparation_of(published, PER_GANG, CLIQUE, 1)
    pods = (of_gang(made(0, RELEASED, wanted)),)
    assert remade(pods, made_anew(GANG), PER_GANG) == []
    assert counted(pods, made_anew(GANG), PER_GANG) == []
    assert remade(pods, made_anew(published), PER_GANG) == [f"{CLIQUE}-0"]


def test_a_backend_that_wants_other_things_gets_other_pods() -> None:
    spec = {"schedulingGroup": {"podGroupName": "{gang}"}}
    other = record("", preparation={"mode": "Static", "members": {"spec": spec}, "surplus": {}})
    assert remade((made(0), made(1)), GANG, other) == [f"{CLIQUE}-0"]


def test_a_backend_with_another_gate_gets_other_pods() -> None:
    other = record("", schedulingGate="example.com/other")
    assert remade((made(0), made(1)), GANG, other) == [f"{CLIQUE}-0", f"{CLIQUE}-1"]


def test_a_gate_of_another_does_not_hold_a_pod_that_ours_ungated() -> None:
    theirs = replace(GATED, gates=("example.com/theirs",))
    assert not made(0, theirs).has_our_gate
    assert remade((made(0, theirs),), made_anew(GANG)) == []
    groups = gang_groups(GANG, (made(0, theirs),), {CLIQUE: podclique(1)}, STATIC)
    assert has_ungated_pod(groups), "it was released, and does not move"


@pytest.mark.parametrize("bent", ["", "nonsense"])
def test_a_pod_that_does_not_show_what_it_was_made_with_is_gated_by_any_gate(bent: str) -> None:
    assert pod(0, replace(GATED, annotations=((names.ANNOTATION_PREPARATION, bent),))).has_our_gate
    assert remade((pod(0),)) == []


def test_pods_wait_for_what_a_new_gang_is_told_and_do_not_count_meanwhile() -> None:
    patches = {"name": CLIQUE, "members": {"annotations": {"example.com/a": "{gangUID}"}}}
    published = GANG.model_validate({**GANG.manifest(), "status": {"podPreparations": [patches]}})
    pods = (made(0, GATED, preparation_of(published, PER_GANG, CLIQUE, 1)),)
    assert remade(pods, published, PER_GANG) == []
    assert counted(pods, published, PER_GANG) == [f"{CLIQUE}-0"]
    unpublished = made_anew(GANG)
    assert remade(pods, unpublished, PER_GANG) == []
    assert counted(pods, unpublished, PER_GANG) == []
    assert remade(pods, made_anew(published), PER_GANG) == [f"{CLIQUE}-0"]


def test_without_a_record_the_name_of_the_backend_decides() -> None:
    elsewhere = pod(1, replace(GATED, backend="other"))
    assert counted((made(0), elsewhere), made_anew(GANG), None) == [f"{CLIQUE}-0"]


def test_the_digest_does_not_depend_on_how_a_patch_was_written_down() -> None:
    gang_ref = GangRef("g", "u", NAMESPACE, BACKEND)
    one = PodPatch.model_validate({"labels": {"a": "1", "b": "2"}, "annotations": {}})
    same = PodPatch.model_validate({"labels": {"b": "2", "a": "1"}})
    other = PodPatch.model_validate({"labels": {"a": "1"}})
    digests = [digest(patch, gang_ref, "c", STATIC) for patch in (one, same, other)]
    assert digests[0] == digests[1] != digests[2]
    assert digests[0].startswith(f"{GATE}:")


@pytest.mark.parametrize(
    ("fields", "kept", "lost"),
    [
        (
            {"schedulingGroup": {"podGroupName": "{gang}-{index}"}},
            PodSpec(scheduling_group=PodSchedulingGroup("w-0-0")),
            PodSpec(),
        ),
        (
            {"workloadRef": {"name": "{gang}", "podGroup": "{group}"}},
            PodSpec(workload_ref=PodWorkloadReference("w-0", CLIQUE)),
            PodSpec(workload_ref=PodWorkloadReference("w-0")),
        ),
    ],
)
def test_a_gated_pod_that_the_server_left_out_of_its_gang_does_not_count_and_is_recreated(
    fields: dict[str, object], kept: PodSpec, lost: PodSpec
) -> None:
    backend = record("", preparation={"mode": "Static", "members": {"spec": fields}})
    wanted = preparation_of(GANG, backend, CLIQUE, 1)

    def stored(spec: PodSpec, state: PodState = GATED) -> tuple[Pod, ...]:
        pod = made(0, state, wanted)
        spec = msgspec.structs.replace(spec, scheduling_gates=pod.spec.scheduling_gates)
        return (msgspec.structs.replace(pod, spec=spec),)

    assert remade(stored(kept), GANG, backend) == []
    assert counted(stored(kept), GANG, backend) == [f"{CLIQUE}-0"]
    assert remade(stored(lost), GANG, backend) == [f"{CLIQUE}-0"]
    assert counted(stored(lost), GANG, backend) == [], "so its gang is not whole and not released"
    assert remade(stored(lost, RELEASED), GANG, backend) == [], "too late"


def test_a_pod_must_have_the_fields_that_it_was_made_with() -> None:
    fields = {"schedulerName": "s", "schedulingGroup": {"podGroupName": "{gang}-{group}-{index}"}}
    patches = {"members": {"spec": fields}, "surplus": {"spec": {"schedulerName": "t"}}}
    with_fields = record("", preparation={"mode": "Static", **patches})
    wanted = preparation_of(GANG, with_fields, CLIQUE, 1)
    member, surplus = made(0, GATED, wanted), made(1, GATED, wanted)
    assert required_fields(member, GANG, with_fields, CLIQUE, 1) == {
        "schedulerName": "s",
        "schedulingGroup": {"podGroupName": f"w-0-{CLIQUE}-0"},
    }
    assert required_fields(surplus, GANG, with_fields, CLIQUE, 1) == {"schedulerName": "t"}
    assert required_fields(pod(0), GANG, with_fields, CLIQUE, 1) == {}, (
        "it says nothing about itself"
    )
    assert required_fields(member, GANG, PER_GANG, CLIQUE, 1) == {}
