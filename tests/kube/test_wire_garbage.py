"""Whatever bytes come in whatever pieces: the own answer, or an error of our tree."""

import asyncio
import itertools

from hypothesis import given
from hypothesis import strategies as st

from shared_api.kube.errors import KubeError
from shared_api.kube.http.connection import Answer, Connection
from tests.faults.transports import Recorded, chunk, receive

LARGEST = 10_000

header = st.sampled_from(
    [
        b"X: y", b"Retry-After: 7", b"Location: /", b"Content-Length: 3", b"Content-Length: -1",
        b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked", b"X: \0", b" fold",
        b"Transfer-Encoding: gzip", b"Connection: close", b"Connection: keep-alive", b"Upgrade: h2c",
    ]
)  # fmt: skip
status_line = st.sampled_from(
    [
        b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 103 Hints", b"HTTP/1.1 101 Switch",
        b"HTTP/1.1 204 None", b"HTTP/1.1 304 Same", b"HTTP/1.1 000 Zero", b"HTTP/2.0 200 OK", b"SSH-2.0",
    ]
)  # fmt: skip
fragment = st.one_of(
    status_line,
    header,
    st.sampled_from(
        [b"\r\n", b"\r\n\r\n", b"\n", b"0\r\n\r\n", b"3\r\nabc\r\n", b"3;x=y\r\nabc\r\n"]
    ),
    st.binary(max_size=20),
)
garbage = st.lists(fragment, max_size=30).map(b"".join)
interim = st.lists(
    st.sampled_from(
        [
            b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\nRetry-After: 7\r\n\r\n",
        ]
    ),
    max_size=3,
).map(b"".join)


def whole(body: bytes, pieces: int) -> bytes:
    """An answer with this body: of a length, or in this many chunks."""
    if not pieces:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    size = len(body) // pieces + 1
    chunks = [chunk(body[at : at + size]) for at in range(0, len(body), size)]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(chunks) + b"0\r\n\r\n"


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[begin:end] for begin, end in itertools.pairwise(edges)]


async def asked(connection: Connection, pieces: list[bytes]) -> Answer | KubeError:
    """What a request gets when the server sends this and hangs up."""
    task = asyncio.ensure_future(connection.exchange(b"GET"))
    await asyncio.sleep(0)
    for piece in pieces:
        if not connection.is_open:
            break
        receive(connection, piece)
    await asyncio.sleep(0)
    if not task.done():
        connection.connection_lost(None)
    try:
        return await task
    except KubeError as error:
        return error


def opened() -> Connection:
    connection = Connection(100_000, LARGEST, lambda lost: None)
    connection.connection_made(Recorded())
    return connection


cuts = st.lists(st.integers(0, 10_000), max_size=8)


@given(
    st.lists(
        st.tuples(interim, st.binary(max_size=50), st.integers(0, 4), cuts), min_size=1, max_size=4
    )
)
def test_each_request_gets_its_own_answer_in_any_pieces(
    rounds: list[tuple[bytes, bytes, int, list[int]]],
) -> None:
    async def run() -> None:
        connection = opened()
        for before, body, pieces, at in rounds:
            found = await asked(connection, pieces_of(before + whole(body, pieces), at))
            assert found == Answer(200, body)
            assert connection.is_open

    asyncio.run(run())


@given(interim, st.binary(max_size=50), st.integers(0, 4), garbage, cuts)
def test_what_follows_an_answer_is_never_the_next_ones(
    before: bytes, body: bytes, pieces: int, after: bytes, at: list[int]
) -> None:
    async def run() -> None:
        connection = opened()
        found = await asked(connection, pieces_of(before + whole(body, pieces) + after, at))
        assert found == Answer(200, body)
        if after.lstrip(b"\r\n"):
            assert not connection.is_open, "nobody else may use a connection that is out of step"
        elif connection.is_open:
            assert await asked(connection, [whole(b"next", 0)]) == Answer(200, b"next")

    asyncio.run(run())


@given(garbage, cuts)
def test_garbage_is_an_error_or_one_whole_answer(data: bytes, at: list[int]) -> None:
    async def run() -> None:
        connection = opened()
        found = await asked(connection, pieces_of(data, at))
        if isinstance(found, Answer):
            assert 200 <= found.status < 1000
            assert found.body in data or b"chunked" in data
            assert len(found.body) <= LARGEST
            # Wherever the bytes are cut, the answer is the same one.
            assert await asked(opened(), [data]) == found

    asyncio.run(run())
