"""A kubelet that only serves logs, on loopback, behind the real API server."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from local_cluster.certificates import Authority

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


class Kubelet:
    """Answers `/containerLogs/...` with the text of a pod, and can write more to followers."""

    def __init__(self) -> None:
        self.port = 0
        self.text: dict[str, str] = {}
        """By pod."""
        self.asked: list[dict[str, list[str]]] = []
        """The queries, as the API server passed them on."""
        self.followers: dict[str, asyncio.StreamWriter] = {}
        self.changed = asyncio.Event()

    async def write(self, pod: str, text: str) -> None:
        """Write to the one who follows a pod."""
        writer = self.followers[pod]
        writer.write(_chunk(text))
        await writer.drain()

    async def until_followed(self, pod: str) -> None:
        """Wait until a pod is followed."""
        async with asyncio.timeout(60):
            while pod not in self.followers:
                self.changed.clear()
                await self.changed.wait()

    @contextlib.asynccontextmanager
    async def serving(self, directory: Path) -> AsyncIterator["Kubelet"]:
        """Serve until the block ends."""
        pair = Authority(directory).server("kubelet")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            head = await reader.readuntil(b"\r\n\r\n")
            target = urlsplit(head.split(b" ")[1].decode())
            pod, query = target.path.split("/")[3], parse_qs(target.query)
            self.asked.append(query)
            writer.write(_HEAD + _chunk(self.text.get(pod, "")))
            await writer.drain()
            if query.get("follow") == ["true"]:
                self.followers[pod] = writer
                self.changed.set()
                await reader.read()
            else:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        writer.close()


def _chunk(text: str) -> bytes:
    body = text.encode()
    return b"%x\r\n%b\r\n" % (len(body), body) if body else b""
