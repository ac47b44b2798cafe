"""Each gang says where its pods go, at the right level and in node labels."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.layout.expansion import expand, gang_named
from core_operator.plan.manifests.podgangs import gang_manifest
from core_operator.plan.placement.backends import Choice, RegisteredBackend
from core_operator.plan.placement.gang_placement import (
    UNPLACED,
    GangPlacement,
    GroupSet,
    PackLabels,
    current_placement,
    wanted_placement,
    with_ignored_preferences,
    with_topology,
)
from core_operator.plan.placement.topology import resolve
from shared_api import names
from shared_api.models import PodCliqueSet, PodGang
from tests.plan.samples import QUICK, chosen, clique, group, pod_clique_set, record

LEVELS = {domain: f"topo/{domain}" for domain in ("zone", "block", "rack", "host")}
BLOCK, RACK, HOST = PackLabels("topo/block"), PackLabels("topo/rack"), PackLabels("topo/host")


def asks(required: str | None = None, preferred: str | None = None) -> dict[str, Any]:
    pack = {"required": required, "preferred": preferred}
    return {
        "topologyConstraint": {
            "topologyName": "net",
            "pack": {strength: domain for strength, domain in pack.items() if domain},
        }
    }


def placed(
    pcs: PodCliqueSet, gang: str = "w-0", levels: dict[str, str] | None = None
) -> GangPlacement:
    instance = gang_named(expand(pcs, {}), gang)
    assert instance is not None
    return wanted_placement(pcs, instance, resolve(pcs, LEVELS if levels is None else levels))


def two_groups(**template: Any) -> PodCliqueSet:
    """A router, and copies of decoders and prefillers of which one each is in the base gang."""
    return pod_clique_set(
        clique("router", 2),
        clique("leader"),
        clique("worker"),
        clique("prefill", **asks("host")),
        groups=(
            group("d", "leader", "worker", replicas=2, **asks("rack")),
            group("p", "prefill", replicas=2, **asks("rack")),
        ),
        **template,
    )


def test_a_set_without_constraints_is_scheduled_anywhere() -> None:
    assert placed(pod_clique_set(clique("a"))) == UNPLACED


def test_each_level_goes_where_it_belongs() -> None:
    assert placed(two_groups(**asks("block"))) == GangPlacement(
        "net",
        BLOCK,
        (
            GroupSet("w-0-d-0", ("w-0-d-0-leader", "w-0-d-0-worker"), RACK),
            GroupSet("w-0-p-0", ("w-0-p-0-prefill",), RACK),
        ),
        {"w-0-p-0-prefill": HOST},
    )


def test_every_replica_of_a_group_in_the_base_gang_is_kept_together_by_itself() -> None:
    pcs = pod_clique_set(
        clique("a"), groups=(group("s", "a", replicas=3, minimum=2, **asks("rack")),)
    )
    assert [(s.name, s.groups) for s in placed(pcs).group_sets] == [
        ("w-0-s-0", ("w-0-s-0-a",)),
        ("w-0-s-1", ("w-0-s-1-a",)),
    ]
    assert placed(pcs, "w-0-s-0") == GangPlacement("net", RACK)


@pytest.mark.parametrize(
    ("of_set", "of_group", "scaled"),
    [
        (asks("block"), {}, BLOCK),
        (asks("block"), asks("rack"), RACK),
        ({}, asks("rack", "host"), PackLabels("topo/rack", "topo/host")),
        # What the set requires stays required, though the group only prefers something.
        (asks("block", "rack"), asks(None, "host"), PackLabels("topo/block", "topo/host")),
        (asks("zone", "host"), asks("block"), PackLabels("topo/block", "topo/host")),
        # Narrower than what the set prefers: the preference would say nothing more.
        (asks("zone", "block"), asks("rack"), RACK),
    ],
)
def test_a_scaled_gang_is_a_group_replica_inside_what_the_set_asks_for(
    of_set: dict[str, Any], of_group: dict[str, Any], scaled: PackLabels
) -> None:
    pcs = pod_clique_set(clique("a"), groups=(group("s", "a", replicas=2, **of_group),), **of_set)
    assert placed(pcs, "w-0-s-0") == GangPlacement("net", scaled)


def test_a_preference_without_a_level_is_left_out_and_what_is_required_is_not() -> None:
    pcs = pod_clique_set(clique("a", **asks("rack", "numa")), clique("b", **asks(None, "numa")))
    assert placed(pcs) == GangPlacement("net", groups={"w-0-a": RACK})
    assert placed(pod_clique_set(clique("a"), **asks(None, "numa"))) == UNPLACED


def test_half_of_what_is_required_is_not_reported() -> None:
    assert placed(two_groups(**asks("block")), levels={"rack": "r", "host": "h"}) == UNPLACED


def test_a_gang_reports_in_its_spec_what_its_placement_is() -> None:
    pcs = two_groups(**asks("block", "rack"))
    instance = gang_named(expand(pcs, {}), "w-0")
    assert instance is not None
    manifest = gang_manifest(pcs, instance, chosen("b", "s"), placement=placed(pcs))
    gang = PodGang.model_validate(manifest)
    assert gang.metadata.annotations == {"grove.io/topology-name": "net"}
    spec = manifest["spec"]
    assert isinstance(spec, dict)
    assert spec["topologyConstraint"] == {
        "packConstraint": {"required": "topo/block", "preferred": "topo/rack"}
    }
    assert spec["topologyConstraintGroupConfigs"] == [
        {
            "name": "w-0-d-0",
            "podGroupNames": ["w-0-d-0-leader", "w-0-d-0-worker"],
            "topologyConstraint": {"packConstraint": {"required": "topo/rack"}},
        },
        {
            "name": "w-0-p-0",
            "podGroupNames": ["w-0-p-0-prefill"],
            "topologyConstraint": {"packConstraint": {"required": "topo/rack"}},
        },
    ]
    assert [g.manifest().get("topologyConstraint") for g in gang.spec.podgroups] == [
        None,
        None,
        None,
        {"packConstraint": {"required": "topo/host"}},
    ]


FULL = RegisteredBackend(
    "full", record("", capabilities=("Gang", "TopologyPreferredGroup")), True, ""
)
PLAIN = RegisteredBackend("plain", record(""), True, "")
CHOICE = Choice("plain", "s", ok=True, reason=names.REASON_SELECTED, message="by default")


def test_a_gang_that_cannot_say_where_it_must_go_is_given_to_nobody() -> None:
    pcs = pod_clique_set(clique("a"), **asks("rack"))
    held = with_topology(CHOICE, pcs, resolve(pcs, None), {"plain": PLAIN})
    assert (held.backend, held.ok, held.scheduler_name) == (None, False, "s")
    assert (held.reason, held.message) == (
        "ClusterTopologyNotFound",
        "ClusterTopologyBinding 'net' does not exist: create it, or change topologyName",
    )
    dead = Choice("plain", "s", ok=False, reason="BackendUnavailable", message="it is dead")
    both = with_topology(dead, pcs, resolve(pcs, None), {"plain": PLAIN})
    assert (
        both.message
        == "ClusterTopologyBinding 'net' does not exist: create it, or change topologyName; it is dead"
    )
    assert with_topology(CHOICE, pcs, resolve(pcs, LEVELS), {"plain": PLAIN}) == CHOICE


def test_preferences_that_a_backend_does_not_look_at_are_reported_with_the_choice() -> None:
    pcs = pod_clique_set(clique("a", **asks(None, "rack")))
    told = with_ignored_preferences(CHOICE, pcs, {"plain": PLAIN})
    assert told.ok
    assert told.message == (
        "by default; backend 'plain' ignores preferences: TopologyPreferredGroup"
    )
    full = Choice("full", "s", ok=True, reason=names.REASON_SELECTED, message="by default")
    assert with_ignored_preferences(full, pcs, {"full": FULL}) == full


PACKS = st.sampled_from(
    [
        asks(),
        *(asks(r, p) for r in (None, "block", "rack") for p in (None, "host", "numa") if r or p),
    ]
)


@st.composite
def constrained(draw: st.DrawFn) -> PodCliqueSet:
    def maybe() -> dict[str, Any]:
        return draw(PACKS) if draw(st.booleans()) else {}

    return pod_clique_set(
        clique("a", **_legal(maybe())),
        clique("b", **_legal(maybe())),
        clique("c", **_legal(maybe())),
        groups=(group("s", "b", "c", replicas=draw(st.integers(1, 3)), **_legal(maybe())),),
        replicas=draw(st.integers(1, 2)),
        **_legal(maybe()),
    )


def _legal(fields: dict[str, Any]) -> dict[str, Any]:
    return fields if fields != asks() else {}


def everything(placement: GangPlacement) -> Iterator[PackLabels]:
    if placement.gang is not None:
        yield placement.gang
    yield from (group_set.pack for group_set in placement.group_sets)
    yield from placement.groups.values()


@QUICK
@given(constrained())
def test_what_is_written_is_read_back_and_names_only_groups_of_the_gang(pcs: PodCliqueSet) -> None:
    topology = resolve(pcs, LEVELS)
    for instance in expand(pcs, {}).gangs:
        placement = wanted_placement(pcs, instance, topology)
        manifest = gang_manifest(pcs, instance, chosen("b", "s"), placement=placement)
        assert current_placement(PodGang.model_validate(manifest)) == placement
        named = {n for group_set in placement.group_sets for n in group_set.groups}
        assert named | set(placement.groups) <= {member.name for member in instance.cliques}
        keys = {key for pack in everything(placement) for key in (pack.required, pack.preferred)}
        assert keys <= {None, *LEVELS.values()}
        assert bool(placement.topology) == (placement != UNPLACED)
        if topology.blocks_gangs:
            assert placement == UNPLACED
