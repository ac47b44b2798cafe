"""What absent fields mean is said once, in the models."""

from datetime import UTC, datetime, timedelta

import pytest

from shared_api.models import (
    Condition,
    PodCliqueSpec,
    PodPatch,
    PodPatches,
    TopologyConstraint,
    TopologyPack,
)
from tests.contract.manifests import clique

MEMBER = PodPatch(labels={"is": "member"})
SURPLUS = PodPatch(labels={"is": "surplus"})
NOTHING = PodPatch()


@pytest.mark.parametrize(
    ("patches", "member", "surplus"),
    [
        (PodPatches(members=MEMBER, surplus=SURPLUS), MEMBER, SURPLUS),
        (PodPatches(members=MEMBER), MEMBER, MEMBER),
        (PodPatches(members=MEMBER, surplus=NOTHING), MEMBER, NOTHING),
        (PodPatches(surplus=SURPLUS), NOTHING, SURPLUS),
        (PodPatches(), NOTHING, NOTHING),
    ],
)
def test_a_surplus_pod_is_patched_as_a_member_unless_reported_otherwise(
    patches: PodPatches, member: PodPatch, surplus: PodPatch
) -> None:
    assert patches.of_pod(1, 2) == member
    assert patches.of_pod(2, 2) == surplus


def test_an_unsaid_minimum_is_all_pods() -> None:
    assert PodCliqueSpec.model_validate(clique("a", replicas=3)["spec"]).minimum == 3
    assert (
        PodCliqueSpec.model_validate(clique("a", replicas=3, minAvailable=1)["spec"]).minimum == 1
    )


@pytest.mark.parametrize(
    ("constraint", "required", "preferred"),
    [
        (TopologyConstraint(pack=TopologyPack(required="rack")), "rack", None),
        (TopologyConstraint(pack_domain="rack"), "rack", None),
        (TopologyConstraint(pack=TopologyPack(preferred="host")), None, "host"),
        (
            TopologyConstraint(pack_domain="rack", pack=TopologyPack(preferred="host")),
            "rack",
            "host",
        ),
    ],
)
def test_the_old_name_of_a_domain_still_counts(
    constraint: TopologyConstraint, required: str | None, preferred: str | None
) -> None:
    assert (constraint.required, constraint.preferred) == (required, preferred)


def test_a_condition_is_dated_from_its_last_change_of_status() -> None:
    then = datetime(2026, 1, 1, tzinfo=UTC)
    now = then + timedelta(minutes=5)
    waiting = Condition(
        type="Ready", status="False", reason="Waiting", message="", last_transition_time=then
    )
    still = waiting.model_copy(update={"reason": "StillWaiting", "last_transition_time": now})
    ready = still.model_copy(update={"status": "True"})

    assert still.after(waiting).last_transition_time == then
    assert still.after(waiting).reason == "StillWaiting"
    assert ready.after(waiting).last_transition_time == now
    assert ready.after(None) == ready
    assert waiting.manifest()["lastTransitionTime"] == "2026-01-01T00:00:00Z"
