"""Writes the objects of a scheduler for an owner, and decides which objects are ours.

An object is ours if our owner controls it; a foreign object that has its name is reported and never
changed. An object whose owner reference another client replaced is reclaimed, but only after a
while: otherwise a program that repeats the replacement would cause an endless exchange of writes.
An object that the server does not let us change is kept or replaced, as the translator decides;
before it is deleted, a dry run asks whether the server would accept the new one. From an object of
ours that is being deleted only the finalizers that the dialect names are removed. A rejected object
is tried again later, since an admission policy may change; a change of immutable fields is not.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backend_controllers.contract.declaration import Rendered, WhenRefused, Writes
from backend_controllers.generic.caches import BackendCaches, WrittenObject
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_results import GangStage
from backend_controllers.generic.kinds import managed_by_label
from shared_api.kube.client import Patch
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import Conflict, Invalid, KubeError, NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject
from shared_api.runtime.applying.applied_fields import applied, fingerprint, lost_its_owner
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import (
    Behalf,
    OwnershipConflict,
    Target,
    Written,
    controlled_by,
)
from shared_api.runtime.reconciling.outcome import WaitForEvent
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.owners import Owner, controller_of, identity
from shared_api.runtime.watching.predicates import Watched

EVENT_REPLACED = "Replaced"
RECLAIM_AFTER = 10.0
"""Seconds before an object is reclaimed whose owner reference was replaced; less than the time
after which a conflict is tried again."""


@dataclass(frozen=True, slots=True)
class WriteProgress:
    """How far the writing came, and the message about it."""

    stage: GangStage = GangStage.PROGRAMMED
    message: str = ""
    is_refused: bool = False
    """Whether the server may accept later what it rejects now; no event announces that."""


_WRITTEN = WriteProgress()


@dataclass(frozen=True, slots=True)
class _Rejection:
    """A manifest that the server rejected for an object, and when it may be tried again."""

    manifest: bytes
    when_refused: WhenRefused
    message: str
    until: float
    """Infinite where only another manifest can help."""

    @property
    def progress(self) -> WriteProgress:
        """What it means for the object."""
        return WriteProgress(GangStage.OUTDATED, self.message, is_refused=self.until < math.inf)

    def is_of(self, rendered: Rendered, manifest: JsonObject) -> bool:
        # An earlier refusal does not count if the translator now wants the object replaced.
        return rendered.when_refused is self.when_refused and fingerprint(manifest) == self.manifest


@dataclass(frozen=True, slots=True)
class OwnerObject:
    """The owner of the objects, with which they are deleted."""

    kind: Resource
    value: Watched
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> Owner:
        """What the objects name as their controller."""
        return identity(self.kind, self.value)

    @property
    def behalf(self) -> Behalf:
        """The owner, for the Applier."""
        return Behalf(key_of(self.value), self.identity)


class ObjectWriter:
    """The objects of owners of one kind."""

    def __init__(
        self,
        context: BackendContext,
        caches: BackendCaches,
        applier: Applier,
        declared: Iterable[Writes],
        exists: Callable[[str], bool],
    ) -> None:
        self._context = context
        self._applier = applier
        self._caches = caches
        self._declared = {writes.resource: writes for writes in declared}
        self._owner_exists = exists
        self._labels = managed_by_label(context.backend.name)
        # By the UID of the object that the server would not change.
        self._rejections: dict[str, _Rejection] = {}
        # When an object may be reclaimed, by the UID of its owner, kind and key.
        self._reclaim_at: dict[tuple[str, Resource, ObjectKey], float] = {}
        for resource in self._declared:
            caches.written[resource].subscribe(self._forget)

    async def write(self, owner: OwnerObject, objects: Sequence[Rendered]) -> WriteProgress:
        """Make the objects of an owner exactly these."""
        found = _WRITTEN
        wanted = set()
        for rendered in objects:
            manifest = self._owned(owner, rendered)
            progress = await self._write_one(owner, rendered, manifest)
            if progress.stage not in (GangStage.PROGRAMMED, GangStage.OUTDATED):
                # Later objects may depend on it, and existing ones may still be needed.
                return progress
            wanted.add((rendered.resource, _key(manifest)))
            if progress.stage is GangStage.OUTDATED:
                found = replace(progress, is_refused=progress.is_refused or found.is_refused)
        await self._delete_others(owner, wanted)
        return found

    async def _write_one(
        self, owner: OwnerObject, rendered: Rendered, manifest: JsonObject
    ) -> WriteProgress:
        target = self._target(rendered.resource)
        observed = target.cache.get(_key(manifest))
        if observed is None:
            return await self._create(owner, target, manifest)
        is_ours = controller_of(observed) == owner.identity
        if not is_ours and not self._is_of_deleted_owner(owner, observed):
            return await self._reclaim(owner, target, manifest, observed)
        if observed.metadata.deletion_timestamp is not None:
            return await self._remove_finalizers(owner, target, observed)
        if not is_ours:
            message = f"{_name(rendered.resource, observed)} of a deleted owner is being deleted"
            return WriteProgress(GangStage.REPLACING, message)
        return await self._change(owner, rendered, manifest, observed)

    async def _create(
        self, owner: OwnerObject, target: Target[WrittenObject], manifest: JsonObject
    ) -> WriteProgress:
        try:
            self._count(target, await self._applier.apply(target, manifest, owner.behalf))
        except (Conflict, OwnershipConflict):
            # An object exists; the server compares fields before it compares versions.
            return await self._reclaim_hidden(owner, target, manifest)
        except Invalid as error:
            message = f"{target.resource.kind} {_key(manifest)}: {error.message}"
            return WriteProgress(GangStage.REJECTED, message, is_refused=True)
        return _WRITTEN

    async def _change(
        self, owner: OwnerObject, rendered: Rendered, manifest: JsonObject, observed: WrittenObject
    ) -> WriteProgress:
        target, now = self._target(rendered.resource), self._context.clock.monotonic()
        uid = observed.metadata.uid or ""
        rejection = self._rejections.get(uid)
        if rejection is not None and now < rejection.until and rejection.is_of(rendered, manifest):
            return rejection.progress
        try:
            self._count(target, await self._applier.apply(target, manifest, owner.behalf))
        except Invalid as error:
            replaces = rendered.when_refused is WhenRefused.REPLACE
            if replaces and await self._would_be_accepted(rendered.resource, manifest):
                return await self._replace(owner, target, observed)
            name = _name(rendered.resource, observed)
            again = self._context.settings.timing.refused_again_seconds
            rejection = self._rejections[uid] = _Rejection(
                fingerprint(manifest),
                rendered.when_refused,
                f"{name} stays as it was: {error.message}",
                math.inf if not replaces and _is_about_fields(error) else now + again,
            )
            return rejection.progress
        return _WRITTEN

    async def _would_be_accepted(self, resource: Resource, manifest: JsonObject) -> bool:
        """Ask whether the server would accept this object under another name."""
        metadata = {**_metadata(manifest), "name": f"{_key(manifest).name}.new"}
        try:
            await self._context.client.create(
                resource,
                {**manifest, "metadata": metadata},
                field_manager=self._context.field_manager,
                dry_run=True,
                into=PartialObject,
            )
        except Invalid:
            return False
        except KubeError:
            # No answer: the translator decides.
            return True
        return True

    async def _replace(
        self, owner: OwnerObject, target: Target[WrittenObject], observed: WrittenObject
    ) -> WriteProgress:
        self._count(target, await self._applier.delete(target, observed, owner.behalf))
        self._context.metrics.replacements.inc()
        message = f"{_name(target.resource, observed)} cannot be changed and is replaced"
        self._context.record_event(owner.value, EVENT_REPLACED, message, kind=owner.kind)
        return WriteProgress(GangStage.REPLACING, message)

    async def _remove_finalizers(
        self, owner: OwnerObject, target: Target[WrittenObject], observed: WrittenObject
    ) -> WriteProgress:
        removable = self._declared[target.resource].finalizers
        finalizers: tuple[str, ...] = getattr(observed.metadata, "finalizers", ())
        left = [name for name in finalizers if name not in removable]
        if len(left) < len(finalizers):
            guarded = {
                "uid": observed.metadata.uid,
                "resourceVersion": observed.metadata.resource_version,
                "finalizers": left,
            }
            patch = Patch({"metadata": guarded})
            self._count(target, await self._applier.patch(target, observed, patch, owner.behalf))
        waits = f", waiting for its finalizers {', '.join(left)}" if left else ""
        message = f"{_name(target.resource, observed)} is being deleted{waits}"
        return WriteProgress(GangStage.REPLACING, message)

    async def _reclaim_hidden(
        self, owner: OwnerObject, target: Target[WrittenObject], manifest: JsonObject
    ) -> WriteProgress:
        """Get an object that has our name but not our label, and reclaim it if it is ours."""
        key = _key(manifest)
        try:
            found = await self._context.client.get(
                target.resource,
                key.name,
                key.namespace or None,
                into=applied(PartialObject, self._context.field_manager),
            )
        except NotFound as error:
            raise WaitForEvent(f"{target.resource} {key} was deleted while it was read") from error
        return await self._reclaim(owner, target, manifest, found)

    async def _reclaim(
        self,
        owner: OwnerObject,
        target: Target[WrittenObject],
        manifest: JsonObject,
        found: Watched,
    ) -> WriteProgress:
        """Apply to an object that is ours, or was; report a foreign one."""
        is_ours = controller_of(found) == owner.identity
        if not is_ours and not lost_its_owner(found, self._context.field_manager, owner.identity):
            return self._conflict(owner, target.resource, found)
        if found.metadata.deletion_timestamp is not None:
            raise WaitForEvent(f"{target.resource} {_key(manifest)} is being deleted")
        if not is_ours and self._must_wait(owner, target.resource, _key(manifest)):
            return self._conflict(owner, target.resource, found)
        self._count(target, await self._applier.reclaim(target, manifest, found, owner.behalf))
        return _WRITTEN

    def _must_wait(self, owner: OwnerObject, resource: Resource, key: ObjectKey) -> bool:
        now, place = self._context.clock.monotonic(), (owner.identity.uid, resource, key)
        until = self._reclaim_at.get(place)
        if until is None:
            self._reclaim_at = {
                one: at for one, at in self._reclaim_at.items() if self._owner_exists(one[0])
            }
            until = self._reclaim_at[place] = now + RECLAIM_AFTER
        if now < until:
            return True
        del self._reclaim_at[place]
        return False

    def _conflict(self, owner: OwnerObject, resource: Resource, found: Watched) -> WriteProgress:
        controller = controller_of(found)
        whose = "" if controller is None else f" but by {controller.kind} {controller.name}"
        remedy = self._declared[resource].rival or "delete it, or choose another name"
        message = (
            f"{_name(resource, found)} exists and is not owned by {owner.kind.kind}"
            f" {owner.value.metadata.name}{whose}: {remedy}"
        )
        return WriteProgress(GangStage.CONFLICT, message)

    async def _delete_others(
        self, owner: OwnerObject, wanted: set[tuple[Resource, ObjectKey]]
    ) -> None:
        for resource in self._declared:
            for observed in self._caches.owned(resource, owner.identity):
                if (resource, key_of(observed)) in wanted or observed.metadata.deletion_timestamp:
                    continue
                target = self._target(resource)
                self._count(target, await self._applier.delete(target, observed, owner.behalf))

    def _is_of_deleted_owner(self, owner: OwnerObject, observed: WrittenObject) -> bool:
        """Tell whether the owner of an object is of the same kind and does not exist any more."""
        controller = controller_of(observed)
        return (
            controller is not None
            and (controller.kind, controller.group) == (owner.kind.kind, owner.kind.group)
            and not self._owner_exists(controller.uid)
        )

    def _owned(self, owner: OwnerObject, rendered: Rendered) -> JsonObject:
        metadata = _metadata(rendered.manifest)
        labels = metadata.get("labels")
        owned: JsonObject = {
            **metadata,
            "labels": {
                **(labels if isinstance(labels, dict) else {}),
                **self._labels,
                **owner.labels,
            },
            "ownerReferences": [_reference(owner)],
        }
        if rendered.resource.namespaced:
            owned.setdefault("namespace", owner.value.metadata.namespace)
        return {**rendered.manifest, "metadata": owned}

    def _target(self, resource: Resource) -> Target[WrittenObject]:
        return Target(resource, self._caches.written[resource])

    def _forget(self, old: WrittenObject | None, new: WrittenObject | None) -> None:
        if new is None and old is not None:
            self._rejections.pop(old.metadata.uid or "", None)

    def _count(self, target: Target[WrittenObject], written: Written) -> None:
        if written is not Written.UNCHANGED:
            self._context.metrics.wrote(target.resource.plural, written.value)


def _is_about_fields(error: Invalid) -> bool:
    """Tell whether the kind itself rejects a change, such as one of an immutable field.

    A policy or a webhook rejects the whole object and names no field.
    """
    return bool(error.details.causes) and all(cause.field for cause in error.details.causes)


def _reference(owner: OwnerObject) -> JsonObject:
    reference = controlled_by(owner.kind, owner.value)
    return {key: value for key, value in reference.items() if isinstance(value, str | bool)}


def _metadata(manifest: JsonObject) -> JsonObject:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def _key(manifest: JsonObject) -> ObjectKey:
    metadata = _metadata(manifest)
    return ObjectKey(str(metadata.get("namespace") or ""), str(metadata["name"]))


def _name(resource: Resource, value: Watched) -> str:
    return f"{resource.kind} {key_of(value)}"
