"""Placements as tiers of HyperNodes: what is written, what is implied, what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.declaration import Translation
from backend_controllers.volcano.tiers import ANY_TIER
from backend_controllers.volcano.translation import translate
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import PRIORITY_CLASSES
from tests.backends.volcano.kit import (
    BLOCK,
    RACK,
    V1_10,
    V1_12,
    ZONE,
    GivenFacts,
    Object,
    gang,
    group,
    hyper_node,
    installed,
    named,
    network,
    pack,
    together,
)

TIERS = {RACK: 1, BLOCK: 2, ZONE: 3}
HOST = "kubernetes.io/hostname"


def translated(of: ObservedPodGang, *given: Any, features: Any = None) -> Translation:
    spoken = installed() if features is None else installed(features)
    return translate(spoken, of, GivenFacts(*(given or network())))


def spec_of(found: Translation) -> Object:
    assert found.refusals == ()
    [rendered] = found.objects
    spec = rendered.manifest["spec"]
    assert isinstance(spec, dict)
    return spec


def hard(tier: int) -> Object:
    return {"mode": "hard", "highestTierAllowed": tier}


def policies(spec: Object) -> dict[str, Object | None]:
    return {entry["name"]: entry.get("networkTopology") for entry in spec["subGroupPolicy"]}


@pytest.mark.parametrize(
    ("constraint", "written"),
    [
        (pack(required=RACK), hard(1)),
        (pack(required=ZONE), hard(3)),
        # Volcano begins with the lowest tier, so the preference is served on the way.
        (pack(required=ZONE, preferred=RACK), hard(3)),
        (pack(required=RACK, preferred=ZONE), hard(1)),
        (pack(preferred=RACK), hard(ANY_TIER)),
        (None, None),
    ],
)
def test_a_gang_gets_the_highest_tier_that_it_may_span(
    constraint: Object | None, written: Object | None
) -> None:
    spec = spec_of(translated(gang(topologyConstraint=constraint)))
    assert spec.get("networkTopology") == written
    assert "highestTierName" not in str(spec), "v1.14.1 rewrites it and does not heed it"


@pytest.mark.parametrize(
    ("given", "tier"),
    [
        ([hyper_node("r", 1, RACK)], 1),
        ([hyper_node("r", 0, RACK)], 0),
        ([hyper_node("r", 4, by=RACK)], 4),
        ([hyper_node("r", 2, labels={RACK: "r"})], 2),
        # A tier's own name counts more than how its nodes are selected.
        ([hyper_node("r", 1, RACK), hyper_node("z", 3, ZONE, by=RACK)], 1),
    ],
)
def test_the_tier_of_a_level_is_found_by_name_by_selector_or_by_label(
    given: Any, tier: int
) -> None:
    spec = spec_of(translated(gang(topologyConstraint=pack(required=RACK)), *given))
    assert spec["networkTopology"] == hard(tier)


def test_a_required_level_without_hyper_nodes_is_refused_with_what_to_do() -> None:
    [refusal] = translated(gang(topologyConstraint=pack(required=HOST))).refusals
    assert refusal == (
        f"the gang cannot be packed by {HOST}: there are no HyperNodes of level {HOST}. Create"
        f" them with tierName {HOST}, or let Volcano discover them by this node label"
    )


def test_hyper_nodes_that_disagree_about_a_level_are_reported_with_their_tiers() -> None:
    given = hyper_node("a", 1, RACK), hyper_node("b", 2, RACK)
    [refusal] = translated(gang(topologyConstraint=pack(required=RACK)), *given).refusals
    assert f"HyperNodes of level {RACK} are on the tiers 1, 2. Give them all one tier" in refusal


def test_a_preferred_level_without_hyper_nodes_is_left_out_and_reported() -> None:
    found = translated(gang(topologyConstraint=pack(preferred=HOST)))
    assert "networkTopology" not in spec_of(found)
    [remark] = found.remarks
    assert f"there are no HyperNodes of level {HOST}" in remark
    both = translated(gang(topologyConstraint=pack(required=RACK, preferred=HOST)))
    assert spec_of(both)["networkTopology"] == hard(1)
    assert len(both.remarks) == 1


def test_a_group_gets_its_own_tier_inside_that_of_the_gang() -> None:
    asked = gang(
        group("web-0-a", 2, pack(required=RACK)),
        group("web-0-b", 1, pack(required=ZONE)),
        group("web-0-c", 1, pack(preferred=RACK)),
        topologyConstraint=pack(required=BLOCK),
    )
    spec = spec_of(translated(asked))
    assert spec["networkTopology"] == hard(2)
    # A zone around the block is implied.
    assert policies(spec) == {"web-0-a": hard(1), "web-0-b": None, "web-0-c": hard(ANY_TIER)}


def test_groups_that_are_packed_together_are_one_sub_group() -> None:
    asked = gang(
        group("web-0-lead", 1),
        group("web-0-work", 3),
        group("web-0-route", 2),
        topologyConstraintGroupConfigs=[
            together("web-0-s-0", "web-0-lead", "web-0-work", constraint=pack(required=RACK))
        ],
    )
    spec = spec_of(translated(asked))
    assert spec["minMember"] == 6
    both, alone = spec["subGroupPolicy"]
    members = ["web-0-lead", "web-0-work"]
    assert both == {
        "name": "web-0-s-0",
        "labelSelector": {
            "matchExpressions": [{"key": "grove.io/podclique", "operator": "In", "values": members}]
        },
        "matchLabelKeys": ["grove.io/podgang"],
        "subGroupSize": 4,
        "minSubGroups": 1,
        "networkTopology": hard(1),
    }
    assert (alone["name"], alone["subGroupSize"]) == ("web-0-route", 2)


def test_a_set_of_all_groups_is_the_gang_and_leaves_groups_their_own_placement() -> None:
    asked = gang(
        group("a", 1, pack(required=RACK)),
        group("b", 1),
        topologyConstraintGroupConfigs=[together("s", "a", "b", constraint=pack(required=BLOCK))],
    )
    spec = spec_of(translated(asked))
    assert spec["networkTopology"] == hard(2)
    assert policies(spec) == {"a": hard(1), "b": None}


def test_of_a_set_with_one_group_the_narrower_placement_counts() -> None:
    asked = gang(
        group("a", 2, pack(required=RACK)),
        group("b", 1),
        topologyConstraintGroupConfigs=[together("s", "a", constraint=pack(required=BLOCK))],
    )
    assert policies(spec_of(translated(asked))) == {"s": hard(1), "b": None}


def test_a_sub_group_for_a_set_does_not_take_the_name_of_a_group() -> None:
    asked = gang(
        *(group(name) for name in ("a", "b", "c")),
        topologyConstraintGroupConfigs=[together("c", "a", "b", constraint=pack(required=RACK))],
    )
    assert list(policies(spec_of(translated(asked)))) == ["c-set", "c"]


def _nested(inner: Object, outer: Object) -> ObservedPodGang:
    return gang(
        group("a", 1, inner),
        group("b", 1),
        group("c", 1),
        topologyConstraintGroupConfigs=[together("s", "a", "b", constraint=outer)],
    )


def test_a_rack_of_its_own_inside_the_block_of_a_set_is_refused() -> None:
    [refusal] = translated(_nested(pack(required=RACK), pack(required=BLOCK))).refusals
    assert refusal == (
        f"group 'a' cannot be packed by {RACK} inside group set 's', which is packed by"
        f" {BLOCK}: in Volcano a pod has one sub-group. Remove one of the two"
    )


@pytest.mark.parametrize(
    ("inner", "outer", "written", "remarks"),
    [
        # What a group requires goes before what its set prefers, and the other way round.
        (pack(required=RACK), pack(preferred=BLOCK), {"a": hard(1), "b": None, "c": None}, 1),
        (pack(preferred=RACK), pack(required=BLOCK), {"s": hard(2), "c": None}, 1),
        (pack(preferred=RACK), pack(preferred=BLOCK), {"s": hard(ANY_TIER), "c": None}, 1),
        # Implied.
        (pack(required=ZONE), pack(required=BLOCK), {"s": hard(2), "c": None}, 0),
    ],
)
def test_of_a_group_and_its_set_the_stronger_wish_is_heeded(
    inner: Object, outer: Object, written: Object, remarks: int
) -> None:
    found = translated(_nested(inner, outer))
    assert policies(spec_of(found)) == written
    assert len(found.remarks) == remarks


def test_a_group_in_two_sets_is_refused() -> None:
    asked = gang(
        *(group(name) for name in ("a", "b", "c", "d")),
        topologyConstraintGroupConfigs=[
            together("s", "a", "b", constraint=pack(required=RACK)),
            together("t", "b", "c", constraint=pack(required=RACK)),
        ],
    )
    [refusal] = translated(asked).refusals
    assert "group 'b' is in two group sets, 't' and 's'" in refusal


def test_groups_that_do_not_exist_are_remarked_on() -> None:
    asked = gang(
        group("a"),
        group("b"),
        topologyConstraintGroupConfigs=[together("s", "a", "x", constraint=pack(required=RACK))],
    )
    found = translated(asked)
    assert found.remarks == ("group set 's' lists groups that do not exist: x",)
    assert policies(spec_of(found)) == {"s": hard(1), "b": None}


def test_what_an_older_volcano_cannot_place_is_refused_or_left_out() -> None:
    whole = gang(topologyConstraint=pack(required=RACK))
    part = gang(group("a", 1, pack(required=RACK)), group("b"))
    [refusal] = translated(whole, features=V1_10).refusals
    assert (
        "(before v1.11) does not support it. Install the CRDs of Volcano v1.11 or newer" in refusal
    )
    assert spec_of(translated(whole, features=V1_12))["networkTopology"] == hard(1)
    [refusal] = translated(part, features=V1_12).refusals
    assert "group 'a' cannot be packed" in refusal
    assert "Install the CRDs of Volcano v1.14 or newer" in refusal
    preferred = translated(gang(topologyConstraint=pack(preferred=RACK)), features=V1_10)
    assert "networkTopology" not in spec_of(preferred)
    assert len(preferred.remarks) == 1


def test_a_gang_with_priority_and_placement_reports_that_nobody_is_evicted_for_it() -> None:
    asked = gang(topologyConstraint=pack(required=RACK), priorityClassName="high")
    found = translated(asked, *network(), named(PRIORITY_CLASSES, "high"))
    assert found.remarks == (
        "Volcano evicts no pods for a gang with a topology constraint, whatever its priority",
    )


def test_of_two_preferred_sets_the_first_has_the_group_that_both_want() -> None:
    asked = gang(
        *(group(name) for name in ("a", "b", "c", "d")),
        topologyConstraintGroupConfigs=[
            together("s", "a", "b", constraint=pack(preferred=RACK)),
            together("t", "b", "c", constraint=pack(preferred=RACK)),
        ],
    )
    found = translated(asked)
    [remark] = found.remarks
    assert "group 'b' is in two group sets, 't' and 's'" in remark
    sizes = [(p["name"], p["subGroupSize"]) for p in spec_of(found)["subGroupPolicy"]]
    assert sizes == [("s", 2), ("t", 1), ("d", 1)]


LEVELS = st.sampled_from([None, RACK, BLOCK, ZONE])
PACKS = st.builds(pack, LEVELS, LEVELS)
GROUPS = st.lists(st.tuples(st.integers(0, 3), PACKS), min_size=1, max_size=5)
SETS = st.lists(st.tuples(st.sets(st.integers(0, 4), min_size=1), PACKS), max_size=3)


@given(groups=GROUPS, sets=SETS, whole=PACKS)
def test_every_group_is_in_one_sub_group_which_is_as_large_as_its_minimums(
    groups: list[Any], sets: list[Any], whole: Object
) -> None:
    asked = gang(
        *(group(f"g{n}", minimum, own) for n, (minimum, own) in enumerate(groups)),
        topologyConstraint=whole,
        topologyConstraintGroupConfigs=[
            together(f"s{n}", *(f"g{m}" for m in sorted(members)), constraint=of_set)
            for n, (members, of_set) in enumerate(sets)
        ],
    )
    found = translated(asked)
    if found.refusals:
        assert any("a pod has one sub-group" in refusal for refusal in found.refusals)
        return
    spec = spec_of(found)
    for n in range(len(groups)):
        assert sum(f"'g{n}'" in str(p["labelSelector"]) for p in spec["subGroupPolicy"]) == 1
    demanded = sum(p["subGroupSize"] * p["minSubGroups"] for p in spec["subGroupPolicy"])
    assert demanded == spec["minMember"] == sum(minimum for minimum, _ in groups)


@given(whole=LEVELS, of_set=LEVELS, of_group=LEVELS)
def test_nothing_that_is_required_is_lost(
    whole: str | None, of_set: str | None, of_group: str | None
) -> None:
    asked = gang(
        group("a", 1, pack(required=of_group)),
        group("b", 1),
        group("c", 1),
        topologyConstraint=pack(required=whole),
        topologyConstraintGroupConfigs=[together("s", "a", "b", constraint=pack(required=of_set))],
    )
    found = translated(asked)
    if found.refusals:
        # Only a group that must be narrower than its set, which matters beside the gang.
        assert of_group is not None
        assert of_set is not None
        assert TIERS[of_group] < TIERS[of_set] < TIERS.get(whole or "", ANY_TIER)
        return
    spec = spec_of(found)
    outer = spec.get("networkTopology", hard(ANY_TIER))["highestTierAllowed"]
    assert outer <= TIERS.get(whole or "", ANY_TIER)
    for level, names in ((of_set, ("a", "b")), (of_group, ("a",))):
        for name in names if level else ():
            [policy] = [p for p in spec["subGroupPolicy"] if f"'{name}'" in str(p["labelSelector"])]
            inner = policy.get("networkTopology", hard(ANY_TIER))["highestTierAllowed"]
            assert min(outer, inner) <= TIERS[level or ""]
    if of_set is not None and TIERS[of_set] < outer:
        assert len(spec["subGroupPolicy"]) == 2, "the set is one sub-group"
