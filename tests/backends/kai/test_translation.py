"""The PodGroup that a gang becomes, per release of KAI, and the gangs that become none."""

from typing import Any, cast

import msgspec
import pytest

from backend_controllers.contract.declaration import Facts, Translation
from backend_controllers.kai.installation import KaiFeatures, detect_features
from backend_controllers.kai.translation import translate
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGangSpec
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PRIORITY_CLASSES
from tests.backends.kai.kit import (
    EARLIER,
    NAMESPACE,
    OF_GROVE,
    RACK,
    SERVED,
    UID,
    V0_13,
    V0_16,
    V0_17,
    ZONE,
    GivenFacts,
    Object,
    gang,
    group,
    installed,
    named,
    on_topology,
    pack,
    pod,
    together,
    topology,
)

NET = topology("net", ZONE, RACK)


def translated(
    it: ObservedPodGang, features: KaiFeatures = V0_17, facts: Facts | None = None, **options: Any
) -> Translation:
    return translate(installed(features, **options), it, facts or GivenFacts(NET))


def manifest(*args: Any, **kwargs: Any) -> Object:
    translation = translated(*args, **kwargs)
    assert translation.refusals == ()
    [rendered] = translation.objects
    return cast("Object", rendered.manifest)


def spec(*args: Any, **kwargs: Any) -> Object:
    return cast("Object", manifest(*args, **kwargs)["spec"])


def refusals(*args: Any, **kwargs: Any) -> str:
    translation = translated(*args, **kwargs)
    assert translation.objects == ()
    return "\n".join(translation.refusals)


def with_metadata(**metadata: dict[str, str]) -> ObservedPodGang:
    metadata["labels"] = {"kai.scheduler/queue": "team", **metadata.get("labels", {})}
    return gang(metadata=metadata)


def test_a_gang_of_two_groups_as_the_newest_kai_wants_it() -> None:
    it = gang(group("web-0-a", 2), group("web-0-b", 3), priorityClassName="high")
    assert manifest(it, facts=GivenFacts(named(PRIORITY_CLASSES, "high"))) == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": f"pg-web-0-{UID}",
            "namespace": NAMESPACE,
            "labels": {"grove.io/podgang": "web-0", "kai.scheduler/queue": "team"},
            "annotations": {"grove.io/podgang": "web-0"},
        },
        "spec": {
            "queue": "team",
            "minSubGroup": 2,
            "priorityClassName": "high",
            "subGroups": [
                {"name": "web-0-a", "minMember": 2},
                {"name": "web-0-b", "minMember": 3},
            ],
        },
    }


def test_fields_that_the_installed_crd_lacks_are_not_sent() -> None:
    it = gang(
        group("a"),
        group("b"),
        metadata=on_topology(),
        topologyConstraintGroupConfigs=[together("ab", "a", "b", constraint=pack(RACK))],
    )
    assert spec(it, V0_13, staleness_grace_period="-1s") == {
        "queue": "team",
        "subGroups": [
            {
                "name": "ab",
                "topologyConstraint": {"topology": "net", "requiredTopologyLevel": RACK},
            },
            {"name": "a", "minMember": 1, "parent": "ab"},
            {"name": "b", "minMember": 1, "parent": "ab"},
        ],
    }


@pytest.mark.parametrize("release", ["0.9", "0.13", "0.15", "0.17"])
def test_every_field_of_a_rich_gang_is_one_of_the_installed_crd(release: str) -> None:
    answers = SERVED[release]
    [schema] = answers.schemas.values()
    fields = cast("Object", schema)["properties"]["spec"]["properties"]
    it = gang(
        group("a", 2),
        metadata={
            "labels": {
                "kai.scheduler/queue": "team",
                "kai.scheduler/preemptibility": "preemptible",
            },
            "annotations": {
                "kai.scheduler/preemption-delay": "5s",
                "kai.scheduler/staleness-grace-period": "-1s",
            },
        },
        priorityClassName="high",
    )
    sent = spec(it, detect_features(answers))
    assert sent.keys() <= fields.keys()
    assert sent["subGroups"][0].keys() <= fields["subGroups"]["items"]["properties"].keys()


