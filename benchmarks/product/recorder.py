"""The operator as a process, with a recording of what it writes: `recorder FILE [ARGUMENT]...`.

It runs the unchanged operator and only listens at the place where bytes leave. A line is
kept for each write that the server accepted: what was sent, when in the order, and the UID
that the object has, since later writes name it.
"""

import itertools
import sys
from pathlib import Path

import msgspec

from benchmarks.product.replay import Recorded
from core_operator.__main__ import main
from shared_api.kube.codec import PartialObject
from shared_api.kube.transport import Request, Transport

_WRITES = frozenset({"POST", "APPLY", "PATCH", "DELETE"})


def run(file: Path, arguments: list[str]) -> int:
    """Record until the operator ends; return its exit code."""
    encode, decode = msgspec.json.Encoder(), msgspec.json.Decoder(PartialObject)
    numbers, send = itertools.count(), Transport.send

    with file.open("wb") as lines:

        async def recorded(self: Transport, request: Request) -> bytes:
            number = next(numbers)
            answer = await send(self, request)
            if request.verb in _WRITES:
                line = Recorded(
                    number,
                    request.method,
                    request.target,
                    request.content_type,
                    (request.body or b"").decode(),
                    decode.decode(answer).metadata.uid or "",
                )
                lines.write(encode.encode(line) + b"\n")
            return answer

        Transport.send = recorded  # type: ignore[method-assign]
        return main(arguments)


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2:]))
