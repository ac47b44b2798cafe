"""What a set asks of the topology is told whole, held back or reported, and never lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.placement.topology import (
    UNCONSTRAINED,
    Topology,
    preferred_capabilities,
    required_capabilities,
    resolve,
    topology_name,
)
from shared_api import names
from shared_api.models import PodCliqueSet, TopologyConstraint
from tests.plan.samples import QUICK, clique, group, pod_clique_set

LEVELS = {"zone": "example.com/zone", "block": "example.com/block", "rack": "example.com/rack"}
HAS = "ClusterTopologyBinding 'net' has the levels zone, block, rack"


def asks(
    required: str | None = None, preferred: str | None = None, name: str = ""
) -> dict[str, Any]:
    pack = {"required": required, "preferred": preferred}
    constraint: dict[str, Any] = {"pack": {k: v for k, v in pack.items() if v}}
    return {**constraint, "topologyName": name} if name else constraint


def grouped(
    of_set: object = None, of_group: object = None, of_clique: object = None
) -> PodCliqueSet:
    """A set with a clique `a` in a scaling group `s`, constrained where something is given."""
    on: dict[str, Any] = {"topologyConstraint": of_clique} if of_clique else {}
    around: dict[str, Any] = {"topologyConstraint": of_group} if of_group else {}
    above: dict[str, Any] = {"topologyConstraint": of_set} if of_set else {}
    return pod_clique_set(clique("a", **on), groups=(group("s", "a", **around),), **above)


def test_a_set_without_constraints_asks_for_nothing() -> None:
    assert resolve(grouped(), None) == UNCONSTRAINED
    assert resolve(grouped(), LEVELS) == UNCONSTRAINED
    assert not UNCONSTRAINED.is_constrained


@pytest.mark.parametrize(
    "pcs",
    [
        grouped(asks("rack", name="net")),
        grouped(None, asks("rack", name="net")),
        grouped(None, None, asks("rack", name="net")),
        grouped(asks("zone", name="net"), asks("block"), asks("rack", name="net")),
    ],
)
def test_the_binding_may_be_named_at_any_level(pcs: PodCliqueSet) -> None:
    assert topology_name(pcs) == "net"
    found = resolve(pcs, LEVELS)
    assert (found.name, found.keys, found.blocks_gangs) == ("net", LEVELS, False)
    assert (found.unavailable, found.reason) == (False, names.REASON_LEVELS_AVAILABLE)
    assert found.message == HAS


CASES = {
    "no binding": (
        grouped(asks("rack", name="net")),
        None,
        (None, names.REASON_TOPOLOGY_BINDING_NOT_FOUND, True),
        "ClusterTopologyBinding 'net' does not exist: create it, or change topologyName",
    ),
    "no binding for a preference": (
        grouped(asks(None, "rack", name="net")),
        None,
        (None, names.REASON_TOPOLOGY_BINDING_NOT_FOUND, False),
        "ClusterTopologyBinding 'net' does not exist: create it, or change topologyName",
    ),
    "no name": (
        grouped(None, {"packDomain": "rack"}),
        None,
        (None, names.REASON_TOPOLOGY_NAME_MISSING, True),
        "scaling group s has a topology constraint without a topologyName: set it",
    ),
    "no such level": (
        grouped(asks("pod", name="net"), None, asks("rack", "host")),
        LEVELS,
        (True, names.REASON_LEVELS_UNAVAILABLE, True),
        f"no level pod, which the set requires; no level host, which clique a prefers; {HAS}",
    ),
    "no such level for a preference": (
        grouped(None, asks("rack", "host", name="net")),
        LEVELS,
        (True, names.REASON_LEVELS_UNAVAILABLE, False),
        f"no level host, which scaling group s prefers; {HAS}",
    ),
    "clique broader than its group": (
        grouped(asks("zone", name="net"), asks("rack"), asks("block")),
        LEVELS,
        (True, names.REASON_LEVELS_REVERSED, True),
        f"clique a requires block, broader than rack of scaling group s; {HAS}",
    ),
    "group broader than its set": (
        grouped(asks("rack", name="net"), asks("zone")),
        LEVELS,
        (True, names.REASON_LEVELS_REVERSED, True),
        f"scaling group s requires zone, broader than rack of the set; {HAS}",
    ),
    "clique broader than its set": (
        grouped(asks("block", name="net"), None, asks("zone")),
        LEVELS,
        (True, names.REASON_LEVELS_REVERSED, True),
        f"clique a requires zone, broader than block of the set; {HAS}",
    ),
    "preference broader than the one above": (
        grouped(asks(None, "rack", name="net"), asks(None, "block")),
        LEVELS,
        (True, names.REASON_LEVELS_REVERSED, False),
        f"scaling group s prefers block, broader than rack of the set; {HAS}",
    ),
    "preference that follows from the requirement": (
        grouped(asks("rack", "zone", name="net")),
        LEVELS,
        (False, names.REASON_LEVELS_AVAILABLE, False),
        f"{HAS}; the set prefers zone, which follows from rack that it requires",
    ),
    "equal levels, and a preference against a requirement": (
        grouped(asks("rack", name="net"), asks("rack"), asks(None, "block")),
        LEVELS,
        (False, names.REASON_LEVELS_AVAILABLE, False),
        HAS,
    ),
}


@pytest.mark.parametrize(("pcs", "levels", "verdict", "message"), CASES.values(), ids=list(CASES))
def test_what_cannot_be_told_is_said_and_holds_only_what_is_required(
    pcs: PodCliqueSet,
    levels: dict[str, str] | None,
    verdict: tuple[bool | None, str, bool],
    message: str,
) -> None:
    found = resolve(pcs, levels)
    assert (found.unavailable, found.reason, found.blocks_gangs) == verdict
    assert found.message == message


def test_each_level_and_strength_is_a_word_for_backends() -> None:
    required = grouped(asks("zone", name="net"), asks("block"), asks("rack"))
    assert required_capabilities(required) == {
        "TopologyRequiredGang",
        "TopologyRequiredGroupSet",
        "TopologyRequiredGroup",
    }
    assert preferred_capabilities(required) == frozenset()
    # A group's replicas above its minimum are gangs of their own.
    preferred = grouped(None, asks(None, "rack", name="net"))
    assert preferred_capabilities(preferred) == {
        "TopologyPreferredGang",
        "TopologyPreferredGroupSet",
    }
    assert preferred_capabilities(grouped(None, None, asks(None, "rack"))) == {
        "TopologyPreferredGroup"
    }
    assert required_capabilities(preferred) == frozenset()


DOMAINS = st.sampled_from(["zone", "block", "rack", "host", "numa"])
CONSTRAINTS = st.none() | st.builds(
    asks, DOMAINS, st.none() | DOMAINS, st.sampled_from(["", "net"])
)
BINDINGS = st.none() | st.permutations(["zone", "block", "rack", "host"]).flatmap(
    lambda all_: st.integers(1, 4).map(lambda n: {d: f"example.com/{d}" for d in all_[:n]})
)


@QUICK
@given(CONSTRAINTS, CONSTRAINTS, CONSTRAINTS, BINDINGS)
def test_a_gang_is_held_exactly_if_something_required_cannot_be_told(
    of_set: object, of_group: object, of_clique: object, levels: dict[str, str] | None
) -> None:
    pcs = grouped(of_set, of_group, of_clique)
    found = resolve(pcs, levels)
    template = pcs.spec.template
    constraints = [
        template.topology_constraint,
        template.pod_clique_scaling_groups[0].topology_constraint,
        template.cliques[0].topology_constraint,
    ]
    required = [c.required for c in constraints if c is not None and c.required]
    assert found.is_constrained == any(constraints)
    known = found.keys if levels is not None and topology_name(pcs) else {}
    places = [list(known).index(domain) for domain in required if domain in known]
    told = len(places) == len(required) and places == sorted(places)
    assert found.blocks_gangs == (not told)
    assert found.unavailable is not False or not found.blocks_gangs
    assert _domains(constraints, found) or found.unavailable is not False


def _domains(constraints: list[TopologyConstraint | None], found: Topology) -> bool:
    """Whether all domains of the constraints have a label."""
    asked = [d for c in constraints if c is not None for d in (c.required, c.preferred) if d]
    return all(domain in found.keys for domain in asked)
