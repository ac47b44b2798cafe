"""Detects components that exited while a caller waits for the cluster, and reports why."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from local_cluster.cluster import Cluster
from local_cluster.errors import ClusterError

_T = TypeVar("_T")
_DEADLINE = 60.0
_LOOK_EVERY = 0.25


async def ready_while_running(cluster: Cluster, what: str, ready: Awaitable[_T]) -> _T:
    """Wait for `ready`, at most a minute, and only while every component runs."""
    waiting = asyncio.ensure_future(ready)
    try:
        async with asyncio.timeout(_DEADLINE):
            while not waiting.done():
                await asyncio.wait([waiting], timeout=_LOOK_EVERY)
                if not waiting.done():
                    raise_if_exited(cluster)
        return waiting.result()
    except TimeoutError:
        logs = "\n".join(cluster.log_tail(name, 4) for name in cluster.control.components())
        raise ClusterError(
            f"{what} not ready after {_DEADLINE:.0f} s", f"See {cluster.logs}", details=logs
        ) from None
    finally:
        waiting.cancel()
        await asyncio.wait([waiting])


class PortTakenError(ClusterError):
    """A port is in use by another process."""


def raise_if_exited(cluster: Cluster) -> None:
    """Raise if a component has exited since its start."""
    for name, state in cluster.control.components().items():
        if state["running"] and not state["restarts"]:
            continue
        log = cluster.log_tail(name)
        if "address already in use" in log:
            raise PortTakenError(
                f"{name} cannot listen: its port is in use by another process",
                "Choose another --port, or leave it out to get a free one",
            )
        raise ClusterError(f"{name} exited with {state.get('exit')}", details=log)
