"""A set after its gangs have started: whose turn an update is, and what is terminated.

It keeps the record of the update in the set's status, from which all others act, and ends what
has been below its minimum for too long. Both are decided by pure plans from what is there, and
both survive a restart: the record and the countdowns are in statuses. Nothing is polled; a
countdown asks to be looked at when it is over.

It writes with a field manager of its own, so that it and the writers of statuses never undo
each other's fields.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from core_operator.context import CoreContext
from core_operator.controllers.statuses import status_of
from core_operator.plan.progress import Progress, plan_progress
from core_operator.plan.replicas import ReplicaFacts
from core_operator.plan.statuses.conditions import Observation, find, rendered
from core_operator.plan.statuses.scaling_group import clique_blocked
from core_operator.plan.termination import (
    Doom,
    breaches_of,
    overdue,
    plan_terminations,
    pods_to_terminate,
    termination_delay,
)
from core_operator.state import caches as kinds
from core_operator.state.update_turns import Updates
from core_operator.writes.child_writer import AT_ONCE
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.models import (
    Condition,
    JsonObject,
    PodClique,
    PodCliqueSet,
    PodCliqueSetStatus,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.owners import controller_of

EVENT_UPDATE_STARTED = "UpdateStarted"
EVENT_UPDATE_ENDED = "UpdateEnded"
EVENT_TERMINATED = "GangTerminated"

_SECONDS_PER_GANG = 0.002


class LifecycleReconciler:
    """Updates and terminations of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._applier = applier
        self._updates = Updates(context.view, context.metrics)
        # The cache remembers what the other manager has applied, so the values decide.
        self._sets = Target(kinds.SETS, context.view.caches.sets, _says_so)
        self._cliques = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._pods = Target(PODS, context.view.caches.pods)
        self._looked_at: dict[str, float] = {}

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Bring one set a step further."""
        found = self._view.caches.sets.get(key)
        pcs = self._view.live_set(found.metadata.uid) if found is not None else None
        if pcs is None:
            self._forget_the_gone()
            return None
        if (rest := self._rest(pcs)) > 0:
            return Result(requeue_after=rest)
        now = self._context.now()
        replicas = self._updates.replicas(pcs)
        cliques = self._members(pcs, replicas)
        told = {name: said for name, c in cliques.items() if (said := clique_blocked(c))}
        progress = plan_progress(pcs, self._view.revision_hash(pcs), replicas, told, now)
        delay = termination_delay(pcs)
        dooms = plan_terminations(replicas, breaches_of(cliques.values()), delay)
        await self._tell(pcs, progress, dooms)
        for doom in overdue(replicas, breaches_of(cliques.values()), delay, now):
            await self._terminate(pcs, doom, cliques)
        await self._release(pcs, replicas, cliques)
        return _look_again(dooms, now)

    def _members(
        self, pcs: PodCliqueSet, replicas: Sequence[ReplicaFacts]
    ) -> Mapping[str, PodClique]:
        found = (
            self._view.clique(pcs.metadata.namespace, clique.name, pcs)
            for replica in replicas
            for clique in replica.cliques
        )
        return {clique.metadata.name: clique for clique in found if clique is not None}

    async def _tell(self, pcs: PodCliqueSet, progress: Progress, dooms: Sequence[Doom]) -> None:
        previous = pcs.status.conditions if pcs.status is not None else ()
        observation = Observation(self._context.now(), previous, pcs.metadata.generation)
        conditions = _conditions(progress, dooms, observation)
        status = progress.manifest()
        if conditions:
            status["conditions"] = rendered(conditions)
        behalf = Behalf(_key(pcs), force=True)
        await self._applier.apply_status(self._sets, status_of(pcs, status), behalf)
        began = find(previous, names.CONDITION_GANG_TERMINATION_PENDING) is None
        if dooms and began:
            kind = names.CONDITION_GANG_TERMINATION_PENDING
            self._context.tell(pcs, kind, dooms[0].message, warning=True)
        was_updating = find(previous, names.CONDITION_UPDATING) is not None
        if progress.is_active and not was_updating:
            self._context.tell(pcs, EVENT_UPDATE_STARTED, progress.message)
        elif was_updating and not progress.is_active:
            self._context.tell(
                pcs, EVENT_UPDATE_ENDED, f"all pods are of revision {progress.set_hash}"
            )

    async def _terminate(
        self, pcs: PodCliqueSet, doom: Doom, cliques: Mapping[str, PodClique]
    ) -> None:
        members = [cliques[name] for name in doom.cliques if name in cliques]
        pods = [pod for clique in members for pod in self._view.pods_of(clique)]
        behalf = Behalf(_key(pcs))
        parallel = self._context.settings.concurrency.writes

        async def delete(pod: Pod) -> None:
            with self._context.repairs.deletions.to(pod):
                await self._applier.delete(self._pods, pod, behalf)

        async def mark(clique: PodClique) -> None:
            await self._mark(pcs, clique, doom)

        going = pods_to_terminate(doom, pods)
        # Marked only then: the mark ends the countdown, and a crash must not end it too early.
        await slow_start(going, delete, limit=parallel, first=AT_ONCE)
        await slow_start(members, mark, limit=parallel, first=AT_ONCE)
        self._context.metrics.terminated.inc()
        note = f"{doom.subject} was terminated, {len(going)} pods: {doom.because}"
        self._context.tell(pcs, EVENT_TERMINATED, note, warning=True)

    async def _mark(self, pcs: PodCliqueSet, clique: PodClique, doom: Doom | None) -> None:
        """Say of a PodClique that it was terminated, or that it has recovered from that."""
        status: JsonObject = {}
        if doom is not None:
            observation = Observation(self._context.now(), ())
            said = observation.condition(
                names.CONDITION_GANG_TERMINATION_IN_PROGRESS,
                holds=True,
                reason=names.REASON_GANG_TERMINATION_ACTIVE,
                message=f"{doom.subject} was terminated: {doom.because}",
            )
            status["conditions"] = rendered((said,))
        live = self._view.caches.cliques.get(_key(clique))
        behalf = Behalf(_key(pcs), controller_of(live) if live is not None else None)
        await self._applier.apply_status(self._cliques, status_of(clique, status), behalf)

    async def _release(
        self,
        pcs: PodCliqueSet,
        replicas: Sequence[ReplicaFacts],
        cliques: Mapping[str, PodClique],
    ) -> None:
        """Arm those again that were terminated and serve now."""
        for facts in (clique for replica in replicas for clique in replica.cliques):
            clique = cliques.get(facts.name)
            if clique is not None and facts.is_available and _is_marked(clique):
                await self._mark(pcs, clique, None)

    def _rest(self, pcs: PodCliqueSet) -> float:
        """Seconds until this set may be looked at again; a large one costs more to look at."""
        uid, now = pcs.metadata.uid or "", self._context.clock.monotonic()
        pause = _SECONDS_PER_GANG * len(self._view.expansion(pcs).gangs)
        rest = self._looked_at.get(uid, now - pause) + pause - now
        if rest <= 0:
            self._looked_at[uid] = now
        return rest

    def _forget_the_gone(self) -> None:
        for uid in [uid for uid in self._looked_at if self._view.live_set(uid) is None]:
            del self._looked_at[uid]


def _says_so(observed: Applied[PodCliqueSet], manifest: Mapping[str, object]) -> bool:
    """Tell whether a set's status already has all that is ours, and nothing more of it."""
    wanted = PodCliqueSetStatus.model_validate(manifest["status"])
    live = observed.object.status or PodCliqueSetStatus()
    return _ours(live) == _ours(wanted)


