"""Who asks before pods are created, what is given back, and what is never given back."""

import pytest

from core_operator.controllers.podclique import PodCliqueReconciler
from core_operator.controllers.podgang import PodGangReconciler
from core_operator.controllers.quota import QuotaReconciler
from core_operator.plan.quota_turns import QuotaState, QuotaStep
from shared_api import names
from shared_api.kube.errors import Forbidden, KubeError, Status
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.core.scene import GANG, Scene
from tests.plan.pod_samples import BOUND, CLIQUE, GATED, RELEASED, PodState, condition
from tests.runtime.writes import Write

NAMESPACE = ObjectKey(GANG.namespace, "")
PODCLIQUE = ObjectKey(GANG.namespace, CLIQUE)
QUOTA = "compute, requested: pods=1, used: pods=8, limited: pods=8"


def forbidden(words: str) -> Forbidden:
    return Forbidden(Status(403, "Forbidden", f'pods "p" is forbidden: {words}'))


class Stage(Scene):
    """The scene with a gang that lacks a pod, and the reconcilers that have to do with quotas."""

    def __init__(self) -> None:
        super().__init__()
        self.has_clique()
        self.has_gang()
        self.turns = self.context.turns
        self.cliques = PodCliqueReconciler(self.context, self._applier())
        self.quota = QuotaReconciler(self.context, self._applier())
        self.woken: list[str] = []
        self.turns.opened.subscribe(lambda key: self.woken.append(key.name))

    def _applier(self) -> Applier:
        return Applier(self.client, names.FIELD_MANAGER_CORE, PendingWrites(), Telemetry())

    def refuses(self, words: str) -> None:
        """Let the server refuse every pod."""

        def refuse(write: Write) -> KubeError | None:
            return forbidden(words) if write.verb == "create" else None

        self.client.refuse = refuse

    def constrained(self, turn: ObjectKey | None) -> None:
        """Let the namespace be constrained, with the turn at a gang."""
        self.turns.refused(GANG, CLIQUE, forbidden(f"exceeded quota: {QUOTA}"), now=0.0)
        line = QuotaState(QUOTA, turn=turn)
        self.turns.apply(
            GANG.namespace, QuotaStep(line, opened=False, give_back=frozenset(), waits=())
        )

    @property
    def told(self) -> str:
        found = self.context.problems.of(self.clique.metadata.uid or "")
        return "" if found is None else f"{found.reason}: {found.message}"


async def test_a_refusal_for_quota_is_reported_and_the_next_try_waits_for_a_turn() -> None:
    stage = Stage()
    stage.refuses(f"exceeded quota: {QUOTA}")
    assert await stage.cliques.reconcile(PODCLIQUE) is None
    assert stage.turns.line(GANG.namespace) is not None
    tried = len(stage.client.writes)
    await stage.cliques.reconcile(PODCLIQUE)
    assert len(stage.client.writes) == tried
    await stage.quota.reconcile(NAMESPACE)
    assert stage.woken == [CLIQUE]
    assert stage.turns.may_create(GANG)
    stage.client.refuse = lambda _: None
    await stage.cliques.reconcile(PODCLIQUE)
    assert len(stage.client.sent("create")) == tried + 2
    assert stage.turns.asks(GANG.namespace) == {}


@pytest.mark.parametrize(
    "words",
    [
        "failed quota: compute: must specify cpu",
        "status unknown for quota: compute, resources: pods",
        "maximum cpu usage per Pod is 1, but limit is 2",
        'violates PodSecurity "restricted:latest"',
    ],
)
async def test_other_refusals_constrain_nobody(words: str) -> None:
    stage = Stage()
    stage.refuses(words)
    with pytest.raises((Forbidden, ExceptionGroup)):
        await stage.cliques.reconcile(PODCLIQUE)
    assert not stage.turns
    assert stage.told.startswith("PodsRefused: ")
    assert words in stage.told


async def test_a_gang_that_is_refused_for_good_gives_back_its_pods_and_reports_why() -> None:
    stage = Stage()
    stage.has_pod(0)
    stage.constrained(turn=GANG)
    stage.turns.refused(GANG, CLIQUE, forbidden(f"exceeded quota: {QUOTA}"), now=9.0)
    stage.time = 9.0
    await stage.quota.reconcile(NAMESPACE)
    (deleted,) = stage.client.writes
    assert (deleted.verb, deleted.options["uid"]) == ("delete", stage.pod(0).metadata.uid)
    assert stage.pod(0) in stage.context.losses.expected_deletions
    assert stage.told == (
        f"PodsRefused: gang w-0 does not fit into ResourceQuota {QUOTA}."
        " Raise the quota or delete pods"
    )


@pytest.mark.parametrize("state", [RELEASED, BOUND], ids=["ungated", "bound"])
async def test_a_gang_with_one_pod_that_is_not_gated_gives_back_nothing(state: PodState) -> None:
    stage = Stage()
    stage.has_pod(0, state)
    stage.constrained(turn=GANG)
    stage.turns.refused(GANG, CLIQUE, forbidden(f"exceeded quota: {QUOTA}"), now=9.0)
    stage.time = 9.0
    await stage.quota.reconcile(NAMESPACE)
    assert stage.client.writes == []


async def test_a_gang_whose_gates_are_being_removed_gives_back_nothing() -> None:
    stage = Stage()
    with stage.context.expected_ungates.expect(stage.has_pod(0)):
        stage.constrained(turn=GANG)
        stage.turns.refused(GANG, CLIQUE, forbidden(f"exceeded quota: {QUOTA}"), now=9.0)
        stage.time = 9.0
        await stage.quota.reconcile(NAMESPACE)
    assert stage.client.writes == []


async def test_a_gang_that_gives_back_is_not_ungated_until_its_pods_are_seen_to_be_gone() -> None:
    stage = Stage()
    stage.has_pod(0, GATED)
    stage.has_pod(1, GATED)
    programmed = [condition("Programmed", "True"), condition("Initialized", "True")]
    stage.has_gang(stage.gang_of("w-0-a-0", "w-0-a-1", conditions=programmed))
    gangs = PodGangReconciler(stage.context, stage._applier())
    line = QuotaState(QUOTA)
    given = QuotaStep(line, opened=False, give_back=frozenset({GANG}), waits=())
    stage.turns.apply(GANG.namespace, given)
    with pytest.raises(ExceptionGroup) as refused:
        await gangs.reconcile(GANG)
    assert refused.value.subgroup(WaitForEvent) is not None
    assert "patch" not in {write.verb for write in stage.client.writes}


async def test_a_pod_that_goes_is_news_unless_it_was_given_back() -> None:
    stage = Stage()
    pod = stage.has_pod(0)
    stage.constrained(turn=GANG)
    stage.turns.refused(GANG, CLIQUE, forbidden(f"exceeded quota: {QUOTA}"), now=9.0)
    stage.time = 9.0
    await stage.quota.reconcile(NAMESPACE)
    line = stage.turns.line(GANG.namespace)
    assert line is not None
    (before,) = line.backoffs.values()
    stage.loses(pod)
    line = stage.turns.line(GANG.namespace)
    assert line is not None
    assert tuple(line.backoffs.values()) == (before,)
    stage.loses(stage.has_pod(1))
    line = stage.turns.line(GANG.namespace)
    assert line is not None
    (after,) = line.backoffs.values()
    assert after.until == after.earliest < before.until
