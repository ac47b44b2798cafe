"""Without gang scheduling, two gangs that do not fit together run one after the other."""

import itertools
import time
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta

import pytest

from backend_controllers.default import BACKEND
from backend_controllers.default.options import DefaultOptions
from backend_controllers.generic.kinds import BACKENDS
from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import fresh_namespace, running_cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.backends.default.kit import V136
from tests.backends.default.stage import CPU, Form, Stage
from tests.backends.kit import backend_settings, running_backend
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker, clique, condition, is_ready, pcs, running_operator

pytestmark = pytest.mark.cluster

SECONDS = 6
PATIENCE = 240
BARE = Form("1.36", V136, "v1alpha2", frozenset())


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a scheduler and without any gate for gangs."""
    options = ClusterOptions(gang_scheduling=False, nodes=1, process_node=False)
    with running_cluster(options, tmp_path_factory) as cluster:
        cluster.install_crds(CRDS)
        yield cluster


@pytest.fixture
def namespace_of_two(bare: Cluster) -> Iterator[str]:
    with fresh_namespace(bare) as name:
        yield name


@pytest.fixture
async def stage(bare: Cluster, namespace_of_two: str) -> AsyncIterator[Stage]:
    async with (
        Client(from_kubeconfig(bare.kubeconfig)) as client,
        Onlooker(client, namespace_of_two).watching() as person,
    ):
        made = Stage(bare, BARE, person)
        try:
            yield made
        finally:
            await made.clean_up()


class Halves:
    """Sees which gangs are bound in part, for how long, and until which deadlines."""

    def __init__(self, person: Onlooker, minimum: int) -> None:
        self.seen: dict[str, float] = {}
        """The longest time that each gang was bound in part without a break."""
        self._since: dict[str, float] = {}
        self.deadlines: dict[str, set[str]] = {}
        self._person = person
        self._minimum = minimum
        person._caches[PODS.plural].subscribe(self._on_pod)
        person._caches[GANGS.plural].subscribe(self._on_gang)

    def _on_pod(self, old: LooseObject | None, new: LooseObject | None) -> None:
        if (pod := new or old) is None:
            return
        owner, now = set_of(pod), time.monotonic()
        if 0 < bound(self._person, owner) < self._minimum:
            since = self._since.setdefault(owner, now)
            self.seen[owner] = max(self.seen.get(owner, 0.0), now - since)
        elif (since := self._since.pop(owner, now)) < now:
            self.seen[owner] = max(self.seen[owner], now - since)

    def _on_gang(self, _: LooseObject | None, gang: LooseObject | None) -> None:
        attempt = gang.status.get("bindAttempt", {}) if gang is not None else {}
        if gang is not None and "deadline" in attempt:
            self.deadlines.setdefault(gang.metadata.name, set()).add(attempt["deadline"])


def set_of(pod: LooseObject) -> str:
    return pod.metadata.labels["app.kubernetes.io/part-of"]


def bound(person: Onlooker, of: str) -> int:
    return sum(bool(pod.spec.get("nodeName")) for pod in person.pods if set_of(pod) == of)


def running(person: Onlooker, of: str) -> int:
    return sum(is_ready(pod) for pod in person.pods if set_of(pod) == of)


def failures(person: Onlooker, gang: str) -> int:
    found = person.get(GANGS, gang)
    return int(found.status.get("bindAttempt", {}).get("failures", 0)) if found is not None else 0


def whole(person: Onlooker) -> list[str]:
    return [name for name in ("one", "two") if running(person, name) == 3]


async def test_two_gangs_that_do_not_fit_together_run_one_after_the_other(
    bare: Cluster, stage: Stage
) -> None:
    person = stage.person
    # Four nodes for two gangs of three pods: each fits alone.
    for _ in range(4):
        await stage.add_node()
    halves = Halves(person, 3)
    options = DefaultOptions(bind_timeout_seconds=SECONDS)

    def gang_of_three(name: str) -> dict[str, object]:
        cliques = [
            clique("a", 2, cpu=CPU, podSpec=stage.pod_spec),
            clique("b", 1, cpu=CPU, podSpec=stage.pod_spec),
        ]
        return pcs(name, *cliques)

    async with running_backend(bare, BACKEND, backend_settings(options)) as backend:
        await backend.until_serving()
        async with running_operator(bare):
            await person.create(gang_of_three("one"))
            await person.create(gang_of_three("two"))
            await person.until(lambda: failures(person, "one-0") or failures(person, "two-0"), 120)
        # What was counted and how long it waits are in the objects, not in the process.
        counted = {gang: failures(person, gang) for gang in ("one-0", "two-0")}
        async with running_operator(bare) as operator:
            await person.until(lambda: len(whole(person)) == 1, PATIENCE)
            (first,) = whole(person)
            other = "two" if first == "one" else "one"
            await person.until(lambda: failures(person, f"{other}-0") > counted[f"{other}-0"], 120)
            given_back = person.one(GANGS, f"{other}-0")
            said = condition(given_back, "Released")
            assert (said["status"], said["reason"]) == ("False", "BindTimeout")
            assert f"/3 pods bound within {SECONDS} s, given back" in said["message"]
            await person.until(lambda: bound(person, other) == 0, 60)
            assert running(person, first) == 3
            note = await person.until_event(other, "BindTimeout")
            assert "given back" in note
            await person.delete(person.one(SETS, first), SETS)
            await person.until(lambda: running(person, other) == 3, PATIENCE)
            await person.until(
                lambda: "bindAttempt" not in person.one(GANGS, f"{other}-0").status, 60
            )
            deleted = operator.metric("grove_pods_deleted_total", reason="BindTimeout")
            assert deleted >= 3
        record = await person.client.get(BACKENDS, "default", into=LooseObject)
    assert "GangByTimeout" in record.spec["capabilities"]
    assert record.spec["release"]["bindTimeoutSeconds"] == SECONDS
    # They did meet, so the timeout had something to do; the rest is the time of the deletions.
    assert halves.seen
    assert max(halves.seen.values()) < 2 * SECONDS
    _each_deadline_is_of_one_attempt(halves)


def _each_deadline_is_of_one_attempt(halves: Halves) -> None:
    """A deadline is never moved while pods are bound: the next one is a whole timeout later."""
    for moments in halves.deadlines.values():
        ordered = sorted(datetime.fromisoformat(moment) for moment in moments)
        for before, after in itertools.pairwise(ordered):
            assert after - before > timedelta(seconds=SECONDS)
