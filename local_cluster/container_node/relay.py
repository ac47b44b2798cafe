"""Copies bytes between the pods' address of the API server and the API server's own.

The listening socket belongs to the node's network namespace and the connections from here to the
machine's: a socket keeps the namespace in which it was made.
"""

import asyncio
import contextlib
import socket

_CHUNK = 1 << 16


async def serve(listener: socket.socket, host: str, port: int) -> asyncio.Server:
    """Accept connections on the listener and relay each to host and port."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(host, port)
        except OSError:
            # The API server is down; the client sees a closed connection and tries again.
            writer.close()
            return
        async with asyncio.TaskGroup() as copies:
            copies.create_task(_copy(reader, upstream_writer))
            copies.create_task(_copy(upstream_reader, writer))

    return await asyncio.start_server(relay, sock=listener)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        with contextlib.suppress(OSError):
            writer.close()
