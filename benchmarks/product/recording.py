"""The file that a recorder writes: what was sent and answered, as bytes, one after the other.

Recording runs inside the process whose CPU is measured, so it parses nothing. The reader parses the
responses.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from benchmarks.product.replay import Recorded
from shared_api.kube.codec import PartialObject
from shared_api.kube.http.transport import ApiRequest

_LENGTH_BYTES = 4


class _Exchange(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One accepted write, as it went over the wire."""

    number: int
    method: str
    target: str
    content_type: str
    body: bytes
    answer: bytes


class WriteLog:
    """Appends to a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._write = file.write
        self._encode = msgspec.msgpack.Encoder().encode

    def keep(self, began: int, request: ApiRequest, answer: bytes) -> None:
        """Note a write that was sent at this time, in nanoseconds, and accepted."""
        exchange = _Exchange(
            began,
            request.method,
            request.target,
            request.content_type,
            request.body or b"",
            answer,
        )
        line = self._encode(exchange)
        self._write(len(line).to_bytes(_LENGTH_BYTES, "big") + line)


def now() -> int:
    """The clock that all processes of a machine share."""
    return time.monotonic_ns()


def read(file: Path) -> Iterator[Recorded]:
    """What was recorded, in the order of the answers."""
    exchanges, objects = msgspec.msgpack.Decoder(_Exchange), msgspec.json.Decoder(PartialObject)
    content = memoryview(file.read_bytes())
    while content:
        length = int.from_bytes(content[:_LENGTH_BYTES], "big")
        end = _LENGTH_BYTES + length
        found = exchanges.decode(content[_LENGTH_BYTES:end])
        yield Recorded(
            found.number,
            found.method,
            found.target,
            found.content_type,
            found.body.decode(),
            objects.decode(found.answer).metadata.uid or "",
        )
        content = content[end:]
