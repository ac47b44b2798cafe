"""A connection whose bytes come from the test, so that each arrives exactly when it should."""

import asyncio

from shared_api.kube.http.connection import Connection

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Recorded(asyncio.Transport):
    """A transport that remembers what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def write(self, data: object) -> None:
        self.told.append("write")

    def pause_reading(self) -> None:
        self.told.append("pause")

    def resume_reading(self) -> None:
        self.told.append("resume")

    def abort(self) -> None:
        self.told.append("abort")

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return "abort" in self.told


def receive(connection: Connection, data: bytes) -> None:
    room = connection.get_buffer(-1)
    room[: len(data)] = data
    connection.buffer_updated(len(data))


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def opened_stream(most: int = 100_000) -> tuple[Connection, Recorded]:
    """A stream whose head has come, and that holds back the server at this many bytes."""
    transport = Recorded()
    connection = Connection(4096, most, lambda lost: None)
    connection.connection_made(transport)
    async with asyncio.TaskGroup() as group:
        group.create_task(connection.begin(b"GET"))
        await asyncio.sleep(0)
        receive(connection, HEAD)
    return connection, transport
