"""Writes objects for a scheduler on behalf of an owner, and knows whose they are.

An object is ours if our owner controls it. A name that somebody else has is left
alone and told of. One that was ours until somebody put his references in place of ours is taken
back, but only after a while: whoever does that with every change that he sees would else be
answered write for write. An object that the server will not change is kept or replaced, as the
translator says; before it is deleted, the server is asked whether it would take the new one.
What stands in the way of a new object is one of ours that is going: the finalizers that the
dialect names are taken off it, no others, and only from the version that was looked at.
What is refused is tried again after a time, since an admission policy refuses as a schema does
and may be mended; not so a change of fields that are immutable, which only we can take back.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backend_controllers.contract.declaration import Rendered, WhenRefused, Writes
from backend_controllers.generic.caches import Caches, Kept
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.gang_results import Stage
from backend_controllers.generic.kinds import field_manager, keeper_label
from shared_api.kube.client import Patch
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import Conflict, Invalid, KubeError, NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject
from shared_api.runtime.applying.applied_fields import applied, fingerprint, was_taken
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
from shared_api.runtime.watching.owners import Owner as Identity
from shared_api.runtime.watching.owners import controller_of, identity
from shared_api.runtime.watching.predicates import Watched

EVENT_REPLACED = "Replaced"
TAKEN_BACK_AFTER = 10.0
"""Seconds for which an object stays with whoever took it; a conflict is looked at less often."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far the writing came, and what is to be said about it."""

    stage: Stage = Stage.PROGRAMMED
    message: str = ""
    is_refused: bool = False
    """Whether the server refuses what it may take later, of which nothing will tell us."""


