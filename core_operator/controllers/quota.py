"""Namespaces whose quota is exhausted: gangs take turns, and incomplete gangs give back their pods.

A key is a namespace. The plan decides about all gangs of the namespace at once. This reconciler
deletes the pods that are given back and opens the turn of the next gang. It creates nothing. It
deletes only gated pods of gangs of which no pod is ungated or being ungated, and the PodGang
controller does not ungate them until they are gone. Other namespaces cost nothing.
"""

from collections.abc import Iterable, Iterator

from core_operator.context import CoreContext
from core_operator.plan.layout.expansion import GangInstance
from core_operator.plan.quota_turns import QuotaGang, QuotaWait, TurnPriority, plan_step
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from core_operator.writes.pod_writer import MinAvailableExemption, PodWriter
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodCliqueSet
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import key_of


class QuotaReconciler:
    """Reconciles namespaces whose quota is exhausted."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._turns = context.turns
        self._pod_writer = PodWriter(context, applier)
        self._given_back: set[str] = set()
        """UIDs of pods that were deleted here and are still in the cache."""
        context.view.caches.pods.subscribe(self._on_pod)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Decide which gang of one namespace may create pods now."""
        namespace = key.namespace
        line = self._turns.line(namespace)
        if line is None:
            return None
        found = dict(self._gangs(namespace))
        self._turns.forget(namespace, self._view.caches.gangs.__contains__)
        asks = {gang: tuple(of) for gang, of in self._turns.asks(namespace).items()}
        step = plan_step(line, tuple(found), self._context.clock.monotonic())
        # There is no await since the pods were read, so none of them can have been ungated.
        self._turns.apply(namespace, step)
        cliques = {gang.key: of for gang, of in found.items()}
        no_turn = step.state is None or step.state.turn is None
        for wait in step.waits:
            self._report(wait, cliques[wait.gang], again=no_turn)
        if step.state is None:
            # These may be gangs that lack a PodClique.
            self._open(namespace, (name for of in asks.values() for name in of))
            return None
        if step.opened and step.state.turn is not None:
            self._open(namespace, asks.get(step.state.turn, ()))
        await self._delete(key, [one for gang in step.give_back for one in cliques[gang]])
        return Result(requeue_after=step.again_in)

    def _open(self, namespace: str, cliques: Iterable[str]) -> None:
        for name in cliques:
            self._turns.opened.send(ObjectKey(namespace, name))

    def _gangs(self, namespace: str) -> Iterator[tuple[QuotaGang, list[PodClique]]]:
        """Yield all gangs of a namespace with their PodCliques."""
        for found in self._view.caches.sets:
            pcs = self._view.live_set(key_of(found))
            if found.metadata.namespace != namespace or pcs is None:
                continue
            lacking: set[str] = set()
            for position, instance in enumerate(self._view.expansion(pcs).gangs):
                cliques = self._cliques(instance, pcs)
                if cliques is None:
                    lacking.add(instance.name)
                    continue
                gang = self._contender(instance, pcs, cliques, position, lacking)
                if gang.priority is TurnPriority.NOT_STARTED and not gang.complete:
                    lacking.add(instance.name)
                yield gang, cliques

    def _cliques(self, gang: GangInstance, pcs: PodCliqueSet) -> list[PodClique] | None:
        """Return the PodCliques of a gang; None unless all of them exist."""
        if self._view.gang(gang.name, pcs) is None:
            return None
        found = [self._view.clique(one.name, pcs) for one in gang.cliques]
        return [one for one in found if one is not None] if all(found) else None

    def _contender(
        self,
        gang: GangInstance,
        pcs: PodCliqueSet,
        cliques: list[PodClique],
        position: int,
        lacking: set[str],
    ) -> QuotaGang:
        key = ObjectKey(pcs.metadata.namespace or "", gang.name)
        counted = [
            (one, [pod for pod in self._view.pods_of(one) if run.counts(pod)])
            for one in cliques
            for run in (self._view.run_of(one, pcs),)
        ]
        live = [pod for _, pods in counted for pod in pods]
        missing = [max(0, one.spec.replicas - len(pods)) for one, pods in counted]
        priority = TurnPriority.LACKS_SURPLUS
        if not any(not pod.has_our_gate or pod in self._context.expected_ungates for pod in live):
            priority = TurnPriority.NOT_STARTED
        elif any(len(pods) < one.spec.minimum for one, pods in counted):
            priority = TurnPriority.BELOW_MINIMUM
        is_new = priority is TurnPriority.NOT_STARTED
        needs = [one.spec.replicas for one in cliques] if is_new else missing
        hashes = [one.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH, "") for one in cliques]
        return QuotaGang(
            key=key,
            owner=(str(pcs.metadata.creation_timestamp or ""), pcs.metadata.name),
            position=position,
            shape=(pcs.metadata.uid, priority, *zip(hashes, needs, strict=True)),
            priority=priority,
            gated=len(live) if is_new else 0,
            missing=sum(missing),
            asks=key in self._turns.asks(key.namespace),
            base_lacks=gang.base in lacking,
        )

    def _report(self, wait: QuotaWait, cliques: list[PodClique], *, again: bool) -> None:
        """Report that a gang waits; update the message only while no gang has the turn."""
        asking = self._turns.asks(wait.gang.namespace).get(wait.gang, ())
        for clique in cliques:
            known = self._context.problems.of(clique.metadata.uid) is not None
            if clique.metadata.name in asking and (again or not known):
                self._context.report_problem(
                    clique, Blocker(BlockingReason.PODS_REFUSED, wait.message)
                )

    async def _delete(self, key: ObjectKey, cliques: list[PodClique]) -> None:
        pods = [pod for clique in cliques for pod in self._view.pods_of(clique) if pod.is_live]
        self._given_back.update(pod.metadata.uid for pod in pods)
        exemption = MinAvailableExemption.QUOTA_GIVEN_BACK
        await self._pod_writer.delete_exempt(pods, exemption, Behalf(key))

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None or not (self._turns or self._given_back):
            return
        given_back = pod.metadata.uid in self._given_back
        if new is None:
            self._given_back.discard(pod.metadata.uid)
        if not self._turns.knows(pod.metadata.key):
            return
        namespace = pod.metadata.namespace
        if new is None or (old is not None and old.is_live and not new.is_live):
            self._turns.freed(namespace, self._context.clock.monotonic(), given_back=given_back)
        elif old is not None:
            return
        self._turns.changed.send(namespace)
