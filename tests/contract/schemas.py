"""The generated CRDs as trees that a test can walk."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CRDS = Path(__file__).parents[2] / "crds"
SAMPLES = Path(__file__).parent / "samples"
FAMILIES = sorted(path.name for path in SAMPLES.iterdir())

Schema = dict[str, Any]


class Node(NamedTuple):
    """One place in a schema; lists add `[]` and maps `{}` to the path."""

    path: str
    schema: Schema


@cache
def definitions() -> dict[str, Schema]:
    """Kind to CRD, read from crds/."""
    read = (yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml")))
    return {crd["spec"]["names"]["kind"]: crd for crd in read}


def version(kind: str) -> Schema:
    """The one version of a kind's CRD."""
    (only,) = definitions()[kind]["spec"]["versions"]
    return dict(only)


def nodes(kind: str) -> Iterator[Node]:
    """All places of a kind's schema, the root included."""
    return _walk("", version(kind)["schema"]["openAPIV3Schema"])


def properties(kind: str) -> Iterator[Node]:
    """All named fields of a kind below spec and status."""
    for node in nodes(kind):
        if node.path.startswith((".spec.", ".status.")) and not node.path.endswith(("[]", "{}")):
            yield node


def all_nodes() -> Iterator[Node]:
    """All places of all kinds, with the kind in front."""
    for kind in definitions():
        for node in nodes(kind):
            yield Node(kind + node.path, node.schema)


def _walk(path: str, schema: Schema) -> Iterator[Node]:
    yield Node(path, schema)
    for name, child in schema.get("properties", {}).items():
        yield from _walk(f"{path}.{name}", child)
    for suffix, keyword in (("[]", "items"), ("{}", "additionalProperties")):
        if isinstance(schema.get(keyword), dict):
            yield from _walk(path + suffix, schema[keyword])
