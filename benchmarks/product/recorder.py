"""A controller as a process, with a recording of what it writes: `recorder FILE PACKAGE [ARGUMENT]...`.

It runs the unchanged program and records the bytes of its connections. Each accepted write is
recorded with its time and the response, because later writes contain the UID in it. The clock is the machine's, so that the recordings of several processes
have one order.
"""

import importlib
import sys
from pathlib import Path

from benchmarks.product.recording import WriteLog, now
from shared_api.kube.http.connection import Answer
from shared_api.kube.http.transport import ApiRequest, Transport

_WRITES = frozenset({"POST", "APPLY", "PATCH", "DELETE"})


def run(file: Path, package: str, arguments: list[str]) -> int:
    """Record until the program ends; return its exit code."""
    ask = Transport._ask  # when a request has its slot, and is sent

    with file.open("wb") as opened:
        recording = WriteLog(opened)

        async def recorded(self: Transport, request: ApiRequest) -> Answer:
            began = now()
            answer = await ask(self, request)
            # A Lease is renewed by time, not because of the workload.
            if request.verb in _WRITES and answer.status < 300 and "/leases" not in request.target:
                recording.keep(began, request, answer.body)
            return answer

        Transport._ask = recorded  # type: ignore[method-assign]
        code: int = importlib.import_module(f"{package}.__main__").main(arguments)
        return code


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
