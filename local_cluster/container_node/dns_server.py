"""Serves the DNS records of `dns_records` and keeps them current by a watch of EndpointSlices."""

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Any, cast

import aiohttp

from local_cluster.api import Api, ApiError, Object
from local_cluster.container_node.dns_records import Records, answer, records

_PATH = "/apis/discovery.k8s.io/v1/endpointslices"
_RETRY_SECONDS = 1.0


class DnsServer(asyncio.DatagramProtocol):
    """Answers from the EndpointSlices that it has seen."""

    def __init__(self) -> None:
        self._records: Records = records([])
        self._transport: asyncio.DatagramTransport | None = None

    async def serve(self, listener: socket.socket) -> None:
        """Start to answer on the socket."""
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, sock=listener)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for answers."""
        # Not by isinstance: the loop's own transport has another base class.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Answer one query."""
        assert self._transport is not None
        response = answer(data, self._records)
        if response is not None:
            self._transport.sendto(response, addr)

    async def follow(self, kubeconfig: Path) -> None:
        """Keep the records current, across ended watches and restarts of the API server."""
        while True:
            with contextlib.suppress(aiohttp.ClientError, OSError, ApiError, TimeoutError):
                await self._watch(kubeconfig)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _watch(self, kubeconfig: Path) -> None:
        seen: dict[str, Object] = {}
        async with (
            Api(kubeconfig) as api,
            contextlib.aclosing(api.current_and_following(_PATH)) as events,
        ):
            async for event in events:
                item = event["object"]
                match event["type"]:
                    case "ADDED" | "MODIFIED":
                        seen[item["metadata"]["uid"]] = item
                    case "DELETED":
                        seen.pop(item["metadata"]["uid"], None)
                    case "ERROR":
                        return
                    case _:
                        pass  # a bookmark
                self._records = records(seen.values())
