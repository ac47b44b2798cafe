"""A kernel timer that ends the process when its Lease has expired.

A process that is frozen between the check of the fence and the send would still send the write
later. So the kernel has a timer: unless it is set again in time, SIGALRM ends the process. If the
timer expires while the process is frozen, the signal is delivered before the process executes
anything else. It also ends a process whose event loop is stuck. A process has one such timer, and
no other code may use it.
"""

import signal
from typing import Protocol


class Switch(Protocol):
    """A timer that ends the process unless it is armed again or disarmed."""

    def arm(self, seconds: float) -> None:
        """End the process after this time, unless armed or disarmed before."""

    def disarm(self) -> None:
        """Let the process live."""


class DeadMansSwitch:
    """The timer of the kernel, for the main thread of a process."""

    def __init__(self) -> None:
        # Not a Python handler: Python runs handlers only between bytecodes of the main thread.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def arm(self, seconds: float) -> None:
        """End the process after this time; at once if it has passed."""
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))

    def disarm(self) -> None:
        """Let the process live."""
        signal.setitimer(signal.ITIMER_REAL, 0)


class NoSwitch:
    """No timer, for tests and for processes that use SIGALRM for something else."""

    def arm(self, seconds: float) -> None:
        """Do nothing."""

    def disarm(self) -> None:
        """Do nothing."""
