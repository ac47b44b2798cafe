"""The pods of a PodClique: creates them with their gate and preparation, replaces and scales them.

Pods are created only when their gang exists, with its UID, its backend and what the backend must
have published for it. A pod's name follows from its index, so a plain POST cannot create it twice.
A problem is kept until a creation succeeds: a refusal, dropped fields, or a name that a foreign
pod has; the other pods do not wait for that. Where a quota is exhausted, pods are created only
during the turn of their gang (`state/quota_turns.py`). A pod that is lost repeatedly is replaced
later each time (`state/pod_losses.py`). Only `PodWriter` deletes. Strays, pods that seem to belong
to a PodClique and do not, are neither counted nor changed, but reported.

Each kind has its own watch, so the loss of pods may be seen before the deletion of their owners.
Before a lost pod is replaced, a patch that changes nothing asks the server whether the PodClique
stays.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

import msgspec

from core_operator.context import CoreContext
from core_operator.plan.jobs.runs import Run
from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import clique_named
from core_operator.plan.manifests.pods import dropped_fields, pod_manifest
from core_operator.plan.placement.handover import first_clique_of, has_left
from core_operator.plan.pods.pod_plan import (
    NewPod,
    PodPlan,
    drifted_labels,
    is_made_for,
    is_settled,
    plan_pods,
    still_exists_patch,
)
from core_operator.plan.pods.preparation import (
    NotPublished,
    Preparation,
    patch_for,
    preparation_of,
    preparation_refusal,
    reference_to,
)
from core_operator.plan.pods.startup_order import StartupWait, with_startup_order
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from core_operator.settings import IMAGE_OUTSIDE
from core_operator.state import caches as kinds
from core_operator.state.pod_losses import Losses
from core_operator.state.update_turns import Updates
from core_operator.writes.child_events import ChildEvents
from core_operator.writes.child_writer import AT_ONCE, REFUSED_AGAIN_AFTER, is_current, only_while
from core_operator.writes.finalizer_release import FinalizerRelease
from core_operator.writes.pod_writer import MinAvailableExemption, PodWriter
from core_operator.writes.resource_sharing import Sharing
from core_operator.writes.used_names import UsedNames
from shared_api import names
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.errors import ApiError, ErrorAction, Forbidden, classify
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
# A pod of ours that was created just before a restart is in the cache by then.
_TAKEN_AGAIN_AFTER = 1.0
# A message names so many strays; it names the next ones when these are deleted.
_STRAYS = 5


_Prepared: TypeAlias = tuple[NewPod, PodPatch]
"""A pod to create, and the patch of its backend."""


class FieldsDropped(Retry):
    """The server created a pod without fields that its gang depends on."""


class _CreatedPod(msgspec.Struct, frozen=True):
    """The fields of a created pod that preparation sets."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, object] = {}


