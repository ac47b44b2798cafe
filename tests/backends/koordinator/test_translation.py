"""The PodGroups that a gang becomes, what its pods carry, and the gangs that become none."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.declaration import Translation
from backend_controllers.koordinator.api import (
    KEY_GANG_GROUPS,
    KEY_MATCH_POLICY,
    KEY_MODE,
    KEY_POD_GROUP,
    KEY_QUOTA,
    KEY_WAITING_TIME,
)
from backend_controllers.koordinator.installation import KoordinatorFeatures
from backend_controllers.koordinator.membership import pod_group_name
from backend_controllers.koordinator.translation import translate
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from tests.backends.koordinator.kit import (
    NAMESPACE,
    Known,
    Object,
    gang,
    installed,
    members,
    names_of,
)
from tests.plan.samples import QUICK


def translated(
    of: ObservedPodGang, features: KoordinatorFeatures | None = None, **options: Any
) -> Translation:
    """A gang whose members are all free."""
    return translate(installed(features, **options), of, Known(members(of)))


def manifests(translation: Translation) -> list[Object]:
    assert translation.refusals == ()
    return [cast("Object", item.manifest) for item in translation.objects]


def test_a_gang_of_two_groups_is_two_pod_groups_that_name_each_other() -> None:
    of = gang()
    first, second = names_of(of)
    tie = json.dumps([f"{NAMESPACE}/{first}", f"{NAMESPACE}/{second}"], separators=(",", ":"))
    annotations = {
        KEY_MODE: "Strict",
        KEY_MATCH_POLICY: "waiting-and-running",
        KEY_GANG_GROUPS: tie,
    }
    assert manifests(translated(of)) == [
        {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
            "spec": {"minMember": minimum},
        }
        for name, minimum in ((first, 2), (second, 1))
    ]


def test_a_group_without_a_minimum_is_no_part_of_the_gang() -> None:
    of = gang({"w-0-a": 2, "w-0-b": 0}, pods=2)
    [only] = manifests(translated(of))
    assert only["spec"] == {"minMember": 2}
    assert json.loads(only["metadata"]["annotations"][KEY_GANG_GROUPS]) == [
        f"{NAMESPACE}/{pod_group_name(of, 'w-0-a')}"
    ]


def test_members_join_by_a_label_and_surplus_pods_stay_outside() -> None:
    of = gang()
    for preparation in translated(of).preparations:
        joined = pod_group_name(of, preparation.name)
        member, surplus = preparation.of_pod(0, 1).manifest(), preparation.of_pod(1, 1).manifest()
        assert member == {
            "labels": {KEY_POD_GROUP: joined},
            "spec": {"schedulerName": "koord-scheduler"},
        }
        assert surplus == {"spec": {"schedulerName": "koord-scheduler"}}


def test_pods_are_prepared_before_the_gang_may_be_known() -> None:
    translation = translate(installed(), gang(), Known())
    assert translation.objects == ()
    assert translation.awaits
    assert [each.name for each in translation.preparations] == ["w-0-a", "w-0-b"]


@pytest.mark.parametrize(
    ("named", "used"),
    [("my-koord", "my-koord"), ("default-scheduler", "koord-scheduler"), ("", "koord-scheduler")],
)
def test_a_profile_that_cliques_name_is_kept_if_it_is_koordinators(named: str, used: str) -> None:
    of = gang(labels={names.LABEL_SCHEDULER_NAME: named} if named else {})
    [first, _] = translated(of).preparations
    assert first.members is not None
    assert first.members.spec is not None
    assert first.members.spec.scheduler_name == used


@pytest.mark.parametrize(
    ("metadata", "options", "quota"),
    [
        ({"labels": {KEY_QUOTA: "red"}, "annotations": {KEY_QUOTA: "blue"}}, {}, "red"),
        ({"annotations": {KEY_QUOTA: "blue"}}, {"default_quota": "green"}, "blue"),
        ({}, {"default_quota": "green"}, "green"),
    ],
)
def test_all_pods_are_counted_against_the_quota_of_the_gang(
    metadata: Object, options: Object, quota: str
) -> None:
    for preparation in translated(gang(**metadata), **options).preparations:
        for patch in (preparation.members, preparation.surplus):
            assert patch is not None
            assert patch.labels[KEY_QUOTA] == quota


def test_terms_are_the_sets_else_those_of_the_settings() -> None:
    chosen = {KEY_MODE: "NonStrict", KEY_MATCH_POLICY: "once-satisfied", KEY_WAITING_TIME: "1m30s"}
    first = manifests(translated(gang(annotations=chosen), waiting_seconds=7))[0]
    assert first["metadata"]["annotations"].items() >= {
        (KEY_MODE, "NonStrict"),
        (KEY_MATCH_POLICY, "once-satisfied"),
    }
    assert first["spec"]["scheduleTimeoutSeconds"] == 90
    settings: Object = {
        "mode": "NonStrict",
        "match_policy": "only-waiting",
        "waiting_seconds": 7,
    }
    first = manifests(translated(gang(), **settings))[0]
    assert first["metadata"]["annotations"][KEY_MODE] == "NonStrict"
    assert first["metadata"]["annotations"][KEY_MATCH_POLICY] == "only-waiting"
    assert first["spec"]["scheduleTimeoutSeconds"] == 7


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        ({KEY_MODE: "strict"}, "Set it to NonStrict or Strict"),
        ({KEY_MATCH_POLICY: "never"}, "Set it to once-satisfied or only-waiting or waiting-and-r"),
        ({KEY_WAITING_TIME: "soon"}, "a duration such as 90s or 5m, from 1s to 900s"),
        ({KEY_WAITING_TIME: "0s"}, "from 1s to 900s"),
        ({KEY_WAITING_TIME: "16m"}, "from 1s to 900s"),
        ({KEY_WAITING_TIME: "-5s"}, "from 1s to 900s"),
        ({KEY_WAITING_TIME: "5"}, "from 1s to 900s"),
    ],
)
def test_terms_that_koordinator_would_not_understand_refuse_the_gang(
    annotation: dict[str, str], said: str
) -> None:
    translation = translated(gang(annotations=annotation))
    assert translation.objects == ()
    assert translation.preparations == ()
    [refusal] = translation.refusals
    [(key, value)] = annotation.items()
    assert refusal.startswith(f"{key} has the invalid value '{value}'. ")
    assert said in refusal


def test_a_waiting_time_is_left_out_where_there_is_no_field_for_it() -> None:
    of = gang(annotations={KEY_WAITING_TIME: "500ms"})
    translation = translated(of, KoordinatorFeatures(waiting_time=False))
    assert manifests(translation)[0]["spec"] == {"minMember": 2}
    assert "waiting time of 1 s" in translation.remarks[0]


def test_what_has_no_words_is_remarked_on() -> None:
    of = gang(reuseReservationRef={"namespace": NAMESPACE, "name": "v-0"})
    assert "cannot reuse a reservation" in translated(of).remarks[0]


@QUICK
@given(
    st.lists(st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True), max_size=4),
    st.uuids(),
    st.uuids(),
)
def test_names_fit_a_label_and_are_of_one_gang_alone(
    groups: list[str], uid: object, other: object
) -> None:
    here, there = gang(uid=str(uid)), gang(uid=str(other))
    made = [pod_group_name(here, group) for group in groups]
    assert all(0 < len(name) <= 63 and name[-1].isalnum() for name in made)
    assert len(set(made)) == len(set(groups))
    if uid != other:
        assert not set(made) & {pod_group_name(there, group) for group in groups}
