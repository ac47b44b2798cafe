"""Converts pydantic's JSON schema to a structural schema of apiextensions/v1.

A structural schema has no references, titles, null branches or `const`. Empty and null defaults are
dropped: the server would write them into every object, and server-side apply would report conflicts
about fields that no client set.
"""

from collections.abc import Iterable
from typing import cast

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import models_json_schema

from shared_api.models.schema import VALIDATIONS, JsonObject

_TYPE_META: dict[str, JsonValue] = {
    "apiVersion": {
        "description": "Version of the API that the object is written in.",
        "type": "string",
    },
    "kind": {"description": "Kind of the object.", "type": "string"},
}

_ORDER = (
    "description",
    "type",
    "format",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "required",
    "properties",
    "items",
    "additionalProperties",
)


def structural_schema(model: type[BaseModel]) -> JsonObject:
    """Return the schema of one top-level kind."""
    _, document = models_json_schema([(model, "validation")], by_alias=True)
    definitions = cast("JsonObject", document["$defs"])
    root = _convert(cast("JsonObject", definitions[model.__name__]), definitions)
    properties = cast("JsonObject", root["properties"])
    root["properties"] = {**_TYPE_META, **properties}
    return root


def _convert(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    schema = _flatten(schema, definitions)
    for child in ("items", "additionalProperties"):
        if isinstance(schema.get(child), dict):
            schema[child] = _convert(cast("JsonObject", schema[child]), definitions)
    if isinstance(schema.get("properties"), dict):
        properties = cast("dict[str, JsonObject]", schema["properties"])
        schema["properties"] = {k: _convert(v, definitions) for k, v in properties.items()}
    return _ordered(schema)


def _flatten(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """Resolve references and optional branches. The outer description wins; rules add up."""
    schema = {k: v for k, v in schema.items() if k != "title"}
    if isinstance(schema.get("description"), str):
        schema["description"] = " ".join(cast("str", schema["description"]).split())
    target: JsonObject | None = None
    if "$ref" in schema:
        name = cast("str", schema.pop("$ref")).rsplit("/", 1)[-1]
        target = cast("JsonObject", definitions[name])
    elif "anyOf" in schema:
        branches = cast("list[JsonObject]", schema.pop("anyOf"))
        (target,) = (b for b in branches if b.get("type") != "null")
    elif "allOf" in schema:
        (target,) = cast("list[JsonObject]", schema.pop("allOf"))
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if schema.get("default") in (None, "", [], ()):
        schema.pop("default", None)
    if target is None:
        return schema
    inner = _flatten(target, definitions)
    rules = [*_rules(inner), *_rules(schema)]
    return {**inner, **schema, **({VALIDATIONS: cast("JsonValue", rules)} if rules else {})}


def _rules(schema: JsonObject) -> Iterable[JsonValue]:
    return cast("list[JsonValue]", schema.get(VALIDATIONS, []))


def _ordered(schema: JsonObject) -> JsonObject:
    known = {key: schema[key] for key in _ORDER if key in schema}
    return known | {key: schema[key] for key in sorted(schema.keys() - known.keys())}
