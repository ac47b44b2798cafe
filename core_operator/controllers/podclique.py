"""The pods of a PodClique: created with their gate and preparation, replaced, scaled.

Pods need their gang first: its UID, its backend and, where the backend says so, what it has
published for this gang. Without those nothing is created, and the event that brings them
wakes this reconciler. A pod is created by a plain POST under a name that follows from its
place, so creating it twice is impossible; it is deleted by UID. What the server refuses, or
takes and drops, is kept as the PodClique's problem until a creation succeeds; so is a name
that a stranger has, for which the other pods do not wait. A pod that is taken again and again
is replaced later and later (`replacement_backoff`). Where a quota is exhausted, pods are created only
while their gang has the turn (`quota_turns`). Labels by which pods are found are restored. Pods that
seem to belong to a PodClique and do not are neither counted nor touched, but reported.

Pods that go may be the first that we hear of a deletion further up, since each kind is watched
by itself. So before a lost pod is replaced the server is asked, in a patch that changes
nothing, whether the PodClique stays.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec

from core_operator.context import CoreContext
from core_operator.plan import naming
from core_operator.plan.expansion import clique_named
from core_operator.plan.pod_manifest import dropped_fields, pod_manifest
from core_operator.plan.pods import (
    NewPod,
    PodPlan,
    is_bound,
    is_live,
    is_made_for,
    lost_labels,
    plan_pods,
    stays_patch,
)
from core_operator.plan.preparation import (
    NotYet,
    Preparation,
    patch_for,
    preparation_of,
    preparation_refusal,
    reference_to,
)
from core_operator.plan.startup_order import Waiter, in_order
from core_operator.plan.statuses.reasons import Blocked, Blocking
from core_operator.state import caches as kinds
from core_operator.state.replacement_backoff import Replacements, Wait
from core_operator.state.update_turns import Updates
from core_operator.writes.child_writer import AT_ONCE, REFUSED_AGAIN_AFTER, is_as_seen, only_while
from core_operator.writes.resource_sharing import Sharing
from shared_api import names
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.errors import ApiError, Forbidden, Verdict, classify
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.models import (
    MAX_REPLICAS,
    JsonObject,
    PodClique,
    PodCliqueSet,
    PodGang,
    PodPatch,
    SchedulerBackendSpec,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.reconciling.outcome import Result, Retry, Terminal, WaitForEvent, verdict_of
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.owners import identity

_DROPPED_AGAIN_AFTER = 30.0
# A pod of ours that was made just before a restart is visible by then; a stranger's never is.
_TAKEN_AGAIN_AFTER = 1.0


_STRAYS = 5
"""Pods that a message names; the next ones follow when those are gone."""


class FieldsDropped(Retry):
    """The server took a pod and dropped fields that its gang depends on."""


class _CreatedPod(msgspec.Struct, frozen=True):
    """The answer to a creation, as far as preparation can have changed it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, object] = {}


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A pod to create, and what its backend wants on it."""

    new: NewPod
    patch: PodPatch


class PodCliqueReconciler:
    """Pods of PodCliques."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._updates = Updates(context.view, context.metrics)
        self._applier = applier
        self._pods = Target(PODS, context.view.caches.pods)
        self._cliques = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._sharing = Sharing(context, applier)
        self._lost = Replacements(context.view.caches, context.clock)
        self._bereaved: set[str] = set()
        """UIDs of PodCliques that lost a pod."""
        self._taken: dict[str, frozenset[str]] = {}
        """Names that existed when pods were to be created, by the UID of the PodClique."""
        context.view.caches.pods.subscribe(self._on_pod)
        context.view.caches.cliques.subscribe(self._on_clique)
        order = context.settings.startup_order
        self._waiter = Waiter(order.image, tuple(order.command), order.run_as_user)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Make the pods of one PodClique as many, and as good, as they should be."""
        found = self._view.caches.cliques.get(key)
        pcs = self._view.set_of(found) if found is not None else None
        clique = self._view.clique(key.namespace, key.name, pcs) if pcs is not None else None
        if found is None or clique is None or pcs is None:
            return None
        gang = self._view.gang(
            key.namespace, clique.metadata.labels.get(names.LABEL_PODGANG, ""), pcs
        )
        backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if gang else None
        record = self._view.record(backend)
        if gang is None or record is None:
            return None
        plan = self._plan(pcs, clique, gang, record)
        waiting = self._lost.waiting(clique, (new.index for new in plan.create))
        # One thing at a time: whoever scales in has chosen outdated pods first anyway.
        going = self._updates.permitted(pcs, clique, plan.delete or self._updates.step(pcs, clique))
        self._context.selections.note(clique, going)
        behalf = Behalf(key, identity(kinds.CLIQUES, clique))
        parallel = self._context.settings.concurrency.writes
        taken: list[str] = []

        async def delete(pod: Pod) -> None:
            with self._context.repairs.deletions.to(pod):
                await self._applier.delete(self._pods, pod, behalf)

        async def create(pod: _Prepared) -> None:
            # Each only when its turn comes: thousands of manifests at once are a lot of memory.
            manifest = pod_manifest(clique, pod.new, reference_to(gang), record, pod.patch)
            manifest = self._sharing.with_claims(pcs, clique, manifest)
            if not await self._create(in_order(clique, manifest, self._waiter), behalf):
                taken.append(pod.new.name)

        await self._restore_labels(clique, plan.keep, behalf)
        if going:
            of_gang = ObjectKey(key.namespace, gang.metadata.name)
            self._context.turns.hold_for(of_gang, self._context.clock.monotonic())
        # What goes first makes room in a quota for what comes.
        await slow_start(going, delete, limit=parallel, first=AT_ONCE)
        await self._sharing.settle_clique(pcs, clique, behalf, grows=bool(plan.create))
        due = (new for new in plan.create if new.index not in waiting)
        prepared = list(_prepared(clique, due, gang, record))
        may_go_on = await self._create_all(found, gang, prepared, create)
        if not may_go_on:
            return self._conclude(clique, waiting, settled=False)
        if taken:
            self._tell_taken(clique, taken)
        return self._conclude(clique, waiting, settled=bool(prepared) or not plan.create)

    async def _create_all(
        self,
        found: Applied[PodClique],
        gang: PodGang,
        prepared: Sequence[_Prepared],
        create: Callable[[_Prepared], Awaitable[None]],
    ) -> bool:
        """Create pods; tell whether they may be created, as far as quotas go."""
        key, turns = key_of(found), self._context.turns
        of_gang = ObjectKey(key.namespace, gang.metadata.name)
        if prepared and turns.may_create(of_gang):
            await self._ensure_it_stays(found, Behalf(key, identity(kinds.CLIQUES, found)))

        denied = False

        def still() -> bool:
            nonlocal denied
            denied = denied or not turns.may_create(of_gang)
            # Should it want others meanwhile, it is due again.
            return not denied and is_as_seen(self._view.caches.cliques, found)

        first = 1 if turns.knows(key) else AT_ONCE
        parallel = self._context.settings.concurrency.writes
        try:
            await slow_start(prepared, only_while(still, create), limit=parallel, first=first)
        except (ApiError, Retry, ExceptionGroup) as error:
            if (refusal := _over_quota(error)) is not None:
                turns.refused(of_gang, key.name, refusal, self._context.clock.monotonic())
                return False
            self._context.note_problem(found.object, _problem(error))
            if verdict_of(error) is not Verdict.TERMINAL:
                raise
            # An admission policy refuses as a schema does, and may be mended.
            raise Retry(str(error), after=REFUSED_AGAIN_AFTER) from error
        if denied:
            turns.ask(of_gang, key.name)
            return False
        turns.withdraw(of_gang, key.name)
        return True

    def _ensure_size(self, pcs: PodCliqueSet, clique: PodClique) -> None:
        """Go on only if so many pods can be planned; else tell, or have told."""
        replicas = clique.spec.replicas
        if replicas > MAX_REPLICAS:
            note = f"a clique has at most {MAX_REPLICAS} pods: {replicas} are wanted"
            self._context.note_problem(clique, Blocked(Blocking.TOO_LARGE, note))
            raise Terminal(note)
        expansion = self._view.expansion(pcs)
        if expansion.too_large and clique_named(expansion, clique.metadata.name) is None:
            # Nobody can say what its pods share.
            raise WaitForEvent(expansion.too_large)

    def _plan(
        self, pcs: PodCliqueSet, clique: PodClique, gang: PodGang, record: SchedulerBackendSpec
    ) -> PodPlan:
        self._ensure_size(pcs, clique)
        if not naming.has_replica_index(clique):
            name = clique.metadata.name
            raise WaitForEvent(f"PodClique {name} has lost a label, which its owner restores")
        pods, minimum = self._view.pods_of(clique), clique.spec.minimum
        preparation = Preparation(reference_to(gang).backend, minimum)
        if not all(map(is_bound, pods)):
            preparation = preparation_of(gang, record, clique.metadata.name, minimum)
        visible = self._view.pod_names(clique.metadata.namespace or "")
        plan = plan_pods(clique, pods, minimum, preparation, visible)
        if plan.create and (
            refusal := preparation_refusal(record, gang.status, clique.metadata.name)
        ):
            note = f"pods are not prepared as backend '{preparation.backend}' wants: {refusal}"
            self._context.note_problem(clique, Blocked(Blocking.PODS_REFUSED, note))
        return plan

    async def _restore_labels(self, clique: PodClique, pods: Iterable[Pod], behalf: Behalf) -> None:
        for pod in pods:
            if labels := lost_labels(clique, pod):
                metadata = {"uid": pod.metadata.uid, "labels": {**labels}}
                await self._applier.patch(self._pods, pod, Patch({"metadata": metadata}), behalf)

    async def _ensure_it_stays(self, found: Applied[PodClique], behalf: Behalf) -> None:
        uid = found.metadata.uid or ""
        if uid in self._bereaved:
            steps = cast("list[JsonObject]", stays_patch(uid))
            await self._applier.patch(self._cliques, found, Patch(steps, PatchType.JSON), behalf)
            self._bereaved.discard(uid)

    def _tell_taken(self, clique: PodClique, taken: list[str]) -> None:
        uid = clique.metadata.uid or ""
        again = sorted(self._taken.get(uid, frozenset()).intersection(taken))
        self._taken[uid] = frozenset(taken)
        if again:
            note = (
                f"pods that are another's, or have lost the label {names.LABEL_MANAGED_BY}, have"
                f" names that are needed: {', '.join(again)}; delete them, or give it back"
            )
            self._context.note_problem(clique, Blocked(Blocking.CONFLICT, note))
        listed = ", ".join(sorted(taken))
        raise Retry(
            f"pods exist that are not ours or not visible yet: {listed}", after=_TAKEN_AGAIN_AFTER
        )

    def _conclude(
        self, clique: PodClique, waiting: Mapping[int, Wait], *, settled: bool
    ) -> Result | None:
        """Say which pods are not replaced yet and come back for the first, or that all is well."""
        if waiting:
            told = "; ".join(wait.losses.told(index) for index, wait in waiting.items())
            self._context.note_problem(clique, Blocked(Blocking.REPLACED_LATER, told))
            return Result(requeue_after=min(wait.left for wait in waiting.values()))
        if settled:
            self._taken.pop(clique.metadata.uid or "", None)
            self._context.note_problem(clique, _told_strays(clique, self._view.strays_of(clique)))
        return None

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is None or not is_live(old) or not (new is None or new.metadata.is_terminating):
            return
        # Not of those that are seen to be gone: nobody would take them off the list again.
        if (clique := self._view.clique_of(old)) is not None:
            self._bereaved.add(clique.metadata.uid or "")

    def _on_clique(self, old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> None:
        if old is not None and new is None:
            self._bereaved.discard(old.metadata.uid or "")
            self._context.selections.forget(old.metadata.uid or "")
            self._taken.pop(old.metadata.uid or "", None)

    async def _create(self, manifest: JsonObject, behalf: Behalf) -> bool:
        """Create one pod; tell whether its name was free."""
        answer = await self._applier.create(self._pods, manifest, behalf, into=_CreatedPod)
        if answer is None:
            return False
        dropped = dropped_fields(manifest, {"spec": answer.spec})
        if dropped:
            # It would be scheduled by itself, outside of its gang: better no pod at all.
            pod = Pod(metadata=answer.metadata)
            await self._applier.delete(self._pods, pod, behalf)
            fields = ", ".join(dropped)
            raise FieldsDropped(f"the API server drops {fields}", after=_DROPPED_AGAIN_AFTER)
        return True


def _prepared(
    clique: PodClique,
    new_pods: Iterable[NewPod],
    gang: PodGang,
    record: SchedulerBackendSpec,
) -> Iterable[_Prepared]:
    """The pods to create that can be: those whose preparation is known."""
    for new in new_pods:
        patch = patch_for(record, gang.status, clique.metadata.name, new.index, clique.spec.minimum)
        if not isinstance(patch, NotYet):
            yield _Prepared(new, patch)


def _over_quota(error: Exception) -> Forbidden | None:
    """The refusal that says that a quota is exhausted, if there is one."""
    members = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    refusals = (one for one in members if isinstance(one, Forbidden))
    return next((one for one in refusals if one.exceeded_quota), None)


def _told_strays(clique: PodClique, strays: Iterable[Pod]) -> Blocked | None:
    """Return what a person should know about pods that seem to be of a PodClique and are not."""
    orphans: list[str] = []
    stolen: list[str] = []
    for pod in filter(is_live, strays):
        owner = pod.metadata.controller
        if owner is None:
            # One that only carries our labels is of no concern to anybody.
            if is_made_for(pod, clique.metadata.name):
                orphans.append(pod.metadata.name)
        elif owner.uid == clique.metadata.uid:
            stolen.append(pod.metadata.name)
    name, listed = clique.metadata.name, sorted(orphans or stolen)[:_STRAYS]
    if not listed:
        return None
    what = "no owner controls them any more"
    if not orphans:
        what = f"PodClique {name} controls them, but they were made for another PodClique"
    pods = f"{len(orphans or stolen)} pods do not count for PodClique {name}"
    remedy = f"kubectl delete pod -n {clique.metadata.namespace} {' '.join(listed)}"
    return Blocked(Blocking.CONFLICT, f"{pods}: {what}. Delete them: {remedy}")


def _problem(error: Exception) -> Blocked | None:
    """What a person should know about a failed creation; nothing if it passes by itself."""
    first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    if isinstance(first, FieldsDropped):
        return Blocked(Blocking.FIELDS_DROPPED, str(first))
    if isinstance(first, ApiError) and classify(first) is Verdict.WAIT_FOR_EVENT:
        return None
    return Blocked(Blocking.PODS_REFUSED, str(first))