def _ours(status: PodCliqueSetStatus) -> object:
    told = (names.CONDITION_UPDATING, names.CONDITION_GANG_TERMINATION_PENDING)
    return (
        status.current_generation_hash,
        status.update_progress,
        [find(status.conditions, kind) for kind in told],
    )


def _conditions(
    progress: Progress, dooms: Sequence[Doom], observation: Observation
) -> list[Condition]:
    found: list[Condition] = []
    if progress.is_active:
        found.append(
            observation.condition(
                names.CONDITION_UPDATING,
                holds=True,
                reason=progress.reason,
                message=progress.message,
            )
        )
    if dooms:
        others = f" (and {len(dooms) - 1} more)" if len(dooms) > 1 else ""
        found.append(
            observation.condition(
                names.CONDITION_GANG_TERMINATION_PENDING,
                holds=True,
                reason=names.CONDITION_MIN_AVAILABLE_BREACHED,
                message=f"{dooms[0].message}{others}",
            )
        )
    return found


def _look_again(dooms: Sequence[Doom], now: datetime) -> Result | None:
    ahead = [doom.deadline for doom in dooms if doom.deadline > now]
    if not ahead:
        return None
    return Result(requeue_after=(min(ahead) - now).total_seconds())


def _is_marked(clique: PodClique) -> bool:
    """Tell whether a clique was terminated and its countdown has been taken down since."""
    conditions = clique.status.conditions if clique.status is not None else ()
    counting = find(conditions, names.CONDITION_GANG_TERMINATION_PENDING)
    marked = find(conditions, names.CONDITION_GANG_TERMINATION_IN_PROGRESS)
    return marked is not None and counting is None


def _key(about: PodCliqueSet | PodClique) -> ObjectKey:
    return ObjectKey(about.metadata.namespace or "", about.metadata.name)
