"""Lists and watches one collection, without end.

Three nested generators: `_stream` is one watch request, `_follow` resumes streams one after
another, `batches` lists again when the server has forgotten our version (410). They yield events in
batches, because a step through three generators costs as much as decoding an event. A consumer sees
`Restarted`, then every object as `Changed`, then `Synced`; objects that were not sent again are
gone. From then on each change comes once and in order.

The initial list is streamed (KEP-3157); a server that cannot is listed in pages. A dead connection
is noticed by its silence: the server sends a bookmark every minute. No failure ends the generator,
and a back-off follows each. An object that cannot be decoded is a delta like the others, by its
metadata, so that the version moves past it.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import msgspec

from shared_api.kube.client import EVERYTHING, Client, Selector, WatchStart
from shared_api.kube.codec import Bookmark, Codec, Event, Projection, UnreadableEvent, codec_for
from shared_api.kube.errors import (
    ApiError,
    BadResponse,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    Timeout,
)
from shared_api.kube.resources import Resource
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.queueing.backoff import Backoff

T = TypeVar("T", bound=Projection)


class Restarted(msgspec.Struct, frozen=True, gc=False):
    """A list begins."""


class Changed(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object was added or modified."""

    object: T


class Undecoded(msgspec.Struct, frozen=True, gc=False):
    """An object that cannot be decoded; without a name, a line that is not an event."""

    object: Unreadable


