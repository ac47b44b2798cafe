"""Hosts in network namespaces of their own, each with a link to this machine that can be cut.

A link has a network of four addresses. The host has its name by `unshare --uts`, and is entered by
`nsenter`: `ip netns exec` would mount another /sys, in which no cgroup is found.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator


class Link:
    """One namespace and its link."""

    def __init__(self, name: str, number: int) -> None:
        self.namespace = f"pg-{name}-{os.getpid()}"
        # Names of devices have at most 15 characters.
        self._device = f"pg{number}-{os.getpid() % 10**7}"
        self._here = f"10.213.{os.getpid() % 250}.{number * 4 + 1}"
        self.address = f"10.213.{os.getpid() % 250}.{number * 4 + 2}"

    def open(self) -> None:
        inside, outside = f"{self._device}n", self._device
        _ip("netns", "add", self.namespace)
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside)
        _ip("link", "set", inside, "netns", self.namespace)
        _ip("addr", "add", f"{self._here}/30", "dev", outside)
        _ip("link", "set", outside, "up")
        for command in (
            ("addr", "add", f"{self.address}/30", "dev", inside),
            ("link", "set", inside, "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-n", self.namespace, *command)

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command needs before it to run in the namespace."""
        return ("nsenter", f"--net=/run/netns/{self.namespace}")

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Nothing passes until the block ends."""
        _ip("link", "set", self._device, "down")
        try:
            yield
        finally:
            _ip("link", "set", self._device, "up")

    def close(self) -> None:
        subprocess.run(["ip", "link", "delete", self._device], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
