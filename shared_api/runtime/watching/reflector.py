"""The state of a collection, followed without end.

Three nested generators, each small: `_stream` is one watch request, `_follow` resumes
streams one after another, `batches` begins again from the whole state when the server no
longer knows where we were (410). They pass on together what came together, since a step
through three generators costs as much as decoding an event. A consumer sees `Restarted`, then every present object as
`Changed`, then `Synced`; what it held before and was not told of again is gone. From then
on each change comes once and in order.

The initial state is streamed (KEP-3157); a server that cannot is listed in pages. A
connection that went dead without a word is noticed by its silence: the server sends a
bookmark every minute, and if nothing ever happened in a resource, asking again each time is
cheap. No failure ends the generator, and none makes it spin. An object that cannot be decoded is
a delta like the others, by its metadata, so that the version moves past it.
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
    """The whole state follows."""


class Changed(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object as it is now."""

    object: T


class Undecoded(msgspec.Struct, frozen=True, gc=False):
    """An object that cannot be read as it is now; without a name, a line that is no event."""

    object: Unreadable


class Removed(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object as it last was, with the version of its removal."""

    object: T | Unreadable


class Synced(msgspec.Struct, frozen=True, gc=False):
    """The whole state has been sent."""

    resource_version: str


class Advanced(msgspec.Struct, frozen=True, gc=False):
    """Everything up to this version has been sent."""

    resource_version: str


Delta: TypeAlias = Restarted | Changed[T] | Undecoded | Removed[T] | Synced | Advanced


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """What to follow, and as what to decode it."""

    resource: Resource
    into: type[T]
    namespace: str | None = None
    selector: Selector = EVERYTHING
    metadata_only: bool = False
    optional: bool = False
    """The server may lack the kind. Then there are no objects of it, and that is the whole state."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long streams last and how fast they are taken up again."""

    shortest: float = 300.0
    """Seconds after which the server ends a stream, at least; up to twice that."""
    inactivity: float = 70.0
    """Seconds of silence that make us give a stream up. The half-open limit."""
    healthy: float = 10.0
    """A stream that lasted this long was no failure."""
    backoff: Backoff = field(default_factory=lambda: Backoff(base=0.2, cap=10.0, jitter=0.5))
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Reflector(Generic[T]):
    """Follows one source; `batches` may be iterated by one consumer at a time."""

    def __init__(
        self,
        client: Client,
        source: Source[T],
        *,
        pace: Pace | None = None,
        clock: Clock = SYSTEM,
        on_restart: Callable[[str, str], None] | None = None,
        on_served: Callable[[bool], None] | None = None,
    ) -> None:
        self.source = source
        self.last_error: KubeError | None = None
        self.on_heard: Callable[[], None] = lambda: None
        """Called whenever the server was heard on this watch."""
        self._on_served = on_served
        self._served: bool | None = None
        self._client = client
        self._codec: Codec[T] = codec_for(source.into)
        self._pace = pace or Pace()
        self._clock = clock
        self._on_restart = on_restart
        self._streams_initial_state = True
        # Where to resume; empty while the state is not complete.
        self._version = ""
        self._heard_at: float | None = None
        self._began = 0.0
        self._failures = 0

    def stale_for(self) -> float:
        """Seconds since the server was last heard on this watch; infinite before the first."""
        if self._heard_at is None:
            return float("inf")
        return self._clock.monotonic() - self._heard_at

    async def batches(self) -> AsyncGenerator[list[Delta[T]], None]:
        """Yield the state and its changes, for ever."""
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
                if self._has_lost_the_thread(error):
                    self._version = ""
                if self._is_absent(error):
                    self._heard()
                    self._tell_served(is_served=False)
                    yield [Restarted(), Synced("")]
                await self._pause(error)

    async def _state(self) -> AsyncGenerator[list[Delta[T]], None]:
        """The whole state; when streamed, with the changes that follow in the same stream."""
        streams = self._streams_initial_state
        try:
            async with contextlib.aclosing(
                self._streamed() if streams else self._listed()
            ) as state:
                async for batch in state:
                    yield batch
        except (Invalid, Timeout):
            if streams and not self._version:
                # The server refuses to, or never says that the state is complete.
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
        # The server may have been replaced by one that can, or only been slow.
        self._streams_initial_state = True
        self._tell_served(is_served=True)
        yield [Synced(version)]

    async def _streamed(self) -> AsyncGenerator[list[Delta[T]], None]:
        async with contextlib.aclosing(self._stream(initial_events=True)) as batches:
            async for events in batches:
                yield [delta for event in events for delta in self._initial(event)]
        if not self._version:
            raise BadResponse("the stream ended before the state was complete")

    def _initial(self, event: Event[T] | UnreadableEvent | Bookmark) -> Iterator[Delta[T]]:
        if isinstance(event, Bookmark) and event.ends_initial_events:
            self._version = event.resource_version
            self._tell_served(is_served=True)
            yield Synced(event.resource_version)
        elif not isinstance(event, Bookmark) or self._version:
            yield self._advance(event)

    async def _follow(self) -> AsyncGenerator[list[Delta[T]], None]:
        """Stream after stream from the last version, until the server has forgotten it."""
        while True:
            self._began = self._clock.monotonic()
            failure: KubeError | None = None
            try:
                async with contextlib.aclosing(self._stream()) as batches:
                    async for events in batches:
                        yield [self._advance(event) for event in events]
            except KubeError as error:
                if self._has_lost_the_thread(error):
                    raise
                failure = error
            await self._pause(failure)

    async def _stream(
        self, *, initial_events: bool = False
    ) -> AsyncGenerator[list[Event[T] | UnreadableEvent | Bookmark], None]:
        """One request; raise what the server reports inside the stream."""
        source, pace = self.source, self._pace
        batches = self._client.watch_batches(
            source.resource,
            source.namespace,
            start=WatchStart(
                resource_version=self._version,
                initial_events=initial_events,
                timeout=int(pace.shortest * (1 + pace.random())),
                inactivity=pace.inactivity,
            ),
            selector=source.selector,
            metadata_only=source.metadata_only,
            # Of a resource in which nothing ever happened there is not even a bookmark.
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
        """Turn an event into a delta, and remember where to resume."""
        if isinstance(event, Bookmark):
            self._version = event.resource_version
            return Advanced(event.resource_version)
        if self._version:
            # Events of the initial state come in no order of versions.
            self._version = event.object.metadata.resource_version or self._version
        if event.type == "DELETED":
            return Removed(event.object)
        if isinstance(event, UnreadableEvent):
            return Undecoded(event.object)
        return Changed(event.object)

    def _heard(self) -> None:
        self._heard_at = self._clock.monotonic()
        self.last_error = None
        self.on_heard()

    def _is_absent(self, error: KubeError) -> bool:
        return self.source.optional and isinstance(error, NotFound)

    def _has_lost_the_thread(self, error: KubeError) -> bool:
        return _is_from_another_time(error) or self._is_absent(error)

    def _tell_served(self, *, is_served: bool) -> None:
        if self._on_served is not None and self._served is not is_served:
            self._served = is_served
            self._on_served(is_served)

    async def _pause(self, error: KubeError | None) -> None:
        self.last_error = error
        if self._on_restart is not None:
            self._on_restart(self.source.resource.plural, _reason(error))
        if self._clock.monotonic() - self._began >= self._pace.healthy:
            self._failures = 0
        self._failures += 1
        pause = self._pace.backoff.delay(self._failures)
        if isinstance(error, ApiError) and error.retry_after is not None:
            pause += error.retry_after
        await self._pace.sleep(pause)


def _is_from_another_time(error: KubeError) -> bool:
    """The version is too old, or from a future that an etcd restore has undone."""
    return isinstance(error, Gone) or (
        isinstance(error, ServerError) and error.has_cause("ResourceVersionTooLarge")
    )


def _reason(error: KubeError | None) -> str:
    """A word for metrics, from a bounded set."""
    return "Ended" if error is None else type(error).__name__