@pytest.mark.parametrize(
    ("metadata", "default", "queue"),
    [
        ({"labels": {"kai.scheduler/queue": "a"}}, "c", "a"),
        (
            {
                "labels": {"kai.scheduler/queue": "a"},
                "annotations": {"kai.scheduler/queue": "b"},
            },
            None,
            "a",
        ),
        ({"annotations": {"kai.scheduler/queue": "b"}}, "c", "b"),
        ({"labels": {"kai.scheduler/queue": ""}}, "c", "c"),
        ({}, "c", "c"),
    ],
)
def test_the_queue_is_the_label_then_the_annotation_then_the_default(
    metadata: Object, default: str | None, queue: str
) -> None:
    assert spec(gang(metadata=metadata), default_queue=default)["queue"] == queue


def test_the_message_about_a_missing_queue_names_how_to_set_one() -> None:
    text = refusals(gang(metadata={}))
    assert "label kai.scheduler/queue on the PodCliqueSet" in text
    assert "defaultQueue" in text


def test_a_queue_that_does_not_exist_is_passed_on_since_it_may_come() -> None:
    assert spec(gang(), facts=GivenFacts(queues=False))["queue"] == "team"


@pytest.mark.parametrize("value", ["preemptible", "non-preemptible"])
def test_preemptibility_is_passed_on(value: str) -> None:
    it = with_metadata(labels={"kai.scheduler/preemptibility": value})
    assert spec(it)["preemptibility"] == value


def test_a_preemptibility_that_kai_does_not_know_is_refused_with_those_that_it_does() -> None:
    text = refusals(with_metadata(labels={"kai.scheduler/preemptibility": "maybe"}))
    assert "'maybe'" in text
    assert "preemptible or non-preemptible" in text


@pytest.mark.parametrize("value", ["90s", "-1s", "1h30m", "1.5h", "+10ms", "0"])
def test_durations_are_passed_on_where_kai_has_them(value: str) -> None:
    it = with_metadata(
        annotations={
            "kai.scheduler/preemption-delay": value,
            "kai.scheduler/staleness-grace-period": value,
        }
    )
    sent = spec(it)
    assert (sent["preemptionDelay"], sent["stalenessGracePeriod"]) == (value, value)
    old = translated(it, V0_16)
    assert "preemptionDelay" not in cast("Object", old.objects[0].manifest["spec"])
    assert len([text for text in old.remarks if "v0.17" in text]) == 2


@pytest.mark.parametrize("value", ["soon", "5", "00", "1h0", "1 h", "5sec", "s"])
def test_what_is_no_duration_never_reaches_the_scheduler(value: str) -> None:
    it = with_metadata(annotations={"kai.scheduler/preemption-delay": value})
    assert f"'{value}'" in refusals(it)


def test_the_grace_period_of_the_settings_holds_for_gangs_that_state_none() -> None:
    assert spec(gang(), staleness_grace_period="-1s")["stalenessGracePeriod"] == "-1s"
    it = with_metadata(annotations={"kai.scheduler/staleness-grace-period": "10s"})
    assert spec(it, staleness_grace_period="-1s")["stalenessGracePeriod"] == "10s"
    assert translated(gang(), V0_16, staleness_grace_period="-1s").remarks == ()


def test_a_priority_class_that_does_not_exist_is_passed_on_and_reported() -> None:
    it = gang(priorityClassName="high")
    translation = translated(it)
    assert cast("Object", translation.objects[0].manifest["spec"])["priorityClassName"] == "high"
    assert "PriorityClass 'high' does not exist" in translation.remarks[0]
    assert translated(it, facts=GivenFacts(named(PRIORITY_CLASSES, "high"))).remarks == ()


def test_the_node_pool_of_a_shard_is_passed_on() -> None:
    it = with_metadata(labels={"kai.scheduler/node-pool": "h100"})
    assert manifest(it)["metadata"]["labels"]["kai.scheduler/node-pool"] == "h100"


