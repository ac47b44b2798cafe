"""The pods of a PodClique: created with their gate and preparation, replaced, scaled.

Pods need their gang first: its UID, its backend and, where the backend says so, what it has
published for this gang. Without those nothing is created, and the event that brings them
wakes this reconciler. A pod is created by a plain POST under a name that follows from its
place, so creating it twice is impossible; it is deleted by UID. What the server refuses, or
takes and drops, is kept as the PodClique's problem until a creation succeeds.
"""

from collections.abc import Iterable

import msgspec

from core_operator.children import AT_ONCE
from core_operator.plan.pod_manifest import GangRef, NotYet, dropped_fields, patch_for, pod_manifest
from core_operator.plan.pods import NewPod, plan_pods
from core_operator.plan.statuses.reasons import Blocked, Blocking
from core_operator.updating import Updates
from core_operator.workshop import Workshop
from shared_api import names
from shared_api.kube.errors import ApiError, Verdict, classify
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.models import JsonObject, PodClique, PodGang, SchedulerBackendSpec
from shared_api.runtime.apply import Applier
from shared_api.runtime.outcome import Retry
from shared_api.runtime.slowstart import slow_start
from shared_api.runtime.writing import Behalf, Target

_DROPPED_AGAIN_AFTER = 30.0


class FieldsDropped(Retry):
    """The server took a pod and dropped fields that its gang depends on."""


class _CreatedPod(msgspec.Struct, frozen=True):
    """The answer to a creation, as far as preparation can have changed it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, object] = {}


class PodCliqueReconciler:
    """Pods of PodCliques."""

    def __init__(self, shop: Workshop, applier: Applier) -> None:
        self._shop = shop
        self._view = shop.view
        self._updates = Updates(shop.view, shop.metrics)
        self._applier = applier
        self._pods = Target(PODS, shop.view.caches.pods)

    async def reconcile(self, key: ObjectKey) -> None:
        """Make the pods of one PodClique as many, and as good, as they should be."""
        found = self._view.caches.cliques.get(key)
        pcs = self._view.set_of(found) if found is not None else None
        clique = self._view.clique(key.namespace, key.name, pcs) if pcs is not None else None
        if clique is None or pcs is None:
            return
        gang = self._view.gang(
            key.namespace, clique.metadata.labels.get(names.LABEL_PODGANG, ""), pcs
        )
        backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if gang else None
        record = self._view.record(backend)
        if gang is None or backend is None or record is None:
            return
        plan = plan_pods(clique, self._view.pods_of(clique), clique.spec.minimum, backend)
        # One thing at a time: whoever scales in has chosen outdated pods first anyway.
        outdated = plan.delete or self._updates.step(pcs, clique)
        going = self._updates.permitted(pcs, clique, outdated)
        behalf = Behalf(key, clique.metadata.uid)
        parallel = self._shop.settings.concurrency.writes

        async def delete(pod: Pod) -> None:
            self._shop.repairs.expect(pod)
            await self._applier.delete(self._pods, pod, behalf)

        async def create(manifest: JsonObject) -> None:
            await self._create(manifest, behalf)

        # What goes first makes room in a quota for what comes.
        await slow_start(going, delete, limit=parallel, first=AT_ONCE)
        manifests = list(_manifests(clique, plan.create, gang, backend, record))
        try:
            await slow_start(manifests, create, limit=parallel, first=AT_ONCE)
        except (ApiError, Retry, ExceptionGroup) as error:
            self._shop.note_problem(clique, _problem(error))
            raise
        if manifests or not plan.create:
            self._shop.note_problem(clique, None)

    async def _create(self, manifest: JsonObject, behalf: Behalf) -> None:
        answer = await self._applier.create(self._pods, manifest, behalf, into=_CreatedPod)
        if answer is None:
            name = _name(manifest)
            raise Retry(f"pod {name} exists, and is another's or not visible yet")
        dropped = dropped_fields(manifest, {"spec": answer.spec})
        if dropped:
            # It would be scheduled by itself, outside of its gang: better no pod at all.
            pod = Pod(metadata=answer.metadata)
            await self._applier.delete(self._pods, pod, behalf)
            fields = ", ".join(dropped)
            raise FieldsDropped(f"the API server drops {fields}", after=_DROPPED_AGAIN_AFTER)


def _manifests(
    clique: PodClique,
    new_pods: Iterable[NewPod],
    gang: PodGang,
    backend: str,
    record: SchedulerBackendSpec,
) -> Iterable[JsonObject]:
    """The pods to create that can be: those whose preparation is known."""
    metadata, minimum = gang.metadata, clique.spec.minimum
    reference = GangRef(metadata.name, metadata.uid or "", metadata.namespace or "", backend)
    for new in new_pods:
        patch = patch_for(record, gang.status, clique.metadata.name, new.index, minimum)
        if not isinstance(patch, NotYet):
            yield pod_manifest(clique, new, reference, record, patch)


def _problem(error: Exception) -> Blocked | None:
    """What a person should know about a failed creation; nothing if it passes by itself."""
    first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    if isinstance(first, FieldsDropped):
        return Blocked(Blocking.FIELDS_DROPPED, str(first))
    if isinstance(first, ApiError) and classify(first) is Verdict.WAIT_FOR_EVENT:
        return None
    return Blocked(Blocking.PODS_REFUSED, str(first))


def _name(manifest: JsonObject) -> object:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return metadata["name"]
