"""What the condition BackendSelected says about the choice of a placement policy."""

from dataclasses import fields
from typing import Any

import pytest
from pydantic import ValidationError

from core_operator.plan.placement.backends import Choice, RegisteredBackend
from core_operator.plan.placement.demand import GangDemand
from core_operator.plan.placement.policy_choice import NamedPolicy, policy_choice, without_policy
from core_operator.state.caches import CoreCaches
from core_operator.state.placements import Placements
from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.unreadable import Unreadable
from shared_api.models import PlacementPolicySpec, SchedulerBackendSpec
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Undecoded
from tests.core import stand_in
from tests.plan.placement_samples import backend, policy, ranking_of
from tests.plan.samples import clique, pod_clique_set

PCS = pod_clique_set(clique("a"))
DEMAND = GangDemand(frozenset({names.CAPABILITY_GANG}))


def chosen(
    wish: PlacementPolicySpec, *known: RegisteredBackend, with_: str | None = None
) -> Choice:
    ranking = ranking_of(wish, DEMAND, *known)
    return policy_choice(
        PCS, NamedPolicy("p", wish), ranking, {one.name: one for one in known}, with_
    )


def test_names_and_kinds_that_no_backend_has_are_reported() -> None:
    wish = policy(
        candidates={
            "required": [{"name": "kia"}, {"kind": "slurm"}],
            "avoid": [{"name": "ec-2"}, {"kind": "ec2"}],
        }
    )
    found = chosen(wish, backend("kai"))
    assert (found.ok, found.reason) == (False, names.REASON_NO_CANDIDATE)
    assert found.message == (
        "PlacementPolicy 'p' leaves no backend. Change it, or add an instance."
        " No backend matches name 'kia', kind 'slurm', name 'ec-2'."
        " Passed over: kai: it is not among those that the policy requires"
    )


def test_a_name_that_no_backend_has_is_reported_beside_the_one_that_was_chosen() -> None:
    preferred = [{"name": "kai", "weight": 9}, {"labels": {"tier": "own"}, "weight": 1}]
    found = chosen(policy(candidates={"preferred": preferred}), backend("kai"), with_="kai")
    assert found.ok
    assert found.message == (
        "backend 'kai' by PlacementPolicy 'p', weight 9; no backend matches tier 'own'"
    )


def test_a_policy_without_any_backend_is_no_error_of_ours() -> None:
    found = chosen(policy())
    assert found.message.endswith(
        "leaves no backend. Change it, or add an instance. Passed over: none"
    )


def test_a_policy_that_cannot_be_read_is_told_apart_from_one_that_does_not_exist() -> None:
    caches = CoreCaches(*(Cache() for one in fields(CoreCaches) if not one.kw_only))
    metadata = Metadata(
        name="p", namespace=PCS.metadata.namespace or "", uid="u", resource_version="1"
    )
    placements = Placements(caches, default="team/p")
    absent = placements.policy_of(PCS)
    named = PCS.model_copy(
        update={
            "metadata": PCS.metadata.model_copy(
                update={"annotations": {names.ANNOTATION_PLACEMENT_POLICY: "p"}}
            )
        }
    )
    caches.policies.take(Undecoded(Unreadable(metadata, "spec.objective: unknown 'Speed'")))
    unreadable = placements.policy_of(named)
    assert absent is not None
    assert unreadable is not None
    told = [without_policy(PCS, one, "kai", None) for one in (absent, unreadable)]
    assert [(one.backend, one.ok, one.reason) for one in told] == 2 * [
        ("kai", False, names.REASON_POLICY_NOT_FOUND)
    ]
    assert told[0].message == (
        "PlacementPolicy 'team/p' does not exist: create it, or change core's setting"
        " backends.defaultPolicy, or set the annotation grove.io/placement-policy"
    )
    assert told[1].message.startswith(
        "PlacementPolicy p cannot be read: spec.objective: unknown 'Speed'. Correct it"
    )


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-1", "1e400", "", "forty", 40])
def test_what_is_no_price_does_not_reach_a_decision(text: Any) -> None:
    with pytest.raises(ValidationError):
        policy(maxHourlyCost=text)
    record = stand_in.record("b", price={"perGpuHour": text})["spec"]
    with pytest.raises(ValidationError):
        SchedulerBackendSpec.model_validate(record)