def test_a_node_pool_that_is_no_label_value_is_refused() -> None:
    it = with_metadata(annotations={"kai.scheduler/node-pool": "h100 or b200"})
    text = refusals(it)
    assert "kai.scheduler/node-pool has the invalid value 'h100 or b200'" in text
    assert "at most 63 letters" in text


def test_tools_find_a_pod_group_by_the_labels_of_the_set() -> None:
    inherited = {"app.kubernetes.io/part-of": "web", "team": "x"}
    it = with_metadata(labels=inherited, annotations={"kubectl.kubernetes.io/note": "y"})
    metadata = manifest(it)["metadata"]
    assert metadata["labels"] == {
        **inherited,
        "grove.io/podgang": "web-0",
        "kai.scheduler/queue": "team",
    }
    assert metadata["annotations"] == {"grove.io/podgang": "web-0"}


def test_keys_of_kai_are_not_copied_like_labels_of_users() -> None:
    it = with_metadata(labels={"kai.scheduler/subgroup-name": "x"})
    assert "kai.scheduler/subgroup-name" not in manifest(it)["metadata"]["labels"]
    long = gang(metadata={"annotations": {"kai.scheduler/queue": "q" * 64}})
    assert spec(long)["queue"] == "q" * 64
    assert "kai.scheduler/queue" not in manifest(long)["metadata"]["labels"]


def test_the_priority_label_of_kai_overrides_the_field_and_a_remark_reports_it() -> None:
    it = gang(
        metadata={"labels": {"kai.scheduler/queue": "team", "priorityClassName": "low"}},
        priorityClassName="high",
    )
    translation = translated(it, facts=GivenFacts(named(PRIORITY_CLASSES, "low")))
    assert cast("Object", translation.objects[0].manifest["spec"])["priorityClassName"] == "low"
    [remark] = translation.remarks
    assert "'high' of the PodCliqueSet's template is not applied" in remark


def test_a_minimum_of_zero_is_refused_where_kai_would_take_it_for_one() -> None:
    it = gang(group("a", 0), group("b", 2))
    assert spec(it)["subGroups"][0] == {"name": "a", "minMember": 0}
    assert "minReplicas 0" in refusals(it, V0_13)
    assert "v0.15" in refusals(it, V0_13)


def members_of(it: ObservedPodGang, features: KaiFeatures, *pods: Pod) -> dict[str, int]:
    """How many pods each sub-group asks for; nothing without a PodGroup."""
    found = translated(it, features, GivenFacts(pods=pods))
    assert found.refusals == ()
    specs = [cast("Object", rendered.manifest["spec"]) for rendered in found.objects]
    return {
        leaf["name"]: leaf["minMember"]
        for one in specs
        for leaf in one["subGroups"]
        if "minMember" in leaf
    }


def test_what_pods_of_an_earlier_gang_hold_is_not_asked_for_again() -> None:
    it = gang(group("a", 2), group("b", 1))
    held = pod("a-0", "a", node="n", annotations=EARLIER), pod("b-0", "b", node="n")
    for features in (V0_13, V0_17):
        assert members_of(it, features, *held, pod("a-1", "a")) == {"a": 1, "b": 1}
    [remark] = translated(it, facts=GivenFacts(pods=held)).remarks
    assert remark.startswith("1 pods belong to an earlier gang of this name")


def test_what_running_pods_of_grove_hold_is_not_asked_for_again() -> None:
    it = gang(group("a", 2), group("b", 1))
    held = pod("a-0", "a", node="n", annotations=OF_GROVE), pod("b-0", "b", node="n")
    for features in (V0_13, V0_17):
        assert members_of(it, features, *held, pod("a-1", "a")) == {"a": 1, "b": 1}
    [remark] = translated(it, facts=GivenFacts(pods=held)).remarks
    assert remark.startswith("1 pods stay in the PodGroup web-0 that Grove made")
    other = pod("a-0", "a", node="n", annotations={"pod-group-name": "web-1"})
    assert members_of(it, V0_17, other) == {"a": 2, "b": 1}


