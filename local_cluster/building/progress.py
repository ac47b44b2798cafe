"""Shows the progress of a build.

On a terminal one line is rewritten in place; elsewhere (CI) a line is printed now and then.
"""

import sys
import time
from typing import TextIO

_QUIET_INTERVAL = 30.0


class Progress:
    """The display of one build."""

    def __init__(self, name: str, total: int, *, out: TextIO | None = None) -> None:
        self._name = name
        self._total = total
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._started = time.monotonic()
        self._printed = self._started
        self._compiled = 0
        self._say(f"building {name}: {total} Go packages, those compiled before are reused")

    def compiled(self, package: str) -> None:
        """Count one more compiled package."""
        self._compiled += 1
        now = time.monotonic()
        interval = 0.1 if self._live else _QUIET_INTERVAL
        if now - self._printed >= interval:
            self._printed = now
            self._say(
                f"building {self._name}: {self._compiled} of at most {self._total} packages, "
                f"{now - self._started:.0f} s ({package})"
            )

    def done(self, size: int) -> None:
        """Note that the build is finished."""
        took = time.monotonic() - self._started
        self._say(f"built {self._name} in {took:.0f} s ({size / 1e6:.0f} MB)")
        if self._live:
            self._out.write("\n")

    def _say(self, line: str) -> None:
        self._out.write(f"\r\x1b[K{line[:110]}" if self._live else f"{line}\n")
        self._out.flush()
