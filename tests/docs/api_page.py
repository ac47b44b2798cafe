"""The reference page of the API, generated from the models as the CRDs are.

`python -m tests.docs.api_page` writes it, with `--check` it fails if it is stale. Fields of
open objects, such as a pod's spec, are Kubernetes' own and are not listed.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from crdgen.kinds import KINDS, Kind
from crdgen.structural import structural_schema
from shared_api.models import Condition
from shared_api.models.schema import VALIDATIONS, JsonObject
from tests.docs.pages import write_or_check

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"

_HEAD = """\
# API

After reading this page you know every kind, field and rule of the API. It is generated from the models in
`shared_api/models`, as the CRDs are. A field in bold is required. The API server checks the rules below each
kind. Core reports in conditions what these rules cannot check: see [Concepts](../concepts.md). `metadata`,
`apiVersion` and `kind` are as everywhere in Kubernetes.
"""
_OPEN = "x-kubernetes-preserve-unknown-fields"
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxLength": "at most {} characters",
}
_CONDITION_FIELDS = {"type", "status", "reason", "message", "lastTransitionTime"}


def render() -> str:
    """The page."""
    parts = [_HEAD, *(_kind(kind) for kind in KINDS), _condition()]
    return "\n".join(parts)


def _kind(kind: Kind) -> str:
    schema = structural_schema(kind.model)
    scope = "in a namespace" if kind.scope == "Namespaced" else "cluster-wide"
    scaled = "; has a scale subresource" if kind.scale_selector else ""
    short = ", ".join(f"`{name}`" for name in kind.short_names)
    lines = [
        f"## {kind.model.KIND}\n",
        f"`{kind.model.API_VERSION}`, {short}, {scope}{scaled}. {_text(schema)}\n",
    ]
    properties = _properties(schema)
    for part in ("spec", "status"):
        if part in properties:
            lines += [f"### {kind.model.KIND} {part}\n", *_table(properties[part])]
    if rules := [*_rules(schema, "")]:
        lines += [f"### What is refused of a {kind.model.KIND}\n", "| at | rule |\n|---|---|"]
        lines += [*dict.fromkeys(rules), ""]
    return "\n".join(lines)


def _condition() -> str:
    text = "One entry of `conditions`, keyed by `type`.\n"
    return "\n".join(("## Condition\n", text, *_table(structural_schema(Condition), skip=True)))


def _table(schema: JsonObject, *, skip: bool = False) -> list[str]:
    meta = ("apiVersion", "kind") if skip else ()
    rows = [row for path, row in _rows(schema, "") if path not in meta]
    return ["| field | type | meaning |", "|---|---|---|", *rows, ""]


def _rows(schema: JsonObject, prefix: str) -> Iterator[tuple[str, str]]:
    required = cast("list[str]", schema.get("required", []))
    for name, field in _properties(schema).items():
        path = f"{prefix}{name}"
        shown = f"**`{path}`**" if name in required else f"`{path}`"
        yield path, f"| {shown} | {_type(field)} | {_meaning(field)} |"
        if not _is_closed(field):
            yield from _rows(_inside(field), f"{path}{_suffix(field)}.")


def _is_closed(field: JsonObject) -> bool:
    inside = _inside(field)
    return bool(inside.get(_OPEN)) or set(_properties(inside)) >= _CONDITION_FIELDS


def _inside(field: JsonObject) -> JsonObject:
    """What a list or a map is made of, or the field itself."""
    for holder in ("items", "additionalProperties"):
        if isinstance(field.get(holder), dict):
            return cast("JsonObject", field[holder])
    return field


def _suffix(field: JsonObject) -> str:
    return "[]" if "items" in field else ""


def _type(field: JsonObject) -> str:
    if "items" in field:
        inside = _inside(field)
        if set(_properties(inside)) >= _CONDITION_FIELDS:
            return "[[]Condition](#condition)"
        return f"[]{_type(inside)}"
    if isinstance(field.get("additionalProperties"), dict):
        return f"map of {_type(_inside(field))}"
    kind = str(field.get("format") or field.get("type", "any"))
    return "object, as in Kubernetes" if field.get(_OPEN) else kind


def _meaning(field: JsonObject) -> str:
    parts = [_text(field)]
    words = cast("list[str]", field.get("enum", []))
    if words:
        parts.append(f"One of {', '.join(f'`{word}`' for word in words)}.")
    bounds = [text.format(field[key]) for key, text in _BOUNDS.items() if key in field]
    if bounds:
        parts.append(f"{', '.join(bounds)}.".capitalize())
    if "default" in field:
        default = json.dumps(field["default"]).strip('"')
        parts.append(f"Default `{default}`.")
    return _cell(" ".join(part for part in parts if part))


def _rules(schema: JsonObject, path: str) -> Iterator[str]:
    for rule in cast("list[JsonObject]", schema.get(VALIDATIONS, [])):
        where = f"{path}{rule.get('fieldPath', '')}".lstrip(".")
        yield f"| `{where or '.'}` | {_cell(str(rule['message']))} |"
    for name, field in _properties(schema).items():
        yield from _rules(field, f"{path}.{name}")
    for holder, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(holder), dict):
            yield from _rules(cast("JsonObject", schema[holder]), f"{path}{suffix}")


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", schema.get("properties", {}))


def _text(schema: JsonObject) -> str:
    return " ".join(str(schema.get("description", "")).split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, render(), "tests.docs.api_page"))
