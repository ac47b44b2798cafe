"""A controller as a process, with a recording of what it writes: `recorder FILE PACKAGE [ARGUMENT]...`.

It runs the unchanged program and only listens at the place where bytes leave. A line is kept
for each write that the server accepted: what was sent, when, and the UID that the object
has, since later writes name it. The clock is the machine's, so that the recordings of
several processes have one order.
"""

import importlib
import sys
import time
from pathlib import Path

import msgspec

from benchmarks.product.replay import Recorded
from shared_api.kube.codec import PartialObject
from shared_api.kube.transport import Request, Transport

_WRITES = frozenset({"POST", "APPLY", "PATCH", "DELETE"})


def run(file: Path, package: str, arguments: list[str]) -> int:
    """Record until the program ends; return its exit code."""
    encode, decode = msgspec.json.Encoder(), msgspec.json.Decoder(PartialObject)
    send = Transport.send

    with file.open("wb") as lines:

        async def recorded(self: Transport, request: Request) -> bytes:
            began = time.monotonic_ns()
            answer = await send(self, request)
            if request.verb in _WRITES:
                line = Recorded(
                    began,
                    request.method,
                    request.target,
                    request.content_type,
                    (request.body or b"").decode(),
                    decode.decode(answer).metadata.uid or "",
                )
                lines.write(encode.encode(line) + b"\n")
            return answer

        Transport.send = recorded  # type: ignore[method-assign]
        code: int = importlib.import_module(f"{package}.__main__").main(arguments)
        return code


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
