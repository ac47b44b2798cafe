"""Namespaces whose quota is exhausted: gangs take turns, and incomplete gangs give back pods.

It looks at all gangs of one namespace at once, has the plan decide, deletes what is given back and
wakes the PodCliques of the gang whose turn it is. It creates nothing. It deletes only pods that
are gated, of gangs of which no pod is ungated or about to be, and keeps the reconciler of gangs
from ungating them until the deletions are seen. Keys are namespaces; other namespaces cost nothing.
"""

from collections.abc import Callable, Iterable, Iterator

from core_operator.context import CoreContext
from core_operator.plan.expansion import GangInstance
from core_operator.plan.pods import is_live
from core_operator.plan.preparation import is_held
from core_operator.plan.statuses.reasons import Blocked, Blocking
from core_operator.plan.turns import Contender, Standing, Wait, plan_step
from core_operator.state.expected_events import OwnDoing
from core_operator.writes.child_writer import AT_ONCE
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.models import PodClique, PodCliqueSet
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.reconciling.slowstart import slow_start

Wake = Callable[[ObjectKey], None]


class QuotaReconciler:
    """Turns in constrained namespaces."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._turns = context.turns
        self._applier = applier
        self._pods = Target(PODS, context.view.caches.pods)
        self._given_back: set[str] = set()
        """UIDs of pods that were deleted here and are not seen to be gone."""
        self.lifts = OwnDoing()
        """Gates that are being removed."""
        self.wake: Wake = lambda _: None
        """Has a PodClique looked at."""
        context.view.caches.pods.subscribe(self._on_pod)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Decide who may create pods in one namespace now."""
        namespace = key.namespace
        line = self._turns.line(namespace)
        if line is None:
            return None
        found = dict(self._gangs(namespace))
        self._turns.forget(namespace, self._view.caches.gangs.__contains__)
        asks = {gang: tuple(of) for gang, of in self._turns.asks(namespace).items()}
        step = plan_step(line, tuple(found), self._context.clock.monotonic())
        # Nothing is awaited between the look at the pods and this, which keeps them gated.
        self._turns.take(namespace, step)
        cliques = {gang.key: of for gang, of in found.items()}
        told = step.line is None or step.line.turn is None
        for wait in step.waits:
            self._report(wait, cliques[wait.gang], again=told)
        if step.line is None:
            # Of gangs that lack a PodClique, if there are any.
            self._wake(namespace, (name for of in asks.values() for name in of))
            return None
        if step.opened and step.line.turn is not None:
            self._wake(namespace, asks.get(step.line.turn, ()))
        await self._delete(key, [one for gang in step.give_back for one in cliques[gang]])
        return Result(requeue_after=step.again_in)

    def _wake(self, namespace: str, cliques: Iterable[str]) -> None:
        for name in cliques:
            self.wake(ObjectKey(namespace, name))

    def _gangs(self, namespace: str) -> Iterator[tuple[Contender, list[PodClique]]]:
        """All gangs of a namespace with their PodCliques."""
        for found in self._view.caches.sets:
            pcs = self._view.live_set(found.metadata.uid)
            if found.metadata.namespace != namespace or pcs is None:
                continue
            lacking: set[str] = set()
            for position, instance in enumerate(self._view.expansion(pcs).gangs):
                cliques = self._cliques(instance, pcs)
                if cliques is None:
                    lacking.add(instance.name)
                    continue
                gang = self._contender(instance, pcs, cliques, position, lacking)
                if gang.standing is Standing.NOT_STARTED and not gang.complete:
                    lacking.add(instance.name)
                yield gang, cliques

    def _cliques(self, gang: GangInstance, pcs: PodCliqueSet) -> list[PodClique] | None:
        """The PodCliques of a gang; None unless all of them exist."""
        namespace = pcs.metadata.namespace
        if self._view.gang(namespace, gang.name, pcs) is None:
            return None
        found = [self._view.clique(namespace, one.name, pcs) for one in gang.cliques]
        return [one for one in found if one is not None] if all(found) else None

    def _contender(
        self,
        gang: GangInstance,
        pcs: PodCliqueSet,
        cliques: list[PodClique],
        position: int,
        lacking: set[str],
    ) -> Contender:
        key = ObjectKey(pcs.metadata.namespace or "", gang.name)
        counted = [
            (one, [pod for pod in self._view.pods_of(one) if is_live(pod)]) for one in cliques
        ]
        live = [pod for _, pods in counted for pod in pods]
        missing = [max(0, one.spec.replicas - len(pods)) for one, pods in counted]
        standing = Standing.LACKS_SURPLUS
        if not any(not is_held(pod) or pod in self.lifts for pod in live):
            standing = Standing.NOT_STARTED
        elif any(len(pods) < one.spec.minimum for one, pods in counted):
            standing = Standing.BELOW_MINIMUM
        is_new = standing is Standing.NOT_STARTED
        needs = [one.spec.replicas for one in cliques] if is_new else missing
        hashes = [one.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH, "") for one in cliques]
        return Contender(
            key=key,
            owner=(str(pcs.metadata.creation_timestamp or ""), pcs.metadata.name),
            position=position,
            kind=(pcs.metadata.uid, standing, *zip(hashes, needs, strict=True)),
            standing=standing,
            gated=len(live) if is_new else 0,
            missing=sum(missing),
            asks=key in self._turns.asks(key.namespace),
            base_lacks=gang.base in lacking,
        )

    def _report(self, wait: Wait, cliques: list[PodClique], *, again: bool) -> None:
        """Say that a gang waits; its place and the numbers only when all that fit have started."""
        asking = self._turns.asks(wait.gang.namespace).get(wait.gang, ())
        for clique in cliques:
            known = (clique.metadata.uid or "") in self._context.problems
            if clique.metadata.name in asking and (again or not known):
                self._context.note_problem(clique, Blocked(Blocking.PODS_REFUSED, wait.message))

    async def _delete(self, key: ObjectKey, cliques: list[PodClique]) -> None:
        behalf = Behalf(key)

        async def delete(pod: Pod) -> None:
            if not is_held(self._view.caches.pods.get(pod.metadata.key) or pod):
                return
            self._given_back.add(pod.metadata.uid)
            with self._context.repairs.deletions.to(pod):
                await self._applier.delete(self._pods, pod, behalf)

        pods = [pod for clique in cliques for pod in self._view.pods_of(clique) if is_live(pod)]
        parallel = self._context.settings.concurrency.writes
        await slow_start(pods, delete, limit=parallel, first=AT_ONCE)

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
        if new is None or (old is not None and is_live(old) and not is_live(new)):
            self._turns.freed(namespace, self._context.clock.monotonic(), given_back=given_back)
        elif old is not None:
            return
        self._turns.look_at(namespace)
