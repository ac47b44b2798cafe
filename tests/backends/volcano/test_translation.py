"""A gang as Volcano's PodGroup: minimums, queue and priority."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.declaration import Translation
from backend_controllers.volcano.installation import VolcanoFeatures
from backend_controllers.volcano.translation import translate
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGangSpec
from shared_api.kube.resources import PRIORITY_CLASSES
from tests.backends.volcano.kit import (
    V1_0,
    V1_10,
    V1_12,
    GivenFacts,
    Object,
    gang,
    group,
    installed,
    named,
)


def translated(
    of: ObservedPodGang, features: VolcanoFeatures | None = None, **options: Any
) -> Translation:
    return translate(installed(*([features] if features else []), **options), of, GivenFacts())


def spec_of(found: Translation) -> Object:
    assert found.refusals == ()
    [rendered] = found.objects
    spec = rendered.manifest["spec"]
    assert isinstance(spec, dict)
    return spec


def test_a_gang_becomes_one_pod_group_of_its_own_name_with_a_sub_group_for_each_group() -> None:
    found = translated(gang(group("web-0-a", 2), group("web-0-b", 3)))
    [rendered] = found.objects
    assert rendered.manifest == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "web-0", "namespace": "team-a"},
        "spec": {
            "queue": "default",
            "minMember": 5,
            "subGroupPolicy": [
                {
                    "name": name,
                    "labelSelector": {"matchLabels": {"grove.io/podclique": name}},
                    "matchLabelKeys": ["grove.io/podclique"],
                    "subGroupSize": minimum,
                    "minSubGroups": 1,
                }
                for name, minimum in (("web-0-a", 2), ("web-0-b", 3))
            ],
        },
    }
    assert found.remarks == ()


def test_a_group_of_which_nothing_is_needed_demands_nothing() -> None:
    spec = spec_of(translated(gang(group("web-0-a", 2), group("web-0-b", 0))))
    assert spec["minMember"] == 2
    sizes = [(p["subGroupSize"], p["minSubGroups"]) for p in spec["subGroupPolicy"]]
    assert sizes == [(2, 1), (1, 0)]


@pytest.mark.parametrize("features", [V1_10, V1_12])
def test_where_there_are_no_sub_groups_minimums_are_those_of_tasks(
    features: VolcanoFeatures,
) -> None:
    spec = spec_of(translated(gang(group("web-0-a", 2), group("web-0-b", 3)), features))
    assert spec == {
        "queue": "default",
        "minMember": 5,
        "minTaskMember": {"web-0-a": 2, "web-0-b": 3},
    }


def test_where_volcano_only_counts_all_pods_one_group_is_served_and_several_are_refused() -> None:
    assert spec_of(translated(gang(group("web-0-a", 2)), V1_0)) == {
        "queue": "default",
        "minMember": 2,
    }
    [refusal] = translated(gang(group("web-0-a", 2), group("web-0-b", 3)), V1_0).refusals
    assert "2 groups with a minimum each" in refusal
    assert "Install the CRDs of Volcano v1.14 or newer" in refusal


def test_a_gang_without_groups_is_refused() -> None:
    empty = msgspec.structs.replace(gang(), spec=ObservedPodGangSpec())
    assert translated(empty).refusals == ("the gang has no groups",)


@pytest.mark.parametrize(
    ("metadata", "queue"),
    [
        ({}, "spare"),
        ({"annotations": {"scheduling.volcano.sh/queue-name": "ann"}}, "ann"),
        ({"labels": {"scheduling.volcano.sh/queue-name": "lab"}}, "lab"),
        ({"annotations": {"scheduling.grove.io/volcano-queue": "grove"}}, "grove"),
        (
            {
                "labels": {"scheduling.volcano.sh/queue-name": "lab"},
                "annotations": {"scheduling.volcano.sh/queue-name": "ann"},
            },
            "lab",
        ),
    ],
)
def test_the_queue_is_the_gangs_or_the_one_of_the_settings(metadata: Object, queue: str) -> None:
    assert spec_of(translated(gang(metadata=metadata), default_queue="spare"))["queue"] == queue


@pytest.mark.parametrize("queue", ["Upper", "two words", "-a", "x" * 254])
def test_a_name_that_no_queue_can_have_is_refused(queue: str) -> None:
    metadata = {"annotations": {"scheduling.volcano.sh/queue-name": queue}}
    [refusal] = translated(gang(metadata=metadata)).refusals
    assert "is not a valid name of a queue" in refusal
    assert len(refusal) < 400


def test_a_priority_class_is_passed_on_and_missed_when_it_does_not_exist() -> None:
    asked = gang(priorityClassName="high")
    missing = translated(asked)
    assert spec_of(missing)["priorityClassName"] == "high"
    assert missing.remarks == (
        "PriorityClass 'high' does not exist: Volcano uses its default priority."
        " Create it, or change the priorityClassName of the PodCliqueSet",
    )
    there = translate(installed(), asked, GivenFacts(named(PRIORITY_CLASSES, "high")))
    assert there.remarks == ()


def test_a_reservation_to_take_over_is_remarked_on() -> None:
    asked = gang(reuseReservationRef={"namespace": "team-a", "name": "other"})
    assert translated(asked).remarks == (
        "spec.reuseReservationRef is ignored: Volcano cannot reuse a reservation",
    )


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12))
def test_whatever_the_minimums_sub_groups_and_total_demand_exactly_these(
    minimums: list[int],
) -> None:
    groups = [group(f"web-0-g{index}", minimum) for index, minimum in enumerate(minimums)]
    spec = spec_of(translated(gang(*groups)))
    demanded = [p["subGroupSize"] * p["minSubGroups"] for p in spec["subGroupPolicy"]]
    assert demanded == minimums
    assert spec["minMember"] == sum(minimums)
    tasks = spec_of(translated(gang(*groups), V1_12))
    # Volcano ignores the minimums of tasks once they are more than the total.
    assert sum(tasks["minTaskMember"].values()) == tasks["minMember"]
