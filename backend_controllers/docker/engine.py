"""One engine over its API: the only module that talks to a container host.

Every call has a deadline, because a frozen engine accepts connections and answers nothing. Errors
become one of four outcomes: refused by the engine (Invalid, or Capacity if a name or device is in
use), not delivered (Transient), or without an answer (Ambiguous).
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiodocker
import aiohttp
from aiodocker.ssh import SSHConnector

from backend_controllers.contract.remote.executor import ExecutorError, LogOptions, Outcome
from backend_controllers.docker.log_frames import pieces_of
from backend_controllers.docker.options import DockerHost
from shared_api.runtime.clock import SYSTEM

_CALL_SECONDS = 10.0
_PROBE_SECONDS = 4.0
"""Two probes that fail must be over, with the pauses before them, in 20 seconds."""
_CREATE_SECONDS = 60.0
_PULL_SECONDS = 4 * 3600.0
_KEEPALIVE_SECONDS = 5.0
_NOT_CONNECTED = 900
"""aiodocker's status if the connection failed."""

_ENDINGS = (TimeoutError, OSError, aiohttp.ClientError, aiodocker.DockerError)

Json = dict[str, object]


class Engine:
    """The API of one host; a context manager."""

    def __init__(self, host: DockerHost, labels: Mapping[str, str]) -> None:
        self.host = host
        self._filters = json.dumps({"label": [f"{key}={value}" for key, value in labels.items()]})
        self._docker: aiodocker.Docker | None = None

    async def __aenter__(self) -> "Engine":
        self._docker = _connect(self.host)
        return self

    async def __aexit__(self, *exc: object) -> None:
        docker, self._docker = self._docker, None
        if docker is not None:
            # The stream of events raises what ended it, such as the death of the engine. It is
            # stopped first, so that the sockets are closed all the same. A connector of ours, that of
            # SSH, is not closed by the client.
            for close in (docker.events.stop, docker.close, docker.connector.close):
                with contextlib.suppress(*_ENDINGS):
                    async with asyncio.timeout(_PROBE_SECONDS):
                        await close()

    @property
    def docker(self) -> aiodocker.Docker:
        """The client, while the engine is open."""
        if self._docker is None:
            raise ExecutorError(Outcome.TRANSIENT, f"host {self.host.name} is not connected")
        return self._docker

    async def info(self) -> Json:
        """Return CPUs and memory of the host."""
        async with _deadline(self.host.name, Outcome.TRANSIENT, _PROBE_SECONDS):
            return dict(await self.docker.system.info())

    async def containers(self) -> list[Json]:
        """Return all containers of this backend, in full."""
        async with _deadline(self.host.name, Outcome.TRANSIENT):
            found = await self.docker.containers.list(all=1, filters=self._filters)
        shown = [await self.container(one.id) for one in found]
        return [one for one in shown if one is not None]

    async def container(self, name: str) -> Json | None:
        """Return a container by ID or name; None if there is none."""
        try:
            async with _deadline(self.host.name, Outcome.TRANSIENT):
                found = await self.docker.containers.get(name)
                shown: Json = dict(found._container)
                return shown
        except _GoneError:
            return None

    async def create(self, name: str, body: Mapping[str, Any]) -> Json:
        """Create a container, or return the one that has this name already."""
        try:
            async with _deadline(self.host.name, Outcome.AMBIGUOUS, _CREATE_SECONDS):
                await self.docker.containers.create(body, name=name)
        except _TakenError:
            # The same call before: its answer was lost.
            pass
        except _GoneError as error:
            raise ExecutorError(Outcome.INVALID, str(error)) from error
        shown = await self.container(name)
        if shown is None:
            message = f"host {self.host.name}: container {name} vanished after it was created"
            raise ExecutorError(Outcome.TRANSIENT, message)
        return shown

    async def has_image(self, image: str) -> bool:
        """Tell whether the engine has an image."""
        try:
            async with _deadline(self.host.name, Outcome.TRANSIENT):
                await self.docker.images.inspect(image)
        except _GoneError:
            return False
        return True

    async def pull(self, image: str, report: Callable[[Mapping[str, object]], None]) -> None:
        """Pull an image; `report` gets each line of the engine's progress."""
        try:
            async with _deadline(self.host.name, Outcome.TRANSIENT, _PULL_SECONDS):
                async for line in self.docker.images.pull(image, stream=True):
                    report(line)
        except _GoneError as error:
            message = f"host {self.host.name}: image {image} cannot be pulled: {error}"
            raise ExecutorError(Outcome.INVALID, message) from error

    async def start(self, container: str) -> None:
        """Start a container; it succeeds if the container runs already."""
        async with _deadline(self.host.name, Outcome.AMBIGUOUS, _CREATE_SECONDS):
            await self.docker.containers.container(container).start()

    async def remove(self, container: str, grace_seconds: int) -> None:
        """Stop and remove a container; it succeeds if the container is gone."""
        deadline = _CALL_SECONDS + grace_seconds
        with contextlib.suppress(_GoneError):
            async with _deadline(self.host.name, Outcome.AMBIGUOUS, deadline):
                found = self.docker.containers.container(container)
                # Podman's forced removal waits for the grace of the container; Docker's does not.
                await found.stop(t=grace_seconds)
                await found.delete(force=True, v=True)

    async def ensure_network(self, name: str, labels: Mapping[str, str]) -> None:
        """Create a network of this name if there is none."""
        body = {
            "Name": name,
            "CheckDuplicate": True,
            "Driver": "bridge",
            "Labels": dict(labels),
        }
        with contextlib.suppress(_TakenError):
            async with _deadline(self.host.name, Outcome.TRANSIENT):
                await self.docker.networks.create(body)

    async def networks(self) -> list[str]:
        """Return the names of all networks of this backend."""
        async with _deadline(self.host.name, Outcome.TRANSIENT):
            found = await self.docker.networks.list(filters=json.loads(self._filters))
        return [str(network["Name"]) for network in found]

    async def remove_network(self, name: str) -> None:
        """Remove a network if it exists and is not in use."""
        with contextlib.suppress(_GoneError, ExecutorError):
            async with _deadline(self.host.name, Outcome.TRANSIENT):
                await (await self.docker.networks.get(name)).delete()

    async def events(self, since: str) -> AsyncIterator[str]:
        """Yield the IDs of containers of this backend that changed, until the stream ends.

        It begins with the events after `since`, a time of the engine's own clock: what happened
        between a list and the beginning of the stream is not lost.
        """
        wanted = {"filters": self._filters} | ({"since": since} if since else {})
        subscriber: Any = self.docker.events.subscribe(**wanted)  # type: ignore[no-untyped-call]
        while True:
            event = await subscriber.get()
            if event is None:
                return
            if not isinstance(event, Mapping):
                continue
            actor = event.get("Actor")
            if event.get("Type") == "container" and isinstance(actor, Mapping):
                yield str(actor.get("ID", ""))

    async def logs(self, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield the log of a container in pieces, as the engine sends them."""
        wanted = {
            "stdout": "1",
            "stderr": "1",
            "follow": str(int(options.follow)),
            "timestamps": str(int(options.timestamps)),
        }
        if options.tail is not None:
            wanted["tail"] = str(options.tail)
        if options.since_seconds is not None:
            wanted["since"] = str(int(SYSTEM.utc().timestamp()) - options.since_seconds)
        unlimited = aiohttp.ClientTimeout(total=None, sock_connect=_CALL_SECONDS)
        path = f"containers/{container}/logs"
        try:
            async with self.docker._query(path, params=wanted, timeout=unlimited) as answer:
                async for piece in pieces_of(answer.content.readexactly):
                    yield piece
        except (aiodocker.DockerError, aiohttp.ClientError) as error:
            raise ExecutorError(Outcome.TRANSIENT, f"host {self.host.name}: {error}") from error


class _GoneError(ExecutorError):
    """The engine does not have it."""


class _TakenError(ExecutorError):
    """The name or the state is in use already."""


@contextlib.asynccontextmanager
async def _deadline(
    host: str, without_answer: Outcome, seconds: float = _CALL_SECONDS
) -> AsyncIterator[None]:
    """Bound a call, and turn its errors into outcomes."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        message = f"host {host} did not answer in {seconds:g} s"
        raise ExecutorError(without_answer, message) from error
    except aiodocker.DockerError as error:
        message = f"host {host}: {error.message}"
        if error.status == 404:
            raise _GoneError(Outcome.INVALID, message) from error
        if error.status == 409:
            raise _TakenError(Outcome.TRANSIENT, message) from error
        if error.status == _NOT_CONNECTED:
            was_sent = not isinstance(error.__cause__, aiohttp.ClientConnectorError)
            raise ExecutorError(
                without_answer if was_sent else Outcome.TRANSIENT, message
            ) from error
        is_final = 400 <= error.status < 500
        raise ExecutorError(Outcome.INVALID if is_final else Outcome.TRANSIENT, message) from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        # The library believes what an engine answers; one that lies must not end the others.
        message = f"host {host} gave an answer that no engine gives: {error!r}"
        raise ExecutorError(without_answer, message) from error
    except (aiohttp.ClientError, OSError) as error:
        # Sent, perhaps: the connection was lost under way.
        raise ExecutorError(
            without_answer, f"host {host}: {str(error) or type(error).__name__}"
        ) from error


class _PinnedConnector(SSHConnector):
    """SSH with what is mounted into this process, and nothing of its user or its environment."""

    async def close(self) -> None:  # type: ignore[override]
        """Close without last messages: over a link that is cut, they would be sent for minutes."""
        if self._ssh_conn is not None:
            self._ssh_conn.abort()
        await super().close()

    def _load_ssh_config(self) -> dict[str, Any]:
        return {}

    def _clean_environment(self) -> dict[str, str]:
        # The library would send all variables of this process to the host.
        return {}


def _connect(host: DockerHost) -> aiodocker.Docker:
    if host.url.startswith("tcp://") and host.tls is not None:
        context = ssl.create_default_context(cafile=host.tls.ca_file)
        context.load_cert_chain(host.tls.cert_file, host.tls.key_file)
        url = host.url.replace("tcp://", "https://", 1)
        return aiodocker.Docker(url=url, ssl_context=context)
    if host.url.startswith("ssh://") and host.ssh is not None:
        connector = _PinnedConnector(
            host.url,
            known_hosts=host.ssh.known_hosts_file,
            client_keys=[host.ssh.key_file],
            # Only what is mounted into this process counts: no agent, password or file of a user.
            agent_path=None,
            config=None,
            preferred_auth="publickey",
            connect_timeout=_CALL_SECONDS,
            keepalive_interval=_KEEPALIVE_SECONDS,
        )
        return aiodocker.Docker(url="unix://localhost", connector=connector)
    return aiodocker.Docker(url=host.url)
