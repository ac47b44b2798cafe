"""Writes desired objects with server-side apply, prunes, and sends no needless request.

Each controller has one field manager. The rules, in this order:

* An object that the cache does not show is *created*. The request has a resource version that no
  object has. The server ignores it on a create, and refuses the request if the name exists. So a
  foreign object is never changed.
* An object that exists must be controlled by our owner, or it is not changed.
* A write that would change nothing is not sent. That is the case if the live object has exactly
  the desired fields (see `applied_fields`), or is unchanged since the server answered the same
  manifest (see `last_applied`). The second rule covers values that the server rewrites. A caller
  with a cheaper comparison for its projection passes `unchanged`.
* All other writes are applied with the UID from the cache. So a reused name or a deleted object is
  an error and never creates an object. The apply is forced only if our owner controls the object,
  because then every field in the manifest is ours.

Every write passes the fence, and is noted, so that the same key is not reconciled again before the
caches show the write.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from shared_api.kube.client import Client, Patch, Propagation, Selector
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.applying.applied_fields import Applied, fingerprint, lost_its_owner
from shared_api.runtime.applying.last_applied import LastApplied
from shared_api.runtime.applying.targets import Behalf, NotOurs, OwnershipConflict, Target, Written
from shared_api.runtime.leading.fence import Fence, Unfenced, permitted
from shared_api.runtime.reconciling.outcome import Retry, WaitForEvent
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.owners import controller_of
from shared_api.runtime.watching.predicates import Watched

W = TypeVar("W", bound=Watched)
A = TypeVar("A", bound=Watched)

CREATE_ONLY = "1"
"""A resource version that no object has: the first write to etcd gets a later one."""


class Applier:
    """Writes for one controller."""

    def __init__(
        self,
        client: Client,
        field_manager: str,
        pending: PendingWrites,
        telemetry: Telemetry,
        *,
        fence: Fence | None = None,
        parallel: int = 16,
    ) -> None:
        self._client = client
        self._manager = field_manager
        self._pending = pending
        self._written = telemetry.written(field_manager)
        self._fence = fence or Unfenced()
        self._last_applied = LastApplied(field_manager)
        self._followed: set[object] = set()
        self._parallel = parallel

    async def converge(
        self,
        target: Target[W],
        desired: Iterable[Mapping[str, object]],
        observed: Iterable[W],
        behalf: Behalf,
    ) -> Counter[Written]:
        """Apply the desired objects, then delete controlled objects that are not desired."""
        wanted = {_key(manifest): manifest for manifest in desired}
        report: Counter[Written] = Counter()

        async def apply(manifest: Mapping[str, object]) -> None:
            report[await self.apply(target, manifest, behalf)] += 1

        async def delete(value: W) -> None:
            report[await self.delete(target, value, behalf)] += 1

        await slow_start(wanted.values(), apply, limit=self._parallel)
        # After the applies: the new objects may replace those that are deleted here.
        vanished = [
            value
            for value in observed
            if _key_of(value) not in wanted
            and value.metadata.deletion_timestamp is None
            and behalf.owner is not None
            and controller_of(value) == behalf.owner
        ]
        await slow_start(vanished, delete, limit=self._parallel)
        return report

    async def apply(
        self, target: Target[W], manifest: Mapping[str, object], behalf: Behalf
    ) -> Written:
        """Create or update one object, unless it is as desired."""
        child = _key(manifest)
        observed = target.cache.get(child)
        if observed is None:
            precondition = _Precondition("resourceVersion", CREATE_ONLY, _wanted(target, manifest))
            await self._send(target, manifest, behalf, precondition)
            return self._count(target, Written.CREATED)
        if observed.metadata.deletion_timestamp is not None:
            raise WaitForEvent(f"{target.resource} {child} is being deleted")
        if behalf.owner is not None and controller_of(observed) != behalf.owner:
            raise NotOurs(f"{target.resource} {child} exists and is not controlled by {behalf.key}")
        return await self._update(target, manifest, observed, behalf)

    async def hidden(self, target: Target[W], key: ObjectKey) -> PartialObject | None:
        """Return the metadata of an object that a cache with a selector does not show, if any.

        This is a list request, because every process with a cache has the right to list.
        """
        pages = self._client.pages(
            target.resource,
            key.namespace or None,
            into=PartialObject,
            selector=Selector(fields=f"metadata.name={key.name}"),
            metadata_only=True,
        )
        found = [item async for page in pages for item in page.items]
        return found[0] if found else None

    async def reclaim(
        self, target: Target[W], manifest: Mapping[str, object], seen: Watched, behalf: Behalf
    ) -> Written:
        """Apply to an object of our owner that a cache with a selector does not show any more.

        Another client has removed the labels that select it, or the controller reference to our
        owner. Applying restores them.
        """
        owner = behalf.owner
        if owner is None or not (
            controller_of(seen) == owner or lost_its_owner(seen, self._manager, owner)
        ):
            raise NotOurs(f"{target.resource} {_key(manifest)} is not controlled by {behalf.key}")
        wanted = _wanted(target, manifest)
        precondition = _Precondition("uid", seen.metadata.uid or "", wanted, force=True)
        await self._send(target, manifest, behalf, precondition)
        return self._count(target, Written.APPLIED)

    async def apply_status(
        self, target: Target[W], manifest: Mapping[str, object], behalf: Behalf
    ) -> Written:
        """Apply our fields of the status of an existing object, readable or not."""
        key = _key(manifest)
        # The cached version of an unreadable object is an older one, with an older status.
        observed = target.cache.unreadable.get(key) or target.cache.get(key)
        if observed is None:
            raise WaitForEvent(f"{target.resource} {key} is gone")
        return await self._update(target, manifest, observed, behalf, "status")

    async def delete(
        self,
        target: Target[W],
        observed: W,
        behalf: Behalf,
        *,
        only_unchanged: bool = False,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_period: int | None = None,
    ) -> Written:
        """Delete the object with this UID; succeed if it is gone already.

        With `only_unchanged` nothing is deleted, and the key is tried again, if the object has
        another version than the one that was observed.
        """
        child, metadata = _key_of(observed), observed.metadata
        uid, version = metadata.uid or "", metadata.resource_version if only_unchanged else None
        try:
            async with permitted(self._fence):
                await self._client.delete(
                    target.resource,
                    child.name,
                    child.namespace or None,
                    uid=uid,
                    version=version,
                    propagation=propagation,
                    grace_period=grace_period,
                )
        except NotFound:
            pass
        except Conflict as error:
            if version:
                raise Retry(f"{target.resource} {child} has changed: {error}") from error
            # The name has another UID now: a watch event will follow.
        self._pending.deleted(behalf.key, target.cache, child, uid)
        return self._count(target, Written.DELETED)

    async def create(
        self, target: Target[W], manifest: Mapping[str, object], behalf: Behalf, *, into: type[A]
    ) -> A | None:
        """Create an object that is not applied later, such as a pod.

        Return the answer of the server, or None if the name exists. A plain create costs the
        server less than an apply, and records no field owner for each field.
        """
        try:
            async with permitted(self._fence):
                answer = await self._client.create(
                    target.resource, manifest, field_manager=self._manager, into=into
                )
        except AlreadyExists:
            return None
        version = answer.metadata.resource_version or ""
        self._pending.wrote(behalf.key, target.cache, _key(manifest), version)
        self._count(target, Written.CREATED)
        return answer

    async def patch(
        self,
        target: Target[W],
        observed: W,
        patch: Patch,
        behalf: Behalf,
        subresource: str | None = None,
    ) -> Written:
        """Change a part of an object that we do not own as a whole.

        The patch must contain its own precondition, such as a `test` operation of a JSON patch. If
        the precondition fails, the cache was behind the server.
        """
        child = _key_of(observed)
        try:
            async with permitted(self._fence):
                answer = await self._client.patch(
                    target.resource,
                    child.name,
                    child.namespace or None,
                    patch=patch,
                    field_manager=self._manager,
                    subresource=subresource,
                )
        except Invalid as error:
            raise WaitForEvent(f"{target.resource} {child} is not as it was: {error}") from error
        self._pending.wrote(behalf.key, target.cache, child, answer.metadata.resource_version or "")
        return self._count(target, Written.PATCHED)

    async def _update(
        self,
        target: Target[W],
        manifest: Mapping[str, object],
        observed: W | Unreadable,
        behalf: Behalf,
        subresource: str = "",
    ) -> Written:
        # Without fingerprints in the cache, the object cannot be compared with what was applied.
        wanted = _wanted(target, manifest) if isinstance(observed, Applied) else None
        if (
            self._last_applied.is_unchanged(observed, wanted, subresource)
            if wanted is not None
            else target.unchanged is not None
            and not isinstance(observed, Unreadable)
            and target.unchanged(observed, manifest)
        ):
            return self._count(target, Written.UNCHANGED)
        is_ours = behalf.owner is not None and controller_of(observed) == behalf.owner
        precondition = _Precondition(
            "uid",
            observed.metadata.uid or "",
            wanted,
            force=behalf.force or is_ours,
            subresource=subresource,
        )
        await self._send(target, manifest, behalf, precondition)
        return self._count(target, Written.APPLIED)

    async def _send(
        self,
        target: Target[W],
        manifest: Mapping[str, object],
        behalf: Behalf,
        precondition: "_Precondition",
    ) -> None:
        child = _key(manifest)
        body = {
            **manifest,
            "metadata": {**_metadata(manifest), precondition.field: precondition.value},
        }
        own_writes = target.cache.own_writes if precondition.subresource == "status" else None
        version: str | None = None
        # Without fingerprints nothing is compared, so the metadata of the answer is enough.
        into: type[Applied[PartialObject] | PartialObject]
        into = PartialObject if precondition.wanted is None else self._last_applied.into
        if own_writes is not None:
            own_writes.begin(precondition.value)
        try:
            async with permitted(self._fence):
                answer = await self._client.apply(
                    target.resource,
                    body,
                    field_manager=self._manager,
                    force=precondition.force,
                    subresource=precondition.subresource or None,
                    into=into,
                )
            version = answer.metadata.resource_version or ""
        except Conflict as error:
            if error.is_field_ownership:
                raise OwnershipConflict(f"{target.resource} {child}", error) from error
            raise
        except Invalid as error:
            if any(cause.field == "metadata.uid" for cause in error.details.causes):
                raise WaitForEvent(f"{target.resource} {child} was replaced by another") from error
            raise
        finally:
            if own_writes is not None:
                shown = target.cache.get_by_uid(precondition.value)
                seen = None if shown is None else shown.metadata.resource_version
                own_writes.end(precondition.value, version, seen)
        self._pending.wrote(behalf.key, target.cache, child, version)
        if precondition.wanted is not None and isinstance(answer, Applied):
            self._last_applied.remember(answer, precondition.wanted, precondition.subresource)
            if target.cache not in self._followed:
                self._followed.add(target.cache)
                target.cache.subscribe(self._forget_the_gone)

    def _forget_the_gone(self, old: Watched | None, new: Watched | None) -> None:
        if new is None and old is not None:
            self._last_applied.forget(old.metadata.uid or "")

    def _count(self, target: Target[W], written: Written) -> Written:
        self._written(target.resource.plural, written.value)
        return written


@dataclass(frozen=True, slots=True)
class _Precondition:
    """The precondition of an apply, and its options."""

    field: str
    """The field of the metadata that the server compares with the stored object."""
    value: str
    wanted: bytes | None
    """The fingerprint of the manifest, where fingerprints are compared."""
    force: bool = False
    subresource: str = ""


def _wanted(target: Target[W], manifest: Mapping[str, object]) -> bytes | None:
    return None if target.unchanged is not None else fingerprint(manifest)


def _metadata(manifest: Mapping[str, object]) -> Mapping[str, object]:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        raise TypeError("the manifest has no metadata")
    return metadata


def _key(manifest: Mapping[str, object]) -> ObjectKey:
    metadata = _metadata(manifest)
    return ObjectKey(str(metadata.get("namespace") or ""), str(metadata["name"]))


def _key_of(value: Watched) -> ObjectKey:
    return ObjectKey(value.metadata.namespace or "", value.metadata.name)
