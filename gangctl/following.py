"""Reads the logs of all containers of a set: once, or as they are written.

It owns which containers have logs and when a stream begins. Followed pods come from a watch, so pods
that are created later are followed too. A container that cannot be read is reported and does not
end the others. Lines are passed on as they are: nothing is dropped or reordered within a container.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlencode

from gangctl.snapshot import ListedPod
from shared_api.kube.client import Client
from shared_api.kube.errors import KubeError
from shared_api.kube.resources import PODS

if TYPE_CHECKING:
    from shared_api.runtime.watching.reflector import Source

# A container may be silent for days.
_FOR_EVER = 10 * 365 * 86_400.0
_AT_ONCE = 8


@dataclass(frozen=True)
class LogSelection:
    """Which lines of which containers."""

    container: str | None = None
    tail: int = 10
    """Last lines of each container; negative for all."""
    since: int | None = None
    """Seconds."""
    previous: bool = False
    timestamps: bool = False

    def query(self, container: str, *, follow: bool) -> str:
        """Return the query of the API server's log endpoint."""
        found: dict[str, str | int] = {"container": container}
        if self.tail >= 0:
            found["tailLines"] = self.tail
        if self.since is not None:
            found["sinceSeconds"] = self.since
        flags = {"previous": self.previous, "timestamps": self.timestamps, "follow": follow}
        found |= {name: "true" for name, is_set in flags.items() if is_set}
        return urlencode(found)


@dataclass(frozen=True)
class LogLine:
    """One line of one container."""

    pod: str
    container: str
    text: str


@dataclass(frozen=True)
class Stream:
    """One run of a container of a pod."""

    namespace: str
    pod: str
    uid: str
    container: str
    run: int
    """How often the container was restarted before."""


class Sink(Protocol):
    """What becomes of lines and of containers that cannot be read."""

    def line(self, line: LogLine) -> None:
        """Take one line."""

    def problem(self, text: str) -> None:
        """Take the reason why a container cannot be read."""


Wanted = Callable[[ListedPod], bool]


def streams_of(pod: ListedPod, container: str | None) -> Iterator[Stream]:
    """Yield the containers of a pod that have started at least once."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in statuses:
        has_run = status.state.waiting is None or status.restart_count > 0
        if has_run and container in (None, status.name):
            metadata = pod.metadata
            yield Stream(
                metadata.namespace, metadata.name, metadata.uid, status.name, status.restart_count
            )


async def read_logs(
    client: Client, streams: Sequence[Stream], options: LogSelection, sink: Sink
) -> None:
    """Read all logs, several at once, and pass their lines on container by container."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def read(stream: Stream) -> list[LogLine] | str:
        async with slots:
            try:
                return [line async for line in _lines(client, stream, options, follow=False)]
            except KubeError as error:
                return f"{stream.pod}/{stream.container}: {error}"

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(stream)) for stream in streams]
        for task in tasks:
            found = await task
            if isinstance(found, str):
                sink.problem(found)
                continue
            for line in found:
                sink.line(line)


async def follow_logs(
    client: Client,
    source: "Source[ListedPod]",
    wanted: Wanted,
    options: LogSelection,
    sink: Sink,
) -> None:
    """Pass on lines as they are written, of pods that exist and of those that come, until cancelled."""
    # Imported here: verbs that only read do not need watches.
    from shared_api.runtime.watching.cache import Cache
    from shared_api.runtime.watching.reflector import Reflector

    seen: set[Stream] = set()
    cache: Cache[ListedPod] = Cache()

    async def follow(stream: Stream) -> None:
        try:
            async for line in _lines(client, stream, options, follow=True):
                sink.line(line)
        except KubeError as error:
            sink.problem(f"{stream.pod}/{stream.container}: {error}")

    async with asyncio.TaskGroup() as group:

        def changed(_: ListedPod | None, pod: ListedPod | None) -> None:
            if pod is None or not wanted(pod):
                return
            for stream in streams_of(pod, options.container):
                if stream not in seen:
                    seen.add(stream)
                    group.create_task(follow(stream))

        cache.subscribe(changed)
        await cache.run(Reflector(client, source))


async def _lines(
    client: Client, stream: Stream, options: LogSelection, *, follow: bool
) -> AsyncGenerator[LogLine, None]:
    path = PODS.path(stream.namespace, stream.pod, "log")
    query = options.query(stream.container, follow=follow)
    inactivity = _FOR_EVER if follow else 60.0
    chunks = client.chunks(f"{path}?{query}", inactivity=inactivity)
    rest = b""
    async with contextlib.aclosing(chunks):
        async for chunk in chunks:
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield _line(stream, line)
    if rest:
        yield _line(stream, rest)


def _line(stream: Stream, line: bytes) -> LogLine:
    return LogLine(stream.pod, stream.container, line.decode(errors="replace").rstrip("\r"))
