"""An HTTP server of ready-made bytes, in a process of its own.

The label selector of a watch chooses the answer. A watch for the state gets `state=N` pods and the
bookmark after them, and then no data, or the end of the stream if it also selects changes. Another
watch gets `changes=N` changes and the end. Every other request gets one small object.
"""

import asyncio
import contextlib
import json
import multiprocessing
import re
from collections.abc import Iterator
from functools import cache
from multiprocessing.connection import Connection

from tests.kube.samples import pod

PODS = 1_000
SMALL = json.dumps(
    {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"},
        "data": {"x": "1"},
    }
).encode()
STATE_COMPLETE = (
    b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"5",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)
END = b"0\r\n\r\n"
_STATE = re.compile(rb"state%3D(\d+)")
_CHANGES = re.compile(rb"changes%3D(\d+)")


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The server's address, for as long as the block lasts."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_main, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def event(index: int, version: int, kind: str) -> bytes:
    """One line of a watch."""
    changed = {"type": kind, "object": pod(index, version)}
    return json.dumps(changed, separators=(",", ":")).encode() + b"\n"


@cache
def events(count: int, kind: str) -> bytes:
    """Many lines of a watch, over a thousand pods, with growing versions."""
    distinct = count if kind == "ADDED" else PODS
    return b"".join(event(number % distinct, 10 + number, kind) for number in range(count))


def _main(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    server = await asyncio.start_server(_connection, "127.0.0.1", 0)
    pipe.send("http://{}:{}".format(*server.sockets[0].getsockname()))
    await server.serve_forever()


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            if length is not None:
                await reader.readexactly(int(length[1]))
            await _answer(writer, head.split(b"\r\n", 1)[0])
    writer.close()


async def _answer(writer: asyncio.StreamWriter, request: bytes) -> None:
    state, changes = _number(_STATE, request), _number(_CHANGES, request)
    if b"watch=" not in request:
        writer.write(_head(f"Content-Length: {len(SMALL)}") + SMALL)
    elif b"sendInitialEvents" in request:
        body = _chunk(events(state, "ADDED") + STATE_COMPLETE)
        writer.write(_head("Transfer-Encoding: chunked") + body + (END if changes else b""))
    else:
        writer.write(
            _head("Transfer-Encoding: chunked") + _chunk(events(changes, "MODIFIED")) + END
        )
    await writer.drain()


def _number(pattern: re.Pattern[bytes], request: bytes) -> int:
    found = pattern.search(request)
    return int(found[1]) if found else 0


def _head(header: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{header}\r\n\r\n".encode()


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)