class PodCliqueReconciler:
    """Reconciles the pods of PodCliques."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._updates = Updates(context.view)
        self._applier = applier
        self._pods = Target(PODS, context.view.caches.pods)
        self._pod_writer = PodWriter(context, applier)
        self._cliques = Target(kinds.CLIQUES, context.view.caches.cliques)
        self._release = FinalizerRelease(applier)
        self._sharing = Sharing(context, applier)
        self._used_names = UsedNames(context, applier)
        self._taken: dict[str, frozenset[str]] = {}
        """Names that existed when pods were to be created, by the UID of the PodClique."""
        context.view.caches.cliques.subscribe(self._on_clique)
        order = context.settings.startup_order
        image = order.image or IMAGE_OUTSIDE
        self._waiter = StartupWait(image, tuple(order.command), order.run_as_user)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Create, delete and label the pods of one PodClique."""
        found = self._view.caches.cliques.get(key)
        await self._release.of(self._cliques, found, key)
        pcs = self._view.set_of(found)
        clique = self._view.clique(key.name, pcs) if pcs is not None else None
        if found is None or clique is None or pcs is None:
            return None
        behalf = Behalf(key, identity(kinds.CLIQUES, clique))
        run = self._view.run_of(clique, pcs)
        if run.with_jobs and await self._end(clique, run, behalf):
            return None
        gang = self._view.gang(clique.metadata.labels.get(names.LABEL_PODGANG, ""), pcs)
        labels = gang.metadata.labels if gang else {}
        record = self._view.record(labels.get(names.LABEL_SCHEDULER_BACKEND))
        if gang is None or record is None:
            return None
        if has_left(gang, self._view.clique(first_clique_of(gang), pcs)):
            return None  # A new pod would keep the scheduler's object that has to go first.
        plan = self._plan(pcs, clique, gang, record, run)
        plan = await self._used_names.replanned(
            plan, clique, gang, lambda: self._plan(pcs, clique, gang, record, run)
        )
        waiting = self._context.losses.waiting(clique, (new.index for new in plan.create))
        taken, events = list[str](), ChildEvents()

        async def create(prepared: _Prepared) -> None:
            # One manifest at a time: thousands of them would take a lot of memory.
            new, patch = prepared
            manifest = pod_manifest(clique, new, reference_to(gang), record, patch)
            manifest = self._sharing.with_claims(pcs, clique, manifest)
            manifest = with_startup_order(clique, manifest, self._waiter)
            if await self._create(manifest, behalf, events):
                events.created(f"{PODS.kind} {new.name}")
            else:
                taken.append(new.name)

        await self._restore_labels(clique, plan.keep, behalf)
        # Deletions come first: they free quota for the pods that are created next. An update waits
        # for scale-in, which chooses outdated pods first.
        await self._pod_writer.delete_within_minimum(
            pcs,
            clique,
            plan.delete or self._updates.step(pcs, clique),
            behalf,
            is_update=not plan.delete,
        )
        await self._sharing.settle_clique(pcs, clique, behalf, grows=bool(plan.create))
        due = (new for new in plan.create if new.index not in waiting)
        prepared = list(_prepared(clique, due, gang, record))
        try:
            complete = await self._create_all(found, gang, prepared, create)
        finally:
            events.record(self._context, clique)
        if not complete:
            return self._conclude(clique, waiting, settled=False)
        if taken:
            self._retry_taken(clique, taken)
        return self._conclude(clique, waiting, settled=bool(prepared) or not plan.create)

    async def _end(self, clique: PodClique, run: Run, behalf: Behalf) -> bool:
        """Delete the pods that no job needs; return whether the PodClique has ended for good."""
        pods = [pod for pod in self._view.pods_of(clique) if not pod.metadata.is_terminating]
        obsolete = [pod for pod in pods if run.is_obsolete(pod)]
        await self._pod_writer.delete_exempt(obsolete, MinAvailableExemption.JOB_RESTARTED, behalf)
        if run.ending is None:
            return False
        unneeded = [pod for pod in pods if pod.is_live and not run.is_obsolete(pod)]
        await self._pod_writer.delete_exempt(unneeded, MinAvailableExemption.JOB_ENDED, behalf)
        gang = clique.metadata.labels.get(names.LABEL_PODGANG, "")
        self._context.turns.withdraw(ObjectKey(behalf.key.namespace, gang), behalf.key.name)
        self._context.report_problem(clique, None)
        return True

    async def _create_all(
        self,
        found: Applied[PodClique],
        gang: PodGang,
        prepared: Sequence[_Prepared],
        create: Callable[[_Prepared], Awaitable[None]],
    ) -> bool:
        """Create pods; return False if the quota does not allow it now."""
        key, turns = key_of(found), self._context.turns
        of_gang = ObjectKey(key.namespace, gang.metadata.name)
        if prepared and turns.may_create(of_gang):
            await self._ensure_it_stays(found, Behalf(key, identity(kinds.CLIQUES, found)))

        denied = False

        def still() -> bool:
            nonlocal denied
            denied = denied or not turns.may_create(of_gang)
            # A PodClique that changes meanwhile is reconciled again.
            return not denied and is_current(self._view.caches.cliques, found)

        first = 1 if turns.knows(key) else AT_ONCE
        parallel = self._context.settings.concurrency.writes
        try:
            await slow_start(prepared, only_while(still, create), limit=parallel, first=first)
        except (ApiError, Retry, ExceptionGroup) as error:
            if (refusal := _over_quota(error)) is not None:
                turns.refused(of_gang, key.name, refusal, self._context.clock.monotonic())
                return False
            self._context.report_problem(found.object, _problem(error))
            if verdict_of(error) is not ErrorAction.TERMINAL:
                raise
            # An admission policy answers as a schema does, but may be changed.
            raise Retry(str(error), after=REFUSED_AGAIN_AFTER) from error
        if denied:
            turns.ask(of_gang, key.name)
            return False
        turns.withdraw(of_gang, key.name)
        return True

    def _ensure_size(self, pcs: PodCliqueSet, clique: PodClique) -> None:
        """Raise unless so many pods can be planned."""
        replicas = clique.spec.replicas
        if replicas > MAX_REPLICAS:
            note = (
                f"PodClique {clique.metadata.name} is too large: {replicas} pods, at most"
                f" {MAX_REPLICAS} are allowed. Lower its replicas"
            )
            self._context.report_problem(clique, Blocker(BlockingReason.TOO_LARGE, note))
            raise Terminal(note)
        expansion = self._view.expansion(pcs)
        if expansion.too_large and clique_named(expansion, clique.metadata.name) is None:
            # Without the expansion it is not known which claims its pods share.
            raise WaitForEvent(expansion.too_large)

    def _plan(
        self,
        pcs: PodCliqueSet,
        clique: PodClique,
        gang: PodGang,
        record: SchedulerBackendSpec,
        run: Run,
    ) -> PodPlan:
        self._ensure_size(pcs, clique)
        if not naming.has_replica_index(clique):
            name = clique.metadata.name
            raise WaitForEvent(f"PodClique {name} lacks a label, which its owner restores")
        pods, minimum = self._view.pods_of(clique), clique.spec.minimum
        preparation = Preparation(reference_to(gang).backend, minimum, run=run)
        if not is_settled(clique, pods):
            prepared = preparation_of(gang, record, clique.metadata.name, minimum)
            preparation = replace(prepared, run=run)
        taken, gone = self._used_names.taken(clique), self._context.losses.gone(clique)
        plan = plan_pods(clique, pods, minimum, preparation, taken, gone)
        if plan.create and (
            refusal := preparation_refusal(record, gang.status, clique.metadata.name)
        ):
            note = f"The preparation of backend '{preparation.backend}' is rejected: {refusal}"
            self._context.report_problem(clique, Blocker(BlockingReason.PODS_REFUSED, note))
        return plan

    async def _restore_labels(self, clique: PodClique, pods: Iterable[Pod], behalf: Behalf) -> None:
        for pod in pods:
            if labels := drifted_labels(clique, pod):
                metadata = {"uid": pod.metadata.uid, "labels": {**labels}}
                await self._applier.patch(self._pods, pod, Patch({"metadata": metadata}), behalf)

    async def _ensure_it_stays(self, found: Applied[PodClique], behalf: Behalf) -> None:
        uid = found.metadata.uid or ""
        if self._context.losses.is_unconfirmed(uid):
            steps = cast("list[JsonObject]", still_exists_patch(uid))
            await self._applier.patch(self._cliques, found, Patch(steps, PatchType.JSON), behalf)
            self._context.losses.confirm(uid)

    def _retry_taken(self, clique: PodClique, taken: list[str]) -> None:
        uid = clique.metadata.uid or ""
        again = sorted(self._taken.get(uid, frozenset()).intersection(taken))
        self._taken[uid] = frozenset(taken)
        if again:
            note = (
                f"Pods {', '.join(again)} cannot be created: foreign pods, or pods without the label"
                f" {names.LABEL_MANAGED_BY}, have these names. Delete them, or restore the label"
            )
            self._context.report_problem(clique, Blocker(BlockingReason.CONFLICT, note))
        listed = ", ".join(sorted(taken))
        raise Retry(
            f"foreign pods, or pods that are not in the cache yet, exist: {listed}",
            after=_TAKEN_AGAIN_AFTER,
        )

    def _conclude(
        self, clique: PodClique, waiting: Mapping[int, Losses], *, settled: bool
    ) -> Result | None:
        """Report the pods that are not replaced yet and requeue for the first, or clear the problem."""
        if waiting:
            message = "; ".join(losses.message(index) for index, losses in waiting.items())
            self._context.report_problem(clique, Blocker(BlockingReason.REPLACED_LATER, message))
            due = min(losses.due for losses in waiting.values())
            return Result(requeue_after=due - self._context.clock.monotonic())
        if settled:
            self._taken.pop(clique.metadata.uid or "", None)
            self._context.report_problem(
                clique, _stray_problem(clique, self._view.strays_of(clique))
            )
        return None

    def _on_clique(self, old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> None:
        if old is not None and new is None:
            self._context.selections.forget(old.metadata.uid or "")
            self._taken.pop(old.metadata.uid or "", None)

    async def _create(self, manifest: JsonObject, behalf: Behalf, events: ChildEvents) -> bool:
        """Create one pod; return False if the name is taken."""
        # Without the name of the pod: all pods of a PodClique are refused alike.
        with events.writing(PODS.kind):
            answer = await self._applier.create(self._pods, manifest, behalf, into=_CreatedPod)
        if answer is None:
            return False
        dropped = dropped_fields(manifest, {"spec": answer.spec})
        if dropped:
            # The pod would be scheduled by itself, outside of its gang.
            exemption = MinAvailableExemption.FIELDS_DROPPED
            await self._pod_writer.delete_exempt(
                (Pod(metadata=answer.metadata),), exemption, behalf
            )
            fields = ", ".join(dropped)
            raise FieldsDropped(f"the API server drops {fields}", after=_DROPPED_AGAIN_AFTER)
        return True


def _prepared(
    clique: PodClique,
    new_pods: Iterable[NewPod],
    gang: PodGang,
    record: SchedulerBackendSpec,
) -> Iterable[_Prepared]:
    """Yield the pods whose preparation is published."""
    for new in new_pods:
        patch = patch_for(record, gang.status, clique.metadata.name, new.index, clique.spec.minimum)
        if not isinstance(patch, NotPublished):
            yield new, patch


def _over_quota(error: Exception) -> Forbidden | None:
    """Return the error that reports an exhausted quota, if there is one."""
    members = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    refusals = (one for one in members if isinstance(one, Forbidden))
    return next((one for one in refusals if one.exceeded_quota), None)


def _stray_problem(clique: PodClique, strays: Iterable[Pod]) -> Blocker | None:
    """Return the problem of pods that seem to belong to a PodClique and do not."""
    orphans: list[str] = []
    stolen: list[str] = []
    for pod in (stray for stray in strays if stray.is_live):
        owner = pod.metadata.controller
        if owner is None:
            # A pod that only has our labels and another name is ignored.
            if is_made_for(pod, clique.metadata.name):
                orphans.append(pod.metadata.name)
        elif owner.uid == clique.metadata.uid:
            stolen.append(pod.metadata.name)
    name, listed = clique.metadata.name, sorted(orphans or stolen)[:_STRAYS]
    if not listed:
        return None
    why = "no owner controls them any more"
    if not orphans:
        why = f"PodClique {name} controls them, but they were created for another PodClique"
    pods = f"{len(orphans or stolen)} pods do not count for PodClique {name}"
    remedy = f"kubectl delete pod -n {clique.metadata.namespace} {' '.join(listed)}"
    return Blocker(BlockingReason.CONFLICT, f"{pods}: {why}. Delete them: {remedy}")


def _problem(error: Exception) -> Blocker | None:
    """Return the problem of a failed creation; None if it ends by itself."""
    first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    if isinstance(first, FieldsDropped):
        return Blocker(BlockingReason.FIELDS_DROPPED, str(first))
    if isinstance(first, ApiError) and classify(first) is ErrorAction.WAIT_FOR_EVENT:
        return None
    return Blocker(BlockingReason.PODS_REFUSED, str(first))
