"""How long a stream may be silent, to the second."""

import asyncio

import pytest

from tests.faults.transports import chunk, opened_stream, receive

pytestmark = pytest.mark.virtual_time


async def test_each_wait_has_a_deadline_of_its_own() -> None:
    connection, _ = await opened_stream()
    loop = asyncio.get_running_loop()
    loop.call_at(60, receive, connection, chunk(b"{}\n"))

    assert await connection.parts(deadline=70) == [b"{}\n"]
    assert loop.time() == 60
    with pytest.raises(TimeoutError):
        await connection.parts(deadline=130)
    assert loop.time() == 130


async def test_what_a_reader_spends_elsewhere_is_not_silence() -> None:
    connection, _ = await opened_stream()
    loop = asyncio.get_running_loop()
    loop.call_at(10, receive, connection, chunk(b"{}\n"))
    await connection.parts(deadline=70)
    await asyncio.sleep(500)
    loop.call_at(520, receive, connection, chunk(b"[]\n"))

    assert await connection.parts(deadline=580) == [b"[]\n"]