class Removed(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """The last state of a deleted object, with the version of its deletion."""

    object: T | Unreadable


class Synced(msgspec.Struct, frozen=True, gc=False):
    """The list is complete."""

    resource_version: str


class Advanced(msgspec.Struct, frozen=True, gc=False):
    """Everything up to this version has been sent."""

    resource_version: str


Delta: TypeAlias = Restarted | Changed[T] | Undecoded | Removed[T] | Synced | Advanced


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """A collection to watch, and the type to decode its objects into."""

    resource: Resource
    into: type[T]
    namespace: str | None = None
    selector: Selector = EVERYTHING
    metadata_only: bool = False
    optional: bool = False
    """The server may lack the kind; then the list is empty and complete."""


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """How long streams last and how soon they are opened again."""

    shortest: float = 300.0
    """The server ends a stream after this many seconds, up to twice as many."""
    inactivity: float = 70.0
    """Seconds of silence after which we close a stream, because the connection may be half-open."""
    healthy: float = 10.0
    """Seconds after which the end of a stream counts as no failure."""
    backoff: Backoff = field(default_factory=lambda: Backoff(base=0.2, cap=10.0, jitter=0.5))
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Reflector(Generic[T]):
    """Watches one source; only one consumer may iterate `batches` at a time."""

    def __init__(  # noqa: PLR0913 - with the three events of a watch
        self,
        client: Client,
        source: Source[T],
        *,
        timing: WatchTiming | None = None,
        clock: Clock = SYSTEM,
        on_heard: Callable[[], None] | None = None,
        on_restart: Callable[[str, str], None] | None = None,
        on_served: Callable[[bool], None] | None = None,
    ) -> None:
        self.source = source
        self.last_error: KubeError | None = None
        self._on_heard = on_heard
        self._on_served = on_served
        self._served: bool | None = None
        self._client = client
        self._codec: Codec[T] = codec_for(source.into)
        self._timing = timing or WatchTiming()
        self._clock = clock
        self._on_restart = on_restart
        self._streams_initial_state = True
        # The version to resume from; empty until the list is complete.
        self._version = ""
        self._heard_at: float | None = None
        self._began = 0.0
        self._failures = 0

    def stale_for(self) -> float:
        """Return the seconds since the server last sent something; infinite before the first."""
        if self._heard_at is None:
            return float("inf")
        return self._clock.monotonic() - self._heard_at

    async def batches(self) -> AsyncGenerator[list[Delta[T]], None]:
        """Yield the list and its changes, without end."""
        while True:
            self._began = self._clock.monotonic()
            try:
                if not self._version:
                    yield [Restarted()]
                    async with contextlib.aclosing(self._state()) as state:
                        async for batch in state:
                            yield batch
                async with contextlib.aclosing(self._follow()) as changes:
                    async for batch in changes:
                        yield batch
            except KubeError as error:
                if self._must_relist(error):
                    self._version = ""
                if self._is_absent(error):
                    self._heard()
                    self._report_served(is_served=False)
                    yield [Restarted(), Synced("")]
                await self._pause(error)

    async def _state(self) -> AsyncGenerator[list[Delta[T]], None]:
        """List; a streamed list also yields the changes that follow in the same stream."""
        streams = self._streams_initial_state
        try:
            async with contextlib.aclosing(
                self._streamed() if streams else self._listed()
            ) as state:
                async for batch in state:
                    yield batch
        except (Invalid, Timeout):
            if streams and not self._version:
                # The server refuses to stream, or never ends the list.
                self._streams_initial_state = False
            raise

    async def _listed(self) -> AsyncGenerator[list[Delta[T]], None]:
        source = self.source
        version = ""
        pages = self._client.pages(
            source.resource,
            source.namespace,
            into=source.into,
            selector=source.selector,
            metadata_only=source.metadata_only,
        )
        async with contextlib.aclosing(pages):
            async for page in pages:
                self._heard()
                version = page.resource_version
                yield [*map(Changed, page.items), *map(Undecoded, page.unreadable)]
        self._version = version
        # Try again next time: the server may be new, or was only slow.
        self._streams_initial_state = True
        self._report_served(is_served=True)
        yield [Synced(version)]

    async def _streamed(self) -> AsyncGenerator[list[Delta[T]], None]:
        async with contextlib.aclosing(self._stream(initial_events=True)) as batches:
            async for events in batches:
                yield [delta for event in events for delta in self._initial(event)]
        if not self._version:
            raise BadResponse("the stream ended before the list was complete")

    def _initial(self, event: Event[T] | UnreadableEvent | Bookmark) -> Iterator[Delta[T]]:
        if isinstance(event, Bookmark) and event.ends_initial_events:
            self._version = event.resource_version
            self._report_served(is_served=True)
            yield Synced(event.resource_version)
        elif not isinstance(event, Bookmark) or self._version:
            yield self._advance(event)

    async def _follow(self) -> AsyncGenerator[list[Delta[T]], None]:
        """Open stream after stream from the last version, until the server has forgotten it."""
        while True:
            self._began = self._clock.monotonic()
            failure: KubeError | None = None
            try:
                async with contextlib.aclosing(self._stream()) as batches:
                    async for events in batches:
                        yield [self._advance(event) for event in events]
            except KubeError as error:
                if self._must_relist(error):
                    raise
                failure = error
            await self._pause(failure)

    async def _stream(
        self, *, initial_events: bool = False
    ) -> AsyncGenerator[list[Event[T] | UnreadableEvent | Bookmark], None]:
        """Open one stream; raise an error that the server reports in it."""
        source, timing = self.source, self._timing
        batches = self._client.watch_batches(
            source.resource,
            source.namespace,
            start=WatchStart(
                resource_version=self._version,
                initial_events=initial_events,
                timeout=int(timing.shortest * (1 + timing.random())),
                inactivity=timing.inactivity,
            ),
            selector=source.selector,
            metadata_only=source.metadata_only,
            # A resource without any event so far has not even bookmarks.
            on_open=self._heard,
        )
        async with contextlib.aclosing(batches):
            async for lines in batches:
                events, failure = self._codec.events(lines)
                if events:
                    self._heard()
                    yield events
                if failure is not None:
                    raise failure

    def _advance(self, event: Event[T] | UnreadableEvent | Bookmark) -> Delta[T]:
        """Return the delta of an event, and note the version to resume from."""
        if isinstance(event, Bookmark):
            self._version = event.resource_version
            return Advanced(event.resource_version)
        if self._version:
            # Versions of the initial list come in no order.
            self._version = event.object.metadata.resource_version or self._version
        if event.type == "DELETED":
            return Removed(event.object)
        if isinstance(event, UnreadableEvent):
            return Undecoded(event.object)
        return Changed(event.object)

    def _heard(self) -> None:
        self._heard_at = self._clock.monotonic()
        self.last_error = None
        if self._on_heard is not None:
            self._on_heard()

    def _is_absent(self, error: KubeError) -> bool:
        return self.source.optional and isinstance(error, NotFound)

    def _must_relist(self, error: KubeError) -> bool:
        return _is_version_unknown(error) or self._is_absent(error)

    def _report_served(self, *, is_served: bool) -> None:
        if self._on_served is not None and self._served is not is_served:
            self._served = is_served
            self._on_served(is_served)

    async def _pause(self, error: KubeError | None) -> None:
        self.last_error = error
        if self._on_restart is not None:
            self._on_restart(self.source.resource.plural, _reason(error))
        if self._clock.monotonic() - self._began >= self._timing.healthy:
            self._failures = 0
        self._failures += 1
        pause = self._timing.backoff.delay(self._failures)
        if isinstance(error, ApiError) and error.retry_after is not None:
            pause += error.retry_after
        await self._timing.sleep(pause)


def _is_version_unknown(error: KubeError) -> bool:
    """Tell whether the version is too old, or from before an etcd restore."""
    return isinstance(error, Gone) or (
        isinstance(error, ServerError) and error.has_cause("ResourceVersionTooLarge")
    )


def _reason(error: KubeError | None) -> str:
    """Return a label value for metrics, from a bounded set."""
    return "Ended" if error is None else type(error).__name__
