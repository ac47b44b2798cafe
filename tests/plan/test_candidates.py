"""Which instances may have a gang, in which order, and what is said about each."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core_operator.plan.placement.backends import RegisteredBackend
from core_operator.plan.placement.candidates import Ranking, Why
from core_operator.plan.placement.capacity import capacity_of
from core_operator.plan.placement.demand import GangDemand, PodDemand
from shared_api import names
from shared_api.models import BackendInventorySpec, BackendSelector, PlacementPolicySpec
from tests.plan.placement_samples import NOW, backend, policy, ranking_among, ranking_of

CPU, GPU = Fraction(4), Fraction(8)
PODS = (PodDemand(2, (("cpu", CPU), ("nvidia.com/gpu", GPU))),)
DEMAND = GangDemand(frozenset({names.CAPABILITY_GANG}), (), PODS)


def inventory(
    *rows: tuple[str, str, int], zone: str | None = None, omitted: int = 0
) -> BackendInventorySpec:
    listed = [
        {
            "shape": {"cpu": cpu, "gpu": {"count": int(gpu)}},
            "total": total,
            **({"location": {"zone": zone}} if zone else {}),
        }
        for cpu, gpu, total in rows
    ]
    more = {"omitted": omitted} if omitted else {}
    return BackendInventorySpec.model_validate({"observedAt": NOW, "rows": listed, **more})


def order(found: Ranking) -> list[str]:
    return [one.name for one in found.candidates]


def why(found: Ranking, name: str) -> str:
    passed = found.passed(name)
    assert passed is not None
    return passed.text


def test_weights_decide_the_order_and_names_decide_between_equals() -> None:
    wish = policy(
        candidates={"preferred": [{"name": "b", "weight": 5}, {"kind": "x", "weight": 9}]}
    )
    found = ranking_of(
        wish, DEMAND, backend("a"), backend("b"), backend("c", kind="x"), backend("d")
    )
    assert order(found) == ["c", "b", "a", "d"]
    assert [one.text for one in found.candidates[:3]] == ["weight 9", "weight 5", "no weight"]


def test_without_weights_the_order_of_required_counts() -> None:
    wish = policy(candidates={"required": [{"name": "b"}, {"name": "a"}]})
    found = ranking_of(wish, DEMAND, backend("a"), backend("b"), backend("c"))
    assert order(found) == ["b", "a"]
    assert why(found, "c") == "it is not among those that the policy requires"


def test_what_is_avoided_is_never_a_candidate_whatever_else_is_reported() -> None:
    labels = {"tier": "spot"}
    wish = policy(
        candidates={"avoid": [{"labels": labels}], "preferred": [{"name": "a", "weight": 9}]}
    )
    found = ranking_of(wish, DEMAND, backend("a", labels=labels), backend("b"))
    assert order(found) == ["b"]
    assert why(found, "a") == "the policy avoids it"


def test_residency_excludes_instances_elsewhere_and_those_whose_place_is_unknown() -> None:
    wish = policy(location={"regions": ["eu-west"]})
    found = ranking_of(
        wish,
        DEMAND,
        backend("here", location={"region": "eu-west"}),
        backend("there", location={"region": "us-east"}),
        backend("unknown"),
    )
    assert order(found) == ["here"]
    assert why(found, "there") == "its region is us-east, the policy allows eu-west"
    assert why(found, "unknown") == "its region is unknown, the policy allows eu-west"


def test_every_machine_of_an_instance_must_be_where_the_policy_allows() -> None:
    wish = policy(location={"zones": ["a"]})
    rows = inventory(("8", "8", 3), zone="a").rows + inventory(("8", "8", 1), zone="b").rows
    mixed = BackendInventorySpec.model_validate({"observedAt": NOW, "rows": rows})
    around = {"m": capacity_of(mixed), "n": capacity_of(inventory(("8", "8", 3), zone="a"))}
    found = ranking_among(wish, DEMAND, {"m": backend("m"), "n": backend("n")}, around)
    assert order(found) == ["n"]
    assert why(found, "m") == "its zone is b, the policy allows a"


def test_the_lowest_known_price_wins_and_an_unknown_one_comes_last() -> None:
    wish = policy(objective="Cost", candidates={"preferred": [{"name": "unknown", "weight": 100}]})
    found = ranking_of(
        wish,
        DEMAND,
        backend("dear", price={"perGpuHour": "3", "perCpuHour": "0"}),
        backend("cheap", price={"perGpuHour": "2.5", "perCpuHour": "0.01"}),
        backend("unknown"),
        backend("euros", price={"perGpuHour": "1", "perCpuHour": "0", "currency": "EUR"}),
        backend("gpu-only", price={"perGpuHour": "1"}),
    )
    assert order(found) == ["cheap", "dear", "unknown", "euros", "gpu-only"]
    assert found.candidates[0].text == "40.08 USD/h"
    assert found.candidates[-1].text == "price unknown"


def test_a_price_cap_excludes_what_is_dearer_or_unknown() -> None:
    wish = policy(maxHourlyCost="40")
    found = ranking_of(
        wish,
        DEMAND,
        backend("dear", price={"perGpuHour": "3", "perCpuHour": "0"}),
        backend("cheap", price={"perGpuHour": "2.5", "perCpuHour": "0"}),
        backend("unknown"),
    )
    assert order(found) == ["cheap"]
    assert why(found, "dear") == "the gang costs 48.00 USD/h, at most 40 USD/h are allowed"
    assert why(found, "unknown") == "its price is unknown, at most 40 USD/h are allowed"


def test_an_instance_without_a_machine_that_is_large_enough_is_passed_over() -> None:
    around = {
        "small": capacity_of(inventory(("64", "4", 100))),
        "apart": capacity_of(inventory(("64", "0", 9), ("1", "8", 9))),
        "large": capacity_of(inventory(("64", "8", 1))),
    }
    known = {name: backend(name) for name in ("small", "apart", "large", "unknown")}
    found = ranking_among(policy(), DEMAND, known, around)
    assert order(found) == ["large", "unknown"]
    assert why(found, "small") == "a pod requests 8 nvidia.com/gpu, its largest machine has 4"
    assert why(found, "apart") == "no machine has all that a pod requests: 4 cpu, 8 nvidia.com/gpu"


def test_an_instance_whose_machines_are_all_in_use_is_not_passed_over() -> None:
    rows = inventory(("64", "8", 3), ("64", "0", 9)).rows
    used = [{**row.manifest(), "free": 0} for row in rows]
    spec = BackendInventorySpec.model_validate({"observedAt": NOW, "rows": used})
    around = {"used": capacity_of(spec)}
    assert order(ranking_among(policy(), DEMAND, {"used": backend("used")}, around)) == ["used"]


def test_shapes_that_an_inventory_leaves_out_are_unknown_and_refuse_nothing_by_size() -> None:
    rows = inventory(("64", "4", 100), zone="a", omitted=3)
    around = {"vast": capacity_of(rows)}
    assert order(ranking_among(policy(), DEMAND, {"vast": backend("vast")}, around)) == ["vast"]
    found = ranking_among(
        policy(location={"zones": ["a"]}), DEMAND, {"vast": backend("vast")}, around
    )
    assert why(found, "vast") == "its zone is unknown, the policy allows a"
    priced = [
        {**row.manifest(), "price": {"perGpuHour": "1", "perCpuHour": "1"}} for row in rows.rows
    ]
    for omitted, name in ((None, "known"), (3, "vast")):
        spec = {"observedAt": NOW, "rows": priced, "omitted": omitted}
        around[name] = capacity_of(
            BackendInventorySpec.model_validate({k: v for k, v in spec.items() if v is not None})
        )
    known = {name: backend(name) for name in around}
    small = replace(DEMAND, pods=(PodDemand(1, (("nvidia.com/gpu", Fraction(1)),)),))
    found = ranking_among(policy(maxHourlyCost="100"), small, known, around)
    assert order(found) == ["known"]
    assert why(found, "vast").startswith("its price is unknown")


def test_performance_prefers_the_instance_that_holds_the_gang_most_often() -> None:
    around = {
        "few": capacity_of(inventory(("64", "8", 2))),
        "many": capacity_of(inventory(("64", "16", 9))),
    }
    known = {name: backend(name) for name in ("few", "many", "unknown")}
    found = ranking_among(policy(objective="Performance"), DEMAND, known, around)
    assert order(found) == ["many", "few", "unknown"]
    assert found.candidates[0].text == "holds the gang 9 times"


def test_locality_prefers_the_neighbours_of_the_base_gang() -> None:
    known = {
        one.name: one
        for one in (
            backend("far", location={"region": "us"}),
            backend("zone", location={"region": "eu", "zone": "a"}),
            backend("region", location={"region": "eu", "zone": "b"}),
            backend("base", location={"region": "eu", "zone": "a"}),
        )
    }
    found = ranking_among(policy(objective="Locality"), DEMAND, known, anchor="base")
    assert order(found) == ["base", "zone", "region", "far"]
    assert found.candidates[1].text == "same zone as the base gang"


def test_cliques_that_name_a_scheduler_stay_with_it() -> None:
    demand = replace(DEMAND, schedulers=("a-scheduler",))
    found = ranking_of(policy(), demand, backend("a"), backend("b"))
    assert order(found) == ["a"]
    assert why(found, "b") == "it does not serve schedulerName a-scheduler of the cliques"


def test_what_is_down_or_incapable_is_reported_apart() -> None:
    found = ranking_of(
        policy(), DEMAND, backend("down", available=False), backend("weak", capabilities=())
    )
    assert [(one.name, one.why) for one in found.passed_over] == [
        ("down", Why.DOWN),
        ("weak", Why.INCAPABLE),
    ]


NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
SELECTORS = st.one_of(
    st.builds(
        lambda kind, tier: {"kind": kind, "labels": {"tier": tier}},
        st.sampled_from(["x", "y"]),
        st.sampled_from(["spot", "own"]),
    ),
    st.builds(lambda name: {"name": name}, NAMES),
    st.builds(lambda kind: {"kind": kind}, st.sampled_from(["x", "y"])),
    st.builds(lambda tier: {"labels": {"tier": tier}}, st.sampled_from(["spot", "own"])),
)
PRICES = st.none() | st.builds(
    lambda gpu, cpu, currency: {"perGpuHour": gpu, "perCpuHour": cpu, "currency": currency},
    st.sampled_from(["0", "0.5", "2", "999999999.999999"]),
    st.sampled_from(["0", "0.01"]),
    st.sampled_from(["USD", "EUR"]),
)
POLICIES = st.fixed_dictionaries(
    {
        "objective": st.sampled_from(["Order", "Cost", "Performance", "Locality"]),
        "candidates": st.fixed_dictionaries(
            {
                "required": st.lists(SELECTORS, max_size=3),
                "avoid": st.lists(SELECTORS, max_size=2),
                "preferred": st.lists(
                    st.builds(lambda s, w: {**s, "weight": w}, SELECTORS, st.integers(1, 100)),
                    max_size=3,
                ),
            }
        ),
    },
    optional={
        "maxHourlyCost": st.sampled_from(["0", "10", "100000"]),
        "location": st.just({"regions": ["eu"]}),
    },
)


World = tuple[PlacementPolicySpec, dict[str, Any], dict[str, Any], str | None]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    known = {}
    capacities = {}
    for name in draw(st.sets(NAMES)):
        known[name] = backend(
            name,
            kind=draw(st.sampled_from(["x", "y"])),
            labels={"tier": draw(st.sampled_from(["spot", "own"]))},
            location=draw(st.none() | st.sampled_from([{"region": "eu"}, {"region": "us"}])),
            price=draw(PRICES),
            available=draw(st.booleans()),
        )
        if draw(st.booleans()):
            capacities[name] = capacity_of(inventory(("64", draw(st.sampled_from("048")), 2)))
    anchor = draw(st.none() | NAMES)
    return policy(**draw(POLICIES)), known, capacities, anchor


def is_meant(selector: BackendSelector, one: RegisteredBackend) -> bool:
    """Tell whether a selector means an instance, in other words than the decision."""
    given_ = selector.manifest()
    has: dict[str, Any] = {"name": one.name, "kind": one.kind}
    wanted: Any = given_.pop("labels", {})
    given_.pop("weight", None)
    return given_.items() <= has.items() and wanted.items() <= dict(one.labels).items()


@given(worlds())
def test_no_forbidden_instance_is_ever_a_candidate_and_each_has_one_sentence(
    world: World,
) -> None:
    wish, known, around, anchor = world
    found = ranking_among(wish, DEMAND, known, around, anchor)
    told = order(found) + [one.name for one in found.passed_over]
    assert sorted(told) == sorted(known)
    assert all(one.text for one in found.candidates)
    assert all(one.text for one in found.passed_over)
    for name in order(found):
        one = known[name]
        assert one.available
        if wish.location is not None:
            assert one.record.location is not None
            assert one.record.location.region == "eu"
        if wish.max_hourly_cost is not None:
            price = one.record.price
            assert (price.currency, price.per_gpu_hour is None) == ("USD", False)
            cost = 16 * Decimal(price.per_gpu_hour) + 8 * Decimal(price.per_cpu_hour)
            assert cost <= Decimal(wish.max_hourly_cost)
        listed = wish.candidates
        assert not any(is_meant(selector, one) for selector in listed.avoid)
        assert not listed.required or any(is_meant(selector, one) for selector in listed.required)
        if name in around:
            machines = zip(around[name].counts, around[name].shapes, strict=True)
            assert any(
                count and shape.amounts["nvidia.com/gpu"] >= 8000 for count, shape in machines
            )
    shuffled = dict(sorted(known.items(), reverse=True))
    assert ranking_among(wish, DEMAND, shuffled, around, anchor) == found, (
        "the order of records does not matter"
    )


@given(worlds())
def test_under_cost_an_unknown_price_never_wins_over_a_known_one(
    world: World,
) -> None:
    wish, known, around, anchor = world
    found = ranking_among(
        wish.model_copy(update={"objective": "Cost"}), DEMAND, known, around, anchor
    )
    unknown = [one.text == "price unknown" for one in found.candidates]
    assert unknown == sorted(unknown)


@given(worlds(), NAMES, st.integers(1, 100))
def test_a_higher_weight_never_moves_a_candidate_back(world: World, name: str, weight: int) -> None:
    wish, known, around, anchor = world
    before = order(ranking_among(wish, DEMAND, known, around, anchor))
    given_ = wish.manifest()
    candidates: Any = given_.setdefault("candidates", {})
    candidates["preferred"] = [*candidates.get("preferred", []), {"name": name, "weight": weight}]
    after = order(
        ranking_among(PlacementPolicySpec.model_validate(given_), DEMAND, known, around, anchor)
    )
    assert sorted(before) == sorted(after)
    if name in before:
        assert after.index(name) <= before.index(name)
