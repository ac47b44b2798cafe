"""Waiting for the cluster's state by watching it, with a deadline and an error that shows the last state.

`wait_until` keeps the current set of objects of one collection and returns as soon as a
condition holds for it. Nothing here polls.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from local_cluster.api import Api, Object

Condition = Callable[[list[Object]], bool]


def wait_until(
    kubeconfig: Path, path: str, condition: Condition, *, seconds: float = 30, **selectors: str
) -> list[Object]:
    """Return the objects of the collection once the condition holds for all of them together."""
    return asyncio.run(until(kubeconfig, path, condition, seconds=seconds, **selectors))


async def until(
    kubeconfig: Path, path: str, condition: Condition, *, seconds: float = 30, **selectors: str
) -> list[Object]:
    """Do the same inside a running event loop."""
    current: dict[str, Object] = {}
    listed = False
    try:
        async with (
            asyncio.timeout(seconds),
            Api(kubeconfig) as api,
            contextlib.aclosing(api.current_and_following(path, **selectors)) as events,
        ):
            async for event in events:
                # The first bookmark ends the initial list; before it the set is not whole.
                listed = listed or event["type"] == "BOOKMARK"
                _take(current, event)
                if listed and condition(list(current.values())):
                    return list(current.values())
    except TimeoutError:
        seen = json.dumps([_brief(item) for item in current.values()], indent=1)
        raise AssertionError(
            f"{path} did not reach the expected state within {seconds:.0f} s; last seen: {seen}"
        ) from None
    raise AssertionError(f"the watch of {path} ended early")


def _take(current: dict[str, Object], event: Object) -> None:
    item: Object = event["object"]
    match event["type"]:
        case "ADDED" | "MODIFIED":
            current[_key(item)] = item
        case "DELETED":
            current.pop(_key(item), None)
        case "ERROR":
            raise AssertionError(f"the watch failed: {item.get('message')}")
        case _:
            pass


def _key(item: Object) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _brief(item: Object) -> Object:
    metadata = item["metadata"]
    return {"name": metadata["name"], "spec": item.get("spec"), "status": item.get("status")}