_WRITTEN = Step()


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A manifest that is not tried again on the same object for now, and why."""

    manifest: bytes
    when_refused: WhenRefused
    message: str
    until: float
    """When it may be tried again; never, where only another manifest can help."""

    @property
    def step(self) -> Step:
        """What it means for the object."""
        return Step(Stage.OUTDATED, self.message, is_refused=self.until < math.inf)

    def is_of(self, rendered: Rendered, manifest: JsonObject) -> bool:
        # A translator that now wants the object replaced asks for something else.
        return rendered.when_refused is self.when_refused and fingerprint(manifest) == self.manifest


@dataclass(frozen=True, slots=True)
class Owner:
    """What the objects are made from, and go away with."""

    kind: Resource
    value: Watched
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> Identity:
        """What the objects name as their controller."""
        return identity(self.kind, self.value)

    @property
    def behalf(self) -> Behalf:
        """The owner, for the apply engine."""
        return Behalf(key_of(self.value), self.identity)


class ObjectWriter:
    """The objects of owners of one kind."""

    def __init__(
        self,
        context: BackendContext,
        caches: Caches,
        applier: Applier,
        declared: Iterable[Writes],
        lives: Callable[[str], bool],
    ) -> None:
        self._context = context
        self._applier = applier
        self._caches = caches
        self._declared = {writes.resource: writes for writes in declared}
        self._lives = lives
        self._keeper = keeper_label(context.backend.name)
        self._manager = field_manager(context.backend.name)
        # What the server refused, by the UID of the object that it would not change.
        self._refused: dict[str, _Refusal] = {}
        # When an object that was taken from an owner may be taken back.
        self._taken: dict[tuple[str, Resource, ObjectKey], float] = {}
        for resource in self._declared:
            caches.written[resource].subscribe(self._forget_the_gone)

    async def write(self, owner: Owner, objects: Sequence[Rendered]) -> Step:
        """Make the objects of an owner exactly these."""
        found = _WRITTEN
        wanted = set()
        for rendered in objects:
            manifest = self._owned(owner, rendered)
            step = await self._one(owner, rendered, manifest)
            if step.stage not in (Stage.PROGRAMMED, Stage.OUTDATED):
                # What follows may depend on it, and what is there may still be needed.
                return step
            wanted.add((rendered.resource, _key(manifest)))
            if step.stage is Stage.OUTDATED:
                found = replace(step, is_refused=step.is_refused or found.is_refused)
        await self._remove_others(owner, wanted)
        return found

    async def _one(self, owner: Owner, rendered: Rendered, manifest: JsonObject) -> Step:
        target = self._target(rendered.resource)
        observed = target.cache.get(_key(manifest))
        if observed is None:
            return await self._create(owner, target, manifest)
        is_ours = controller_of(observed) == owner.identity
        if not is_ours and not self._is_left_over(owner, observed):
            return await self._face(owner, target, manifest, observed)
        if observed.metadata.deletion_timestamp is not None:
            return await self._make_way(owner, target, observed)
        if not is_ours:
            name = _name(rendered.resource, observed)
            return Step(Stage.REPLACING, f"{name} of an earlier owner is about to go")
        return await self._change(owner, rendered, manifest, observed)

    async def _create(self, owner: Owner, target: Target[Kept], manifest: JsonObject) -> Step:
        try:
            self._count(target, await self._applier.apply(target, manifest, owner.behalf))
        except (Conflict, OwnershipConflict):
            # Something is there; the server compares fields before it looks at versions.
            return await self._meet(owner, target, manifest)
        except Invalid as error:
            message = f"{target.resource.kind} {_key(manifest)}: {error.message}"
            return Step(Stage.REJECTED, message, is_refused=True)
        return _WRITTEN

    async def _change(
        self, owner: Owner, rendered: Rendered, manifest: JsonObject, observed: Kept
    ) -> Step:
        target, now = self._target(rendered.resource), self._context.clock.monotonic()
        uid = observed.metadata.uid or ""
        refused = self._refused.get(uid)
        if refused is not None and now < refused.until and refused.is_of(rendered, manifest):
            return refused.step
        try:
            self._count(target, await self._applier.apply(target, manifest, owner.behalf))
        except Invalid as error:
            replaces = rendered.when_refused is WhenRefused.REPLACE
            if replaces and await self._is_welcome(rendered.resource, manifest):
                return await self._replace(owner, target, observed)
            name = _name(rendered.resource, observed)
            again = self._context.settings.timing.refused_again_seconds
            refused = self._refused[uid] = _Refusal(
                fingerprint(manifest),
                rendered.when_refused,
                f"{name} stays as it was: {error.message}",
                math.inf if not replaces and _is_about_fields(error) else now + again,
            )
            return refused.step
        return _WRITTEN

    async def _is_welcome(self, resource: Resource, manifest: JsonObject) -> bool:
        """Ask whether the server would take this object if there were none of its name."""
        metadata = {**_metadata(manifest), "name": f"{_key(manifest).name}.new"}
        try:
            await self._context.client.create(
                resource,
                {**manifest, "metadata": metadata},
                field_manager=self._manager,
                dry_run=True,
                into=PartialObject,
            )
        except Invalid:
            return False
        except KubeError:
            # It could not be asked; the translator's word stands.
            return True
        return True

    async def _replace(self, owner: Owner, target: Target[Kept], observed: Kept) -> Step:
        self._count(target, await self._applier.delete(target, observed, owner.behalf))
        self._context.metrics.replacements.inc()
        message = f"{_name(target.resource, observed)} cannot be changed and is replaced"
        self._context.tell(owner.value, EVENT_REPLACED, message, kind=owner.kind)
        return Step(Stage.REPLACING, message)

    async def _make_way(self, owner: Owner, target: Target[Kept], observed: Kept) -> Step:
        removable = self._declared[target.resource].finalizers
        held: tuple[str, ...] = getattr(observed.metadata, "finalizers", ())
        left = [name for name in held if name not in removable]
        if len(left) < len(held):
            guarded = {
                "uid": observed.metadata.uid,
                "resourceVersion": observed.metadata.resource_version,
                "finalizers": left,
            }
            patch = Patch({"metadata": guarded})
            self._count(target, await self._applier.patch(target, observed, patch, owner.behalf))
        held_by = f", held by {', '.join(left)}" if left else ""
        message = f"{_name(target.resource, observed)} is going away{held_by}"
        return Step(Stage.REPLACING, message)

    async def _meet(self, owner: Owner, target: Target[Kept], manifest: JsonObject) -> Step:
        """Look at an object that has our name and not our label."""
        key = _key(manifest)
        try:
            found = await self._context.client.get(
                target.resource,
                key.name,
                key.namespace or None,
                into=applied(PartialObject, self._manager),
            )
        except NotFound as error:
            raise WaitForEvent(f"{target.resource} {key} went while it was looked at") from error
        return await self._face(owner, target, manifest, found)

    async def _face(
        self, owner: Owner, target: Target[Kept], manifest: JsonObject, found: Watched
    ) -> Step:
        """Take an object back that is ours, or was; leave alone what is not."""
        is_ours = controller_of(found) == owner.identity
        if not is_ours and not was_taken(found, self._manager, owner.identity):
            return self._conflict(target.resource, found)
        if found.metadata.deletion_timestamp is not None:
            raise WaitForEvent(f"{target.resource} {_key(manifest)} is being deleted")
        if not is_ours and self._is_left_to_taker(owner, target.resource, _key(manifest)):
            return self._conflict(target.resource, found)
        self._count(target, await self._applier.reclaim(target, manifest, found, owner.behalf))
        return _WRITTEN

    def _is_left_to_taker(self, owner: Owner, resource: Resource, key: ObjectKey) -> bool:
        now, place = self._context.clock.monotonic(), (owner.identity.uid, resource, key)
        until = self._taken.get(place)
        if until is None:
            self._taken = {one: at for one, at in self._taken.items() if self._lives(one[0])}
            until = self._taken[place] = now + TAKEN_BACK_AFTER
        if now < until:
            return True
        del self._taken[place]
        return False

    def _conflict(self, resource: Resource, found: Watched) -> Step:
        controller = controller_of(found)
        whose = "not ours" if controller is None else f"{controller.kind} {controller.name}'s"
        rival = self._declared[resource].rival
        said = f"{_name(resource, found)} exists and is {whose}"
        return Step(Stage.CONFLICT, f"{said}: {rival}" if rival else said)

    async def _remove_others(self, owner: Owner, wanted: set[tuple[Resource, ObjectKey]]) -> None:
        for resource in self._declared:
            for observed in self._caches.owned(resource, owner.identity):
                if (resource, key_of(observed)) in wanted or observed.metadata.deletion_timestamp:
                    continue
                target = self._target(resource)
                self._count(target, await self._applier.delete(target, observed, owner.behalf))

    def _is_left_over(self, owner: Owner, observed: Kept) -> bool:
        """Tell whether an object is of an owner of the same kind that is gone."""
        controller = controller_of(observed)
        return (
            controller is not None
            and (controller.kind, controller.group) == (owner.kind.kind, owner.kind.group)
            and not self._lives(controller.uid)
        )

    def _owned(self, owner: Owner, rendered: Rendered) -> JsonObject:
        metadata = _metadata(rendered.manifest)
        labels = metadata.get("labels")
        owned: JsonObject = {
            **metadata,
            "labels": {
                **(labels if isinstance(labels, dict) else {}),
                **self._keeper,
                **owner.labels,
            },
            "ownerReferences": [_reference(owner)],
        }
        if rendered.resource.namespaced:
            owned.setdefault("namespace", owner.value.metadata.namespace)
        return {**rendered.manifest, "metadata": owned}

    def _target(self, resource: Resource) -> Target[Kept]:
        return Target(resource, self._caches.written[resource])

    def _forget_the_gone(self, old: Kept | None, new: Kept | None) -> None:
        if new is None and old is not None:
            self._refused.pop(old.metadata.uid or "", None)

    def _count(self, target: Target[Kept], written: Written) -> None:
        if written is not Written.UNCHANGED:
            self._context.metrics.wrote(target.resource.plural, written.value)


def _is_about_fields(error: Invalid) -> bool:
    """Tell what the kind itself does not allow, such as another value of a field that is immutable.

    A policy or a webhook refuses the object, and names no field of it.
    """
    return bool(error.details.causes) and all(cause.field for cause in error.details.causes)


def _reference(owner: Owner) -> JsonObject:
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
