"""A set expands to the cliques, groups and gangs that Grove would make of it."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.layout.expansion import (
    MOST_CLAIMS,
    MOST_PODS,
    Expansion,
    clashing_names,
    clique_named,
    cliques_of_group,
    expand,
    gang_named,
    min_available,
    standalone_cliques,
)
from core_operator.plan.manifests.autoscalers import autoscaled
from core_operator.plan.manifests.claims import clique_claims, group_claims, set_claims
from core_operator.plan.manifests.compute_domains import domains
from shared_api.models import PodCliqueSet
from tests.plan.samples import (
    QUICK,
    clique,
    group,
    live_sizes,
    pod_clique_set,
    worked_example,
    workloads,
)

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def gangs_of(expansion: Expansion) -> dict[str, list[str]]:
    return {gang.name: [member.name for member in gang.cliques] for gang in expansion.gangs}


def test_the_worked_example_has_groves_names() -> None:
    expansion = expand(worked_example(), {})
    assert [c.name for c in expansion.cliques] == [
        "w-0-a",
        "w-0-s-0-b",
        "w-0-s-0-c",
        "w-0-s-1-b",
        "w-0-s-1-c",
        "w-0-s-2-b",
        "w-0-s-2-c",
    ]
    assert [(g.name, g.replicas) for g in expansion.groups] == [("w-0-s", 3)]
    assert gangs_of(expansion) == {
        "w-0": ["w-0-a", "w-0-s-0-b", "w-0-s-0-c"],
        "w-0-s-0": ["w-0-s-1-b", "w-0-s-1-c"],
        "w-0-s-1": ["w-0-s-2-b", "w-0-s-2-c"],
    }
    assert sum(c.template.spec.replicas for c in expansion.cliques) == 14


@QUICK
@given(workloads())
def test_podcliques_come_replica_by_replica(pcs: PodCliqueSet) -> None:
    replicas = [clique.pcs_index for clique in expand(pcs, {}).cliques]
    assert replicas == sorted(replicas), "statuses are summed up in this order"


def test_a_scaled_gang_and_its_members_point_at_the_base_gang() -> None:
    expansion = expand(worked_example(), {})
    member = clique_named(expansion, "w-0-s-1-c")
    scaled = gang_named(expansion, "w-0-s-0")
    base = gang_named(expansion, "w-0")
    assert member is not None
    assert member.group is not None
    assert (member.gang, member.base_gang) == ("w-0-s-0", "w-0")
    assert (member.group.name, member.group_index, member.pcs_index) == ("w-0-s", 1, 0)
    assert scaled is not None
    assert scaled.base == "w-0"
    assert base is not None
    assert base.base is None
    assert {c.base_gang for c in base.cliques} == {None}


def test_all_base_gangs_come_before_the_scaled_ones() -> None:
    pcs = pod_clique_set(clique("b"), groups=(group("s", "b", replicas=2),), replicas=2)
    assert [gang.name for gang in expand(pcs, {}).gangs] == ["w-0", "w-1", "w-0-s-0", "w-1-s-0"]


def test_members_of_a_group_are_in_the_order_that_the_group_names_them() -> None:
    pcs = pod_clique_set(
        clique("a"), clique("b"), clique("c"), groups=(group("s", "c", "a", minimum=1),)
    )
    assert gangs_of(expand(pcs, {})) == {"w-0": ["w-0-b", "w-0-s-0-c", "w-0-s-0-a"]}


def test_the_live_size_of_a_group_wins_over_the_sets() -> None:
    expansion = expand(worked_example(), {"w-0-s": 2})
    assert [g.replicas for g in expansion.groups] == [2]
    assert list(gangs_of(expansion)) == ["w-0", "w-0-s-0"]


def test_sizes_of_other_groups_do_not_matter() -> None:
    assert expand(worked_example(), {"w-1-s": 9, "other": 9}) == expand(worked_example(), {})


def test_a_base_gang_has_no_more_replicas_than_its_scaling_group() -> None:
    pcs = pod_clique_set(clique("b"), groups=(group("s", "b", replicas=3, minimum=2),))
    expansion = expand(pcs, {"w-0-s": 1})
    assert [g.replicas for g in expansion.groups] == [1]
    assert gangs_of(expansion) == {"w-0": ["w-0-s-0-b"]}
    assert gangs_of(expand(pcs, {"w-0-s": 0})) == {"w-0": []}


def test_a_set_of_no_replicas_is_nothing() -> None:
    pcs = pod_clique_set(clique("a"), replicas=0)
    assert expand(pcs, {}) == Expansion((), (), ())


def test_what_should_not_exist_is_not_found() -> None:
    expansion = expand(worked_example(), {})
    assert gang_named(expansion, "w-1") is None
    assert clique_named(expansion, "w-0-b") is None
    assert cliques_of_group(expansion, "w-0-t") == ()


def test_a_clique_without_a_minimum_needs_all_its_pods() -> None:
    assert min_available(clique("a", 3)) == 3
    assert min_available(clique("a", 3, 2)) == 2


def test_cliques_that_would_share_a_name_are_reported() -> None:
    clash = pod_clique_set(clique("s-0-b"), clique("b"), groups=(group("s", "b"),))
    assert clashing_names(expand(clash, {})) == ("w-0-s-0-b",)
    assert clashing_names(expand(worked_example(), {})) == ()


@QUICK
@given(st.data(), workloads())
def test_every_clique_is_in_the_one_gang_that_it_names(
    data: st.DataObject, pcs: PodCliqueSet
) -> None:
    expansion = expand(pcs, data.draw(live_sizes(pcs)))
    members = [(gang.name, member) for gang in expansion.gangs for member in gang.cliques]
    assert Counter(m.name for _, m in members) == Counter(c.name for c in expansion.cliques)
    for gang, member in members:
        assert member.gang == gang


@QUICK
@given(st.data(), workloads())
def test_names_are_unique_dns_labels(data: st.DataObject, pcs: PodCliqueSet) -> None:
    expansion = expand(pcs, data.draw(live_sizes(pcs)))
    for made in (expansion.cliques, expansion.groups, expansion.gangs):
        found = [instance.name for instance in made]
        assert len(set(found)) == len(found)
        assert all(DNS_LABEL.fullmatch(name) for name in found)


@QUICK
@given(st.data(), workloads())
def test_sizes_add_up(data: st.DataObject, pcs: PodCliqueSet) -> None:
    expansion = expand(pcs, data.draw(live_sizes(pcs)))
    for made in expansion.groups:
        members = cliques_of_group(expansion, made.name)
        assert len(members) == made.replicas * len(made.config.clique_names)
        in_base = [m for m in members if m.base_gang is None]
        assert len(in_base) == made.minimum * len(made.config.clique_names)
    grouped = sum(len(cliques_of_group(expansion, g.name)) for g in expansion.groups)
    assert grouped + len(standalone_cliques(expansion)) == len(expansion.cliques)


@QUICK
@given(st.data(), workloads())
def test_expanding_is_repeatable_and_changes_nothing(
    data: st.DataObject, pcs: PodCliqueSet
) -> None:
    sizes = data.draw(live_sizes(pcs))
    before, sizes_before = pcs.model_copy(deep=True), dict(sizes)
    first = expand(pcs, sizes)
    assert expand(pcs.model_copy(deep=True), dict(sizes)) == first
    assert (pcs, sizes) == (before, sizes_before)


@QUICK
@given(st.data(), workloads())
def test_growing_a_group_leaves_what_there_is_as_it_was(
    data: st.DataObject, pcs: PodCliqueSet
) -> None:
    drawn = expand(pcs, data.draw(live_sizes(pcs))).groups
    # Below minAvailable the base gang grows with its group.
    before = expand(pcs, {g.name: max(g.replicas, g.config.min_available) for g in drawn})
    after = expand(pcs, {g.name: g.replicas + 1 for g in before.groups})
    kept = gangs_of(after)
    assert gangs_of(before).items() <= kept.items()


def test_a_set_that_just_fits_is_expanded_whole() -> None:
    expansion = expand(pod_clique_set(clique("a", 2), replicas=MOST_PODS // 2), {})
    assert expansion.too_large == ""
    assert len(expansion.gangs) == MOST_PODS // 2


@pytest.mark.parametrize(
    ("pcs", "live", "words"),
    [
        (
            pod_clique_set(clique("a"), replicas=10**9),
            {},
            "20000 of 1000000000 replicas have 20000",
        ),
        (
            pod_clique_set(clique("a", 10**9)),
            {},
            "0 of 1 replicas have 0, the next would have 10000",
        ),
        (
            pod_clique_set(clique("a", 3), groups=(group("g", "a", replicas=9_000),), replicas=2),
            {},
            "0 of 2 replicas have 0, the next would have 27000",
        ),
        (
            pod_clique_set(clique("a", 3), groups=(group("g", "a"),), replicas=3),
            {"w-1-g": 10**9},
            "1 of 3 replicas have 3, the next would have 3000000000",
        ),
    ],
    ids=["replicas", "pods", "copies", "copies that were scaled"],
)
def test_a_set_that_is_too_large_reports_it_and_is_expanded_as_far_as_it_fits(
    pcs: PodCliqueSet, live: dict[str, int], words: str
) -> None:
    expansion = expand(pcs, live)
    assert words in expansion.too_large
    assert expansion.too_large.startswith("a set has at most 20000 pods: ")
    assert sum(one.template.spec.replicas for one in expansion.cliques) <= MOST_PODS


def sharing(count: int, scope: str) -> list[dict[str, object]]:
    return [{"name": f"claim-{number}", "scope": scope} for number in range(count)]


@pytest.mark.parametrize(
    ("pcs", "live", "words"),
    [
        (
            pod_clique_set(clique("a"), replicas=10_000, resourceSharing=sharing(32, "PerReplica")),
            {},
            "625 of 10000 replicas have 20000, the next would have 32",
        ),
        (
            pod_clique_set(
                clique("a", 5, resourceSharing=sharing(32, "PerReplica")),
                replicas=1000,
                resourceSharing=sharing(2, "AllReplicas"),
            ),
            {},
            "124 of 1000 replicas have 19842, the next would have 160",
        ),
        (
            pod_clique_set(
                clique("a", resourceSharing=sharing(1, "AllReplicas")),
                groups=(group("g", "a", resourceSharing=sharing(31, "PerReplica")),),
                replicas=2,
            ),
            {"w-1-g": 10_000},
            "1 of 2 replicas have 32, the next would have 320000",
        ),
    ],
    ids=["of the set", "of a clique", "of a group that was scaled"],
)
def test_a_set_with_too_many_claims_reports_it_before_any_of_it_is_made(
    pcs: PodCliqueSet, live: dict[str, int], words: str
) -> None:
    expansion = expand(pcs, live)
    assert words in expansion.too_large
    assert expansion.too_large.startswith("a set has at most 20000 ResourceClaims: ")
    assert expansion.too_large.endswith(". Lower replicas, or make several sets")
    assert claims_in(pcs, expansion) <= MOST_CLAIMS


def claims_in(pcs: PodCliqueSet, expansion: Expansion) -> int:
    """The claims that are made of an expansion."""
    made = len(expansion.gangs and {gang.pcs_index for gang in expansion.gangs})
    of_set = set_claims(
        pcs.model_copy(update={"spec": pcs.spec.model_copy(update={"replicas": made})})
    )
    of_groups = (group_claims(pcs, one) for one in expansion.groups)
    of_cliques = (
        clique_claims(pcs, one, one.template.spec.replicas, ()) for one in expansion.cliques
    )
    return len(of_set) + sum(map(len, of_groups)) + sum(map(len, of_cliques))


@QUICK
@given(st.data(), workloads())
def test_no_kind_has_many_more_objects_than_the_set_has_pods(
    data: st.DataObject, pcs: PodCliqueSet
) -> None:
    expansion = expand(pcs, data.draw(live_sizes(pcs)))
    pods = sum(one.template.spec.replicas for one in expansion.cliques)
    # A group that is scaled to zero counts as one of its replicas.
    pods += sum(one.replicas == 0 for one in expansion.groups)
    counted = (expansion.cliques, expansion.groups, expansion.gangs, domains(pcs))
    assert all(len(found) <= pods for found in counted)
    assert len(list(autoscaled(expansion))) <= 2 * pods


def test_groups_that_are_scaled_to_zero_count_towards_the_limit() -> None:
    pcs = pod_clique_set(clique("a"), groups=(group("g", "a"),), replicas=20_001)
    expansion = expand(pcs, {f"w-{index}-g": 0 for index in range(20_001)})
    assert len(expansion.groups) == 20_000
    assert expansion.too_large.startswith("a set has at most 20000 pods: ")
