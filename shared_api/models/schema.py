"""Schema annotations and CEL rules of the models.

A type carries its schema keywords (list types, integer formats, open objects) as annotations and
its cross-field checks as `Rule`s. `crdgen` reads both. Nothing here validates in Python: the API
server validates with the generated CRD.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

JsonObject = dict[str, JsonValue]

VALIDATIONS = "x-kubernetes-validations"

# FieldValueDuplicate is missing on purpose: with it, the server omits the message.
Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One CEL check. The server refuses the object if `check` is false.

    `message` names what is allowed. `detail` is a CEL expression for the same sentence
    with the numbers of the refused object; the server uses `message` if the expression fails.
    `field` is the reported path, relative to the object of the rule. A rule that reads `oldSelf`
    runs on updates only, unless `on_create` makes `oldSelf` optional.
    """

    check: str
    message: str
    detail: str | None = None
    field: str | None = None
    reason: Reason | None = None
    on_create: bool = False

    def to_json(self) -> JsonObject:
        """Return the entry of x-kubernetes-validations."""
        entry: JsonObject = {
            "rule": _one_line(self.check),
            "message": self.message,
            "messageExpression": _one_line(self.detail) if self.detail else None,
            "fieldPath": self.field,
            "reason": self.reason,
            "optionalOldSelf": self.on_create or None,
        }
        return {key: value for key, value in entry.items() if value is not None}


def immutable(check: str, what: str, field: str | None = None) -> Rule:
    """Return a rule whose refusal reads `Invalid value: ...: field is immutable`, as in Grove."""
    return Rule(check=check, message=f"field is immutable: {what} after creation", field=field)


def forbidden(check: str, message: str, field: str | None = None) -> Rule:
    """Return a rule whose refusal reads `Forbidden: message`."""
    return Rule(check=check, message=message, field=field, reason="FieldValueForbidden")


# eq=False: annotations must be hashable, and identity is enough.
@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """Schema keywords that replace those that pydantic derives from the Python type."""

    keywords: Mapping[str, JsonValue] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return with_rules({**handler(core_schema), **self.keywords}, self.rules)


@dataclass(frozen=True, slots=True, eq=False)
class Structural:
    """A hand-written schema, for JSON that Python passes on without reading it."""

    schema: JsonObject

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return dict(self.schema)


def with_rules(schema: JsonSchemaValue, rules: tuple[Rule, ...]) -> JsonSchemaValue:
    """Return the schema with the rules appended to its own."""
    if not rules:
        return schema
    return {**schema, VALIDATIONS: [*schema.get(VALIDATIONS, []), *(r.to_json() for r in rules)]}


def list_map(*keys: str, at_least: int = 0, at_most: int | None = None) -> Markers:
    """A list with unique `keys`, merged by server-side apply."""
    return _list(
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)},
        at_least,
        at_most,
    )


def list_set(*, at_least: int = 0, at_most: int | None = None) -> Markers:
    """A list of unique scalars, merged by server-side apply."""
    return _list({"x-kubernetes-list-type": "set"}, at_least, at_most)


def list_atomic(*, at_least: int = 0, at_most: int | None = None) -> Markers:
    """A list that server-side apply replaces as a whole."""
    return _list({"x-kubernetes-list-type": "atomic"}, at_least, at_most)


def rules(*checks: Rule) -> Markers:
    """Rules of one field, in addition to those of its type."""
    return Markers(rules=checks)


def _list(keywords: dict[str, JsonValue], at_least: int, at_most: int | None) -> Markers:
    if at_least:
        keywords["minItems"] = at_least
    if at_most is not None:
        keywords["maxItems"] = at_most
    return Markers(keywords)


def _one_line(expression: str) -> str:
    return " ".join(expression.split())


Int32 = Annotated[int, Markers({"format": "int32"})]
Int64 = Annotated[int, Markers({"format": "int64"})]

Opaque = Annotated[
    JsonObject, Structural({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
]
"""An object of another API, stored as the user wrote it."""
