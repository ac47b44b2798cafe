"""One address per pod.

On Linux all of 127.0.0.0/8 is local, so each pod gets an address of its own and replicas can
listen on the same port. The address follows from the pod's UID: it is the same after a restart
of the process node, and two clusters on one machine do not meet. Elsewhere only 127.0.0.1 is
there, and all pods share it.
"""

import hashlib
import sys

HOST = "127.0.0.1"
# 127.0.x.x is left alone: programs on the machine use it by hand.
FIRST, LAST = 0x01_00_01, 0xFF_FF_FE


class Addresses:
    """Hands out addresses; no two pods hold the same one."""

    def __init__(self, *, separate: bool = sys.platform == "linux") -> None:
        self._separate = separate
        self._held: dict[str, str] = {}

    def take(self, uid: str) -> str:
        """The pod's address, the same at every call until it is given back."""
        if not self._separate:
            return HOST
        if uid not in self._held:
            number = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8], "big")
            while (address := _address(number)) in self._held.values():
                number += 1
            self._held[uid] = address
        return self._held[uid]

    def give_back(self, uid: str) -> None:
        """Forget a pod."""
        self._held.pop(uid, None)


def _address(number: int) -> str:
    low = FIRST + number % (LAST - FIRST + 1)
    return f"127.{low >> 16}.{low >> 8 & 0xFF}.{low & 0xFF}"
