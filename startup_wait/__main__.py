"""Wait until this pod may start: `python -m startup_wait FILE`.

The kubelet writes the pod's annotation `grove.io/startup-order` to FILE. The program exits with
0 once the file contains `cleared`, and with 143 when the pod is deleted. It polls the file, because
file events do not reach every container runtime.
"""

import signal
import sys
import time

CLEARED = "cleared"
_POLL_SECONDS = 0.1


def main(arguments: list[str]) -> int:
    """Wait until the file contains `cleared`; return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m startup_wait FILE\n")
        return 2
    # The kernel delivers SIGTERM to the first process of a container only if it has a handler.
    signal.signal(signal.SIGTERM, _stop)
    printed = ""
    while (state := _read(arguments[0])) != CLEARED:
        if state != printed:
            printed = state
            sys.stdout.write(f"starts {state}\n")
            sys.stdout.flush()
        time.sleep(_POLL_SECONDS)
    return 0


def _stop(number: int, frame: object) -> None:
    del frame
    sys.exit(128 + number)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib doubles the start-up time
            return file.read().strip()
    except FileNotFoundError:
        # The kubelet replaces the whole directory, so the file is missing for a moment.
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
