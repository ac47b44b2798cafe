"""A TCP proxy that can hold everything back, as a half-open connection does, or cut it."""

import asyncio
from typing import Self


class Proxy:
    """Forwards bytes to one address until told otherwise; use as an async context manager."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self.connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def freeze(self) -> None:
        """Let nothing through; neither side is told."""
        self._flows.clear()

    def thaw(self) -> None:
        """Let everything through again."""
        self._flows.set()

    def cut(self) -> None:
        """Reset every connection."""
        self._flows.set()
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(upstream_writer)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(reader, upstream_writer))
            group.create_task(self._pump(upstream_reader, writer))
        self._writers -= {writer, upstream_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
