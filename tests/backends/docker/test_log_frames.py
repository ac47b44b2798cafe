"""The frames of an engine's log."""

import asyncio
import struct

import pytest

from backend_controllers.docker.log_frames import pieces_of


def frame(text: bytes, output: int = 1) -> bytes:
    return struct.pack(">BxxxL", output, len(text)) + text


async def read(data: bytes) -> list[bytes]:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return [piece async for piece in pieces_of(reader.readexactly)]


async def test_both_outputs_are_read_in_their_order() -> None:
    assert await read(frame(b"one\n") + frame(b"two\n", 2)) == [b"one\n", b"two\n"]


async def test_a_long_frame_comes_in_pieces() -> None:
    found = await read(frame(b"x" * 200_000))
    assert len(found) == 4
    assert b"".join(found) == b"x" * 200_000


@pytest.mark.parametrize("cut", [3, 8, 10])
async def test_a_connection_that_breaks_ends_the_log(cut: int) -> None:
    assert b"".join(await read(frame(b"one\n")[:cut])) == b"one\n"[: max(0, cut - 8)]
