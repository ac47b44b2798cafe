"""Puts recorded objects into a cluster as if the operator that made them had been there.

Owners come before what they own, and get new UIDs, which are put in the place of the old ones.
Statuses are written after that, and last of all who had applied what: otherwise the restoring client
would be the owner of every field, and today's operator would have to write it anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from local_cluster.cluster import Cluster

Object = dict[str, Any]

_PLACE_OF_UID = "uid-of-"
# The server's own, or made by its controllers anew.
_ON_CREATION = ("status",)


def restore(cluster: Cluster, file: Path) -> None:
    """Create all objects of a recording, with their statuses and owners."""
    restore_objects(cluster, [*yaml.safe_load_all(file.read_text())])


def restore_objects(cluster: Cluster, objects: list[Object]) -> None:
    """Create objects with their statuses and owners, and with their field managers if given."""
    uids: dict[str, str] = {}
    created: list[Object] = []
    for recorded in owners_first(objects):
        found = mapped(recorded, uids)
        metadata = {k: v for k, v in found["metadata"].items() if k not in ("uid", "managedFields")}
        manifest = {k: v for k, v in found.items() if k not in _ON_CREATION}
        answer = cluster.kubectl(
            "create", "-f", "-", "-ojson", input=json.dumps({**manifest, "metadata": metadata})
        )
        uids[found["metadata"]["uid"]] = json.loads(answer.stdout)["metadata"]["uid"]
        created.append(found)
    for found in created:
        if found.get("status"):
            _patch(
                cluster, found, {"status": mapped(found["status"], uids)}, "--subresource=status"
            )
    for found in created:
        if managers := found["metadata"].get("managedFields"):
            _patch(cluster, found, {"metadata": {"managedFields": mapped(managers, uids)}})


def owners_first(objects: list[Object]) -> Iterator[Object]:
    """The objects in an order in which each comes after its owner."""
    known: set[str] = set()
    rest = objects
    while rest:
        ready = [found for found in rest if _owners(found) <= known]
        if not ready:
            names = [found["metadata"]["name"] for found in rest]
            raise ValueError(f"recorded without their owners: {names}")
        yield from ready
        known |= {found["metadata"]["uid"] for found in ready}
        rest = [found for found in rest if found not in ready]


def mapped(value: Any, uids: dict[str, str]) -> Any:
    """The value with new UIDs in the place of old ones, which managed fields quote too."""
    text = json.dumps(value)
    # The longest first: one name may be the beginning of another.
    for old in sorted(uids, key=len, reverse=True):
        text = text.replace(old, uids[old])
    return json.loads(text)


def _owners(found: Object) -> set[str]:
    return {owner["uid"] for owner in found["metadata"].get("ownerReferences", [])}


def _patch(cluster: Cluster, found: Object, body: Object, *flags: str) -> None:
    metadata = found["metadata"]
    cluster.kubectl(
        "patch",
        f"{found['kind']}/{metadata['name']}".lower(),
        f"--namespace={metadata['namespace']}",
        "--type=merge",
        "--patch",
        json.dumps(body),
        *flags,
    )