def test_a_group_that_asks_for_nobody_has_no_sub_group_where_kai_takes_none_for_one() -> None:
    it = gang(group("a", 1), group("b", 1))
    held = pod("a-0", "a", node="n", annotations=EARLIER)
    anew = pod("b-1", "b")
    assert members_of(it, V0_17, held, anew) == {"a": 0, "b": 1}
    assert members_of(it, V0_13, held, anew) == {"b": 1}
    all_held = held, pod("b-0", "b", node="n", annotations=EARLIER)
    assert members_of(it, V0_17, *all_held) == {"a": 0, "b": 0}
    assert translated(it, V0_13, GivenFacts(pods=all_held)).objects == ()
    surplus = pod("b-1", "b")
    assert members_of(it, V0_13, *all_held, surplus) == {"b": 1}


def test_a_set_of_groups_that_ask_for_nobody_has_no_parent() -> None:
    it = gang(
        group("a", 1),
        group("b", 1),
        metadata=on_topology(),
        topologyConstraintGroupConfigs=[together("set", "a", constraint=pack(RACK))],
    )
    held = pod("a-0", "a", node="n", annotations=EARLIER)
    [rendered] = translated(it, V0_13, GivenFacts(NET, pods=(held, pod("b-0", "b")))).objects
    assert cast("Object", rendered.manifest["spec"])["subGroups"] == [{"name": "b", "minMember": 1}]


@pytest.mark.parametrize("fields", [{}, {"gates": ("g",)}, {"node": "n", "phase": "Failed"}])
def test_pods_of_an_earlier_gang_that_hold_nothing_are_asked_for(fields: Object) -> None:
    it = gang(group("a", 1))
    assert members_of(it, V0_17, pod("a-0", "a", annotations=EARLIER, **fields)) == {"a": 1}


def test_pods_that_the_podgrouper_took_are_asked_for() -> None:
    taken = pod("a-0", "a", node="n", annotations={"pod-group-name": "pg-web-0-a-5b7c"})
    assert members_of(gang(group("a", 1)), V0_17, taken) == {"a": 1}


def test_names_that_are_no_dns_labels_are_refused_where_the_crd_would() -> None:
    it = gang(group("web.v2-0-a"))
    assert spec(it, V0_13)["subGroups"][0]["name"] == "web.v2-0-a"
    assert "'web.v2-0-a'" in refusals(it, V0_17)


def test_a_gang_without_groups_is_refused() -> None:
    it = msgspec.structs.replace(gang(), spec=ObservedPodGangSpec())
    assert "no groups" in refusals(it)


def test_reservations_are_reported_to_be_unknown_to_kai() -> None:
    it = gang(reuseReservationRef={"namespace": "x", "name": "y"})
    assert "cannot reuse a reservation" in translated(it).remarks[0]


def test_all_that_is_wrong_is_reported_at_once() -> None:
    it = gang(group("a", 0), metadata={"labels": {"kai.scheduler/preemptibility": "maybe"}})
    assert len(translated(it, V0_13).refusals) == 3


def test_the_gang_is_not_changed_and_the_same_gang_gives_the_same_manifest() -> None:
    it = gang(
        group("a", constraint=pack(RACK)), metadata=on_topology(), topologyConstraint=pack(ZONE)
    )
    before = msgspec.json.encode(it)
    assert manifest(it) == manifest(it)
    assert msgspec.json.encode(it) == before


@pytest.mark.parametrize("features", [V0_13, V0_17])
@pytest.mark.parametrize("annotations", [{}, EARLIER])
def test_members_that_are_gated_change_no_translation(
    features: KaiFeatures, annotations: dict[str, str]
) -> None:
    # Where they did, the dialect would have to declare `heeds_gated_pods`.
    bare = gang(group("web-0-main", 2, pack(RACK)), metadata=on_topology())
    references = [{"namespace": NAMESPACE, "name": name} for name in ("p-0", "p-1")]
    entry = {**group("web-0-main", 2, pack(RACK)), "podReferences": references}
    pods = (pod(name, gates=("g",), annotations=annotations) for name in ("p-0", "p-1"))
    held = GivenFacts(NET, pods=tuple(pods))
    whole = gang(entry, metadata=on_topology())
    assert translated(whole, features, held) == translated(bare, features)
