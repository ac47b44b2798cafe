"""Placement at three levels: sub-groups and their parents, levels, topologies and bindings."""

import re
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend_controllers.contract.declaration import PackLevels, WhenRefused
from backend_controllers.kai.api import BINDINGS, TOPOLOGIES
from backend_controllers.kai.installation import KaiFeatures
from backend_controllers.kai.topology_levels import TopologyLevels
from backend_controllers.kai.topology_sync import topology_for
from backend_controllers.kai.translation import translate
from shared_api.kube.podgangs import ObservedPodGang
from tests.backends.kai.kit import (
    HOST,
    RACK,
    V0_13,
    V0_17,
    ZONE,
    GivenFacts,
    Object,
    binding,
    gang,
    group,
    installed,
    on_topology,
    pack,
    together,
    topology,
)

NET = topology("net", ZONE, RACK, HOST)


def spec(
    it: ObservedPodGang, features: KaiFeatures = V0_17, facts: GivenFacts | None = None
) -> Object:
    translation = translate(installed(features), it, facts or GivenFacts(NET))
    assert translation.refusals == ()
    return cast("Object", translation.objects[0].manifest["spec"])


def by_name(it: ObservedPodGang) -> dict[str, Object]:
    return {entry["name"]: entry for entry in spec(it)["subGroups"]}


def test_three_levels_become_gang_parent_and_leaf() -> None:
    it = gang(
        group("w-0-frontend"),
        group("w-0-m-0-leader", 1, pack(HOST)),
        group("w-0-m-0-worker", 3, pack(None, HOST)),
        metadata=on_topology(),
        topologyConstraint=pack(ZONE),
        topologyConstraintGroupConfigs=[
            together("w-0-m-0", "w-0-m-0-leader", "w-0-m-0-worker", constraint=pack(RACK))
        ],
    )
    assert spec(it) == {
        "queue": "team",
        "minSubGroup": 2,
        "topologyConstraint": {"topology": "net", "requiredTopologyLevel": ZONE},
        "subGroups": [
            {
                "name": "w-0-m-0",
                "minSubGroup": 2,
                "topologyConstraint": {"topology": "net", "requiredTopologyLevel": RACK},
            },
            {"name": "w-0-frontend", "minMember": 1},
            {
                "name": "w-0-m-0-leader",
                "minMember": 1,
                "parent": "w-0-m-0",
                "topologyConstraint": {"topology": "net", "requiredTopologyLevel": HOST},
            },
            {
                "name": "w-0-m-0-worker",
                "minMember": 3,
                "parent": "w-0-m-0",
                "topologyConstraint": {"topology": "net", "preferredTopologyLevel": HOST},
            },
        ],
    }


def test_a_config_without_levels_needs_no_parent() -> None:
    configs = [together("set", "a")]
    it = gang(group("a"), metadata=on_topology(), topologyConstraintGroupConfigs=configs)
    assert spec(it)["subGroups"] == [{"name": "a", "minMember": 1}]


def test_groups_that_the_gang_does_not_have_are_left_out_and_named() -> None:
    configs = [
        together("set", "a", "gone", constraint=pack(RACK)),
        together("empty", "gone", constraint=pack(RACK)),
    ]
    it = gang(group("a"), metadata=on_topology(), topologyConstraintGroupConfigs=configs)
    translation = translate(installed(), it, GivenFacts(NET))
    entries = cast("Object", translation.objects[0].manifest["spec"])["subGroups"]
    assert [(entry["name"], entry.get("minSubGroup")) for entry in entries] == [
        ("set", 1),
        ("a", None),
    ]
    assert [("gone" in remark) for remark in translation.remarks] == [True, True]


def test_a_group_with_two_parents_is_refused() -> None:
    configs = [together(name, "a", constraint=pack(RACK)) for name in ("one", "two")]
    it = gang(group("a"), metadata=on_topology(), topologyConstraintGroupConfigs=configs)
    [refusal] = translate(installed(), it, GivenFacts(NET)).refusals
    assert "'one'" in refusal
    assert "'two'" in refusal


@pytest.mark.parametrize("taken", ["a", "default", "UPPER.Case", "x" * 63])
def test_a_parent_gets_a_name_that_is_free_and_allowed(taken: str) -> None:
    configs = [together(taken, "a", "x" * 63, constraint=pack(RACK))]
    it = gang(
        group("a"),
        group("x" * 63),
        metadata=on_topology(),
        topologyConstraintGroupConfigs=configs,
    )
    parent, *leaves = spec(it)["subGroups"]
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", parent["name"])
    assert parent["name"] not in ("a", "default", "x" * 63)
    assert {leaf["parent"] for leaf in leaves} == {parent["name"]}


_NAMES = st.text("ab-.Z", min_size=1, max_size=8)


@settings(max_examples=50, deadline=None)
@given(
    groups=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=6, unique=True),
    configs=st.lists(
        st.tuples(_NAMES, st.lists(st.text("abc", min_size=1, max_size=3), max_size=4)),
        max_size=5,
        unique_by=lambda config: config[0],
    ),
)
def test_sub_groups_always_form_a_tree_of_all_groups(
    groups: list[str], configs: list[tuple[str, list[str]]]
) -> None:
    it = gang(
        *map(group, groups),
        metadata=on_topology(),
        topologyConstraintGroupConfigs=[
            together(name, *dict.fromkeys(members), constraint=pack(RACK))
            for name, members in configs
        ],
    )
    translation = translate(installed(), it, GivenFacts(NET))
    if translation.refusals:
        assert all("has one parent" in refusal for refusal in translation.refusals)
        return
    body = cast("Object", translation.objects[0].manifest["spec"])
    entries: list[Object] = body["subGroups"]
    listed = [entry["name"] for entry in entries]
    assert len(set(listed)) == len(listed)
    assert [entry["name"] for entry in entries if "minMember" in entry] == groups
    for entry in entries:
        children = [child for child in entries if child.get("parent") == entry["name"]]
        assert ("minSubGroup" in entry) == bool(children)
        assert entry.get("minSubGroup", 0) == len(children)
        assert entry.get("parent", listed[0]) in listed
    assert body["minSubGroup"] == sum("parent" not in entry for entry in entries)


