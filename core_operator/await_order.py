"""Waits until a pod may start: `python -m core_operator.await_order FILE`.

This runs in an init container of users' pods, so it imports next to nothing, needs no network,
no token and no rights, and reads one small file: the kubelet's copy of an annotation. It ends
with 0 once the file says so, and with 143 when the pod is being deleted. It looks again and
again, since file events do not cross into every container runtime.
"""

import signal
import sys
import time

CLEARED = "cleared"
_PAUSE = 0.1


def main(arguments: list[str]) -> int:
    """Wait for the file's word."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m core_operator.await_order FILE\n")
        return 2
    # The first process of a container gets no signal for which it has not asked.
    signal.signal(signal.SIGTERM, _stop)
    told = ""
    while (said := _read(arguments[0])) != CLEARED:
        if said != told:
            told = said
            sys.stdout.write(f"starts {said}\n")
            sys.stdout.flush()
        time.sleep(_PAUSE)
    return 0


def _stop(number: int, frame: object) -> None:
    del frame
    sys.exit(128 + number)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib doubles the start
            return file.read().strip()
    except FileNotFoundError:
        # The kubelet exchanges the whole directory.
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
