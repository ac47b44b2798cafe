"""The kernel as the last guard of a lease.

A fence is a question that the program asks; a program that is frozen right after the answer
goes on and sends what it must not. So the kernel keeps a timer: unless it is set again in
time, the process is ended by SIGALRM. The signal of a timer that ran out while the process
stood still is delivered before the process executes anything else, and it also ends a
process whose event loop is stuck. A process has one such timer, and nobody else may use it.
"""

import signal
from typing import Protocol


class Switch(Protocol):
    """Something that ends the process unless it is told to wait."""

    def arm(self, seconds: float) -> None:
        """End the process after this time, unless armed or disarmed before."""

    def disarm(self) -> None:
        """Let the process live."""


class DeadMansSwitch:
    """The real one; for the main thread of a process of its own."""

    def __init__(self) -> None:
        # Not a Python handler: those run when the interpreter gets round to them.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def arm(self, seconds: float) -> None:
        """End the process after this time; at once if it has passed."""
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))

    def disarm(self) -> None:
        """Let the process live."""
        signal.setitimer(signal.ITIMER_REAL, 0)


class NoSwitch:
    """For tests, and for processes that share their timer with others."""

    def arm(self, seconds: float) -> None:
        """Do nothing."""

    def disarm(self) -> None:
        """Do nothing."""
