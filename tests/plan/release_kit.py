"""Gangs of one group, and what is released of them."""

from collections.abc import Mapping, Sequence

from core_operator.plan.pods.gang_pods import (
    BaseState,
    gang_groups,
)
from core_operator.plan.release import (
    Release,
    plan_release,
)
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodGang, SchedulerBackendSpec
from tests.plan.pod_samples import (
    CLIQUE,
    PodState,
    condition,
    gang,
    pod,
    podclique,
)
from tests.plan.samples import record

PROGRAMMED = condition("Programmed")
RECORD = record("")
AFTER_SCHEDULED = record("", release={"surplus": "AfterScheduled"})
AFTER_RELEASE = record("", release={"programs": "AfterRelease"})
RECREATE = record("", release={"memberLost": "RecreateGang"})


def gang_of(
    pods: Sequence[Pod], minimum: int, *conditions: object, backend: str = "example"
) -> PodGang:
    """A gang of one group in which all these pods are referenced."""
    names = [p.metadata.name for p in pods]
    return gang((CLIQUE, minimum, names), conditions=conditions, backend=backend)


def released(
    pods: Sequence[Pod],
    of: PodGang,
    backend: SchedulerBackendSpec = RECORD,
    *,
    wanted: int | None = None,
    base: BaseState | None = None,
) -> Release:
    replicas = len(pods) if wanted is None else wanted
    cliques: Mapping[str, PodClique] = {CLIQUE: podclique(replicas)} if replicas else {}
    return plan_release(of, gang_groups(of, pods, cliques), backend, base)


def pods_in(*states: PodState) -> list[Pod]:
    return [pod(index, state) for index, state in enumerate(states)]


def indexes(pods: Sequence[Pod]) -> list[str]:
    return [p.metadata.name.removeprefix(f"{CLIQUE}-") for p in pods]