@pytest.mark.parametrize(
    ("asked", "within", "expected"),
    [
        (PackLevels(RACK), "", (RACK, None)),
        (PackLevels("", RACK), "", (None, RACK)),
        (PackLevels(RACK, HOST), ZONE, (RACK, HOST)),
        (PackLevels(RACK, RACK), RACK, (RACK, RACK)),
        # Implied by the narrower level, and KAI would fail on it without a word.
        (PackLevels(RACK, ZONE), "", (RACK, None)),
        (PackLevels(ZONE), RACK, None),
        (PackLevels(ZONE, HOST), RACK, (None, HOST)),
        (PackLevels("", ZONE), RACK, None),
        # Of levels that are not known, nothing is implied.
        (PackLevels("other", ZONE), RACK, ("other", ZONE)),
        (PackLevels(), "", None),
    ],
)
def test_levels_that_narrower_ones_imply_are_left_out(
    asked: PackLevels, within: str, expected: tuple[str | None, str | None] | None
) -> None:
    constraint = TopologyLevels("net", (ZONE, RACK, HOST)).constraint(asked, within)
    if expected is None:
        assert constraint is None
        return
    assert constraint is not None
    assert constraint["topology"] == "net"
    found = constraint.get("requiredTopologyLevel"), constraint.get("preferredTopologyLevel")
    assert found == expected


def test_a_leaf_is_compared_with_its_parent_and_the_gang() -> None:
    it = gang(
        group("a", 1, pack(RACK)),
        group("b", 1, pack(ZONE)),
        metadata=on_topology(),
        topologyConstraint=pack(RACK),
        topologyConstraintGroupConfigs=[together("s", "a", constraint=pack(HOST))],
    )
    entries = by_name(it)
    assert "topologyConstraint" not in entries["a"]
    assert "topologyConstraint" not in entries["b"]


def test_required_levels_without_a_topology_refuse_the_gang_and_preferred_ones_do_not() -> None:
    required = gang(group("a", 1, pack(RACK)))
    assert "names no topology" in translate(installed(), required, GivenFacts()).refusals[0]
    preferred = translate(installed(), gang(group("a", 1, pack(None, RACK))), GivenFacts())
    assert preferred.refusals == ()
    assert "names no topology" in preferred.remarks[0]


def test_kai_without_nested_placement_refuses_what_is_required_below_the_gang() -> None:
    old = KaiFeatures(
        preemptibility=False,
        nested=False,
        min_sub_group=False,
        empty_groups=False,
        strict_names=False,
        delays=False,
    )
    it = gang(group("a", 1, pack(RACK)), metadata=on_topology(), topologyConstraint=pack(ZONE))
    [refusal] = translate(installed(old), it, GivenFacts(NET)).refusals
    assert "group 'a' cannot be packed by" in refusal
    assert "v0.9" in refusal


def test_the_old_annotation_names_the_topology_too() -> None:
    metadata = {
        "labels": {"kai.scheduler/queue": "team"},
        "annotations": {"kai.scheduler/topology": "net"},
    }
    it = gang(group("a", 1, pack(RACK)), metadata=metadata)
    assert spec(it)["subGroups"][0]["topologyConstraint"]["topology"] == "net"


@pytest.mark.parametrize("scheduler", ["kai_scheduler", "kai"])
def test_a_binding_may_refer_to_a_topology_of_another_name(scheduler: str) -> None:
    bound = binding("net", ZONE, RACK, **{scheduler: "theirs"})
    facts = GivenFacts((BINDINGS, bound), topology("theirs", ZONE, RACK))
    it = gang(metadata=on_topology(), topologyConstraint=pack(RACK, ZONE))
    assert spec(it, facts=facts)["topologyConstraint"] == {
        "topology": "theirs",
        "requiredTopologyLevel": RACK,
    }


def test_levels_are_known_from_the_binding_before_the_topology_is_made() -> None:
    facts = GivenFacts((BINDINGS, binding("net", ZONE, RACK, volcano="x")))
    it = gang(metadata=on_topology(), topologyConstraint=pack(RACK, ZONE))
    assert spec(it, V0_13, facts)["topologyConstraint"] == {
        "topology": "net",
        "requiredTopologyLevel": RACK,
    }


def test_a_topology_has_the_levels_of_its_binding_and_is_replaced_when_they_change() -> None:
    [rendered] = topology_for(binding("net", ZONE, RACK, HOST))
    assert rendered.resource == TOPOLOGIES
    assert rendered.when_refused is WhenRefused.REPLACE
    assert rendered.manifest == {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "net"},
        "spec": {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}, {"nodeLabel": HOST}]},
    }


def test_a_topology_ends_at_the_single_node() -> None:
    [rendered] = topology_for(binding("net", ZONE, HOST, "example.com/numa"))
    levels = cast("Object", rendered.manifest["spec"])["levels"]
    assert levels == [{"nodeLabel": ZONE}, {"nodeLabel": HOST}]


def test_a_topology_that_another_client_keeps_is_not_made() -> None:
    assert topology_for(binding("net", ZONE, kai_scheduler="theirs")) == ()
    assert len(topology_for(binding("net", ZONE, volcano="theirs"))) == 1
