"""Engines that answer nonsense: their host is unreachable, and the process goes on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backend_controllers.contract.remote.executor import ExecutorError
from backend_controllers.docker.executor import DockerExecutor
from backend_controllers.docker.options import DockerHost, DockerOptions
from tests.backends.docker.pods import remote_pod
from tests.backends.remote.far_side import order, process

_ANSWERS = {
    "is no JSON": b"<html>",
    "is no object": b'"info"',
    "is a list of numbers": b"[1, 2]",
    "is nothing": b"null",
}


@contextlib.asynccontextmanager
async def engine(path: Path, info: bytes, listed: bytes) -> AsyncIterator[str]:
    """Answer every request with JSON of any kind."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = listed if b"/containers/json" in head else info
                length = f"Content-Length: {len(body)}\r\n\r\n".encode()
                kind = b"Content-Type: application/json\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + kind + length + body)
        writer.close()

    socket = path / "e.sock"
    async with await asyncio.start_unix_server(answer, path=socket):
        yield f"unix://{socket}"


@pytest.mark.parametrize("what", _ANSWERS)
@pytest.mark.parametrize("place", ["info", "list"])
async def test_engine_that_answers_nonsense_is_unreachable(
    tmp_path: Path, what: str, place: str
) -> None:
    good = b'{"ApiVersion": "1.41", "NCPU": 2, "MemTotal": 1024}'
    info, listed = (_ANSWERS[what], b"[]") if place == "info" else (good, _ANSWERS[what])
    async with engine(tmp_path, info, listed) as url:
        options = DockerOptions(
            hosts=(DockerHost(name="liar", url=url),), image_prefixes=("local/",)
        )
        async with process(DockerExecutor(options, "docker")) as executor:
            (host,) = executor.hosts()
            assert host.problem.startswith("host liar")
            with pytest.raises(ExecutorError, match="0 of 1 hosts can be reached"):
                await executor.reserve(order(remote_pod("a")))
