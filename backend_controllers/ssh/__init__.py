"""Bare metal over SSH: gangs as processes on hosts that have no container engine.

`detection` declares the backend. `connection` reaches `agent`, a program of the standard library
that is sent to a host and runs there; `host_watch` observes one host, and `executor` all of them.
"""

from backend_controllers.ssh.detection import BACKEND

__all__ = ["BACKEND"]
