"""The verbs of the Kubernetes API: get, list, create, apply, patch, delete, watch.

A verb turns its arguments into an `ApiRequest`, sends it with the retry policy and decodes the
answer into the type that the caller names. A delete requires the UID of the object, so that a new
object of the same name is never deleted. There is no client-side rate limit: the number of
requests in flight is bounded, and the client follows the server's flow control.
"""

import copy
import enum
import functools
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar, overload
from urllib.parse import urlencode

from shared_api.kube import access
from shared_api.kube.codec import Page, PartialObject, codec_for, encode
from shared_api.kube.http.slots import Urgency
from shared_api.kube.http.transport import (
    JSON_TYPE,
    ApiRequest,
    ConnectionLimits,
    Line,
    Observer,
    Transport,
)
from shared_api.kube.resources import Resource
from shared_api.kube.retry import RetryPolicy

T = TypeVar("T")

PAGE_SIZE = 500
USER_AGENT = "podgang"
METADATA_OBJECT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
APPLY_TYPE = "application/apply-patch+yaml"


class PatchType(enum.Enum):
    """The type of a patch, as its media type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Patch:
    """The body of a patch and its type."""

    body: Mapping[str, object] | Sequence[Mapping[str, object]]
    kind: PatchType = PatchType.MERGE


class Propagation(enum.Enum):
    """What the server does with the objects that a deleted object owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects objects of a collection; an empty selector selects all."""

    labels: str = ""
    fields: str = ""


@dataclass(frozen=True, slots=True)
class WatchStart:
    """The version at which a watch begins, and how long it may last."""

    resource_version: str = ""
    initial_events: bool = False
    """Request the present objects first, then a bookmark that marks their end (KEP-3157)."""
    timeout: int = 300
    """Seconds after which the server ends the stream."""
    inactivity: float = 70.0
    """Seconds without data after which the client ends it; bookmarks come about once a minute."""


EVERYTHING = Selector()


class Client:
    """One API server; use as an async context manager."""

    def __init__(
        self,
        source: access.Access,
        *,
        limits: ConnectionLimits | None = None,
        retry: RetryPolicy | None = None,
        observe: Observer | None = None,
        user_agent: str = USER_AGENT,
    ) -> None:
        self._transport = Transport(source, limits or ConnectionLimits(), observe, user_agent)
        self._retry = retry or RetryPolicy()
        self._urgency = Urgency.GO_ON

    @classmethod
    def from_environment(
        cls, *, observe: Observer | None = None, user_agent: str = USER_AGENT
    ) -> Self:
        """Use the service account of the pod, or outside of a pod the user's kubeconfig."""
        return cls(access.from_environment(), observe=observe, user_agent=user_agent)

    @classmethod
    def from_kubeconfig(
        cls,
        path: Path | str,
        context: str | None = None,
        *,
        observe: Observer | None = None,
        user_agent: str = USER_AGENT,
    ) -> Self:
        """Use one context of a kubeconfig."""
        found = access.from_kubeconfig(path, context)
        return cls(found, observe=observe, user_agent=user_agent)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._transport.__aexit__(*exc)

    def at(self, urgency: Urgency) -> Self:
        """Return a client of another urgency; its connections belong to this one."""
        sibling = copy.copy(self)
        sibling._urgency = urgency
        return sibling

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        into: type[T],
        metadata_only: bool = False,
    ) -> T:
        """Read one object."""
        request = ApiRequest(
            "GET",
            resource.path(namespace, name),
            "GET",
            resource.plural,
            accept=METADATA_OBJECT if metadata_only else JSON_TYPE,
        )
        return codec_for(into).one(await self._send(request))

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        into: type[T],
        selector: Selector = EVERYTHING,
        metadata_only: bool = False,
        limit: int = PAGE_SIZE,
    ) -> AsyncGenerator[Page[T], None]:
        """List a collection in pages of one version; raise Gone if that becomes too old."""
        codec = codec_for(into)
        token = ""
        while True:
            query = _query(selector, limit=limit, **{"continue": token})
            request = ApiRequest(
                "GET",
                resource.path(namespace) + query,
                "LIST",
                resource.plural,
                accept=METADATA_LIST if metadata_only else JSON_TYPE,
            )
            page = codec.page(await self._send(request))
            yield page
            token = page.next_token
            if not token:
                return

    async def create(
        self,
        resource: Resource,
        manifest: Mapping[str, object],
        *,
        field_manager: str,
        subresource: str | None = None,
        dry_run: bool = False,
        into: type[T],
    ) -> T:
        """Create an object, or post to a subresource of the one that the manifest names.

        A dry run goes through admission and validation, and stores nothing.
        """
        namespace, name = _identity(manifest)
        request = ApiRequest(
            "POST",
            resource.path(namespace, name if subresource else None, subresource)
            + _query(
                fieldManager=field_manager,
                fieldValidation="Strict",
                dryRun="All" if dry_run else "",
            ),
            "DRYRUN" if dry_run else "POST",
            _label(resource, subresource),
            encode(manifest),
            repeatable=dry_run,
        )
        return codec_for(into).one(await self._send(request))

    @overload
    async def apply(
        self,
        resource: Resource,
        manifest: Mapping[str, object],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
    ) -> PartialObject: ...

    @overload
    async def apply(
        self,
        resource: Resource,
        manifest: Mapping[str, object],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        into: type[T],
    ) -> T: ...

    async def apply(
        self,
        resource: Resource,
        manifest: Mapping[str, object],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        into: type[T] | type[PartialObject] = PartialObject,
    ) -> T | PartialObject:
        """Send a server-side apply for a field manager; the server creates a missing object."""
        namespace, name = _identity(manifest)
        if not name:
            raise ValueError("an apply needs the name of an object")
        request = ApiRequest(
            "PATCH",
            resource.path(namespace, name, subresource)
            + _query(
                fieldManager=field_manager,
                fieldValidation="Strict",
                force="true" if force else "",
            ),
            "APPLY",
            _label(resource, subresource),
            encode(manifest),
            content_type=APPLY_TYPE,
        )
        return codec_for(into).one(await self._send(request))

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        patch: Patch,
        field_manager: str,
        subresource: str | None = None,
    ) -> PartialObject:
        """Patch an object; a JSON patch is not sent again once it may have arrived."""
        request = ApiRequest(
            "PATCH",
            resource.path(namespace, name, subresource)
            + _query(fieldManager=field_manager, fieldValidation="Strict"),
            "PATCH",
            _label(resource, subresource),
            encode(patch.body),
            content_type=patch.kind.value,
            repeatable=patch.kind is not PatchType.JSON,
        )
        return codec_for(PartialObject).one(await self._send(request))

    async def delete(  # noqa: PLR0913 - one argument for each option of the API
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str,
        version: str | None = None,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_period: int | None = None,
    ) -> None:
        """Delete the object with this UID; raise Conflict if the name has another UID now.

        With a resource version it is also a Conflict if the object has changed since.
        """
        options: dict[str, object] = {
            "preconditions": {"uid": uid} | ({"resourceVersion": version} if version else {}),
            "propagationPolicy": propagation.value,
        }
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        request = ApiRequest(
            "DELETE", resource.path(namespace, name), "DELETE", resource.plural, encode(options)
        )
        await self._send(request)

    def watch_batches(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        start: WatchStart,
        selector: Selector = EVERYTHING,
        metadata_only: bool = False,
        on_open: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[list[Line], None]:
        """Watch a collection once; yield undecoded events as they arrive, until the stream ends.

        `on_open` is called when the server has accepted the watch, since the first event may come
        much later.
        """
        query = _query(
            selector,
            watch="1",
            allowWatchBookmarks="true",
            timeoutSeconds=start.timeout,
            resourceVersion=start.resource_version,
            sendInitialEvents="true" if start.initial_events else "",
            resourceVersionMatch="NotOlderThan" if start.initial_events else "",
        )
        request = ApiRequest(
            "GET",
            resource.path(namespace) + query,
            "WATCH",
            resource.plural,
            accept=METADATA_OBJECT if metadata_only else JSON_TYPE,
        )
        return self._transport.batches(request, start.inactivity, on_open)

    def chunks(self, path: str, *, inactivity: float) -> AsyncGenerator[bytes, None]:
        """Read a path piece by piece while it arrives, such as the log of a container.

        The stream fails if nothing arrives for `inactivity` seconds.
        """
        request = ApiRequest("GET", path, "GET", "raw", accept="*/*")
        return self._transport.chunks(request, inactivity)

    async def try_patch(
        self, resource: Resource, key: tuple[str, str], body: Mapping[str, object], *, into: type[T]
    ) -> T:
        """Return what a merge patch would make of an object, after admission; nothing is stored."""
        namespace, name = key
        target = resource.path(namespace, name) + _query(fieldValidation="Strict", dryRun="All")
        media_type = PatchType.MERGE.value
        request = ApiRequest(
            "PATCH", target, "DRYRUN", resource.plural, encode(body), content_type=media_type
        )
        return codec_for(into).one(await self._send(request))

    async def raw(self, path: str) -> bytes:
        """Read a path that is not an object, such as /version or /apis."""
        return await self._send(ApiRequest("GET", path, "GET", "raw"))

    async def _send(self, request: ApiRequest) -> bytes:
        return await self._retry.run(
            lambda: self._transport.send(request, self._urgency), repeatable=request.repeatable
        )


@functools.lru_cache(maxsize=512)
def _query(selector: Selector = EVERYTHING, **options: str | int) -> str:
    pairs = {"labelSelector": selector.labels, "fieldSelector": selector.fields, **options}
    return "?" + urlencode({key: value for key, value in pairs.items() if value != ""})


def _label(resource: Resource, subresource: str | None) -> str:
    return f"{resource.plural}/{subresource}" if subresource else resource.plural


def _identity(manifest: Mapping[str, object]) -> tuple[str | None, str | None]:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        raise TypeError("the manifest has no metadata")
    return metadata.get("namespace"), metadata.get("name")
