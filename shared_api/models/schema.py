"""The vocabulary with which a model tells the API server what it accepts.

A type carries its structural-schema facts (list types, integer formats, opaque objects) as
annotations and its cross-field checks as `Rule`s; `shared_api.crdgen` reads both. Nothing
here validates in Python: the API server is the judge, and it judges by the generated CRD.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

JsonObject = dict[str, JsonValue]

VALIDATIONS = "x-kubernetes-validations"

# Not FieldValueDuplicate: with it the server leaves the message out.
Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One CEL check; false means refused.

    `message` is what a person reads, so it says what is allowed. `detail` is a CEL expression
    for the same sentence with the numbers of the refused object in it; the server falls back
    to `message` when the expression fails. `field` moves the reported path below the object
    that the rule is attached to. A rule that names `oldSelf` runs on updates only, unless
    `on_create` makes `oldSelf` optional.
    """

    check: str
    message: str
    detail: str | None = None
    field: str | None = None
    reason: Reason | None = None
    on_create: bool = False

    def to_json(self) -> JsonObject:
        """The entry as the API server reads it."""
        entry: JsonObject = {"rule": _one_line(self.check), "message": self.message}
        if self.detail is not None:
            entry["messageExpression"] = _one_line(self.detail)
        if self.field is not None:
            entry["fieldPath"] = self.field
        if self.reason is not None:
            entry["reason"] = self.reason
        if self.on_create:
            entry["optionalOldSelf"] = True
        return entry


# eq=False: annotations must be hashable, and their identity serves.
@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """Schema keywords that are laid over what pydantic derives from the Python type."""

    keywords: Mapping[str, JsonValue] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return with_rules({**handler(core_schema), **self.keywords}, self.rules)


@dataclass(frozen=True, slots=True, eq=False)
class Structural:
    """A schema written by hand, for JSON that Python passes through without looking."""

    schema: JsonObject

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return dict(self.schema)


def with_rules(schema: JsonSchemaValue, rules: tuple[Rule, ...]) -> JsonSchemaValue:
    """The schema with more rules behind those that it has."""
    if not rules:
        return schema
    return {**schema, VALIDATIONS: [*schema.get(VALIDATIONS, []), *(r.to_json() for r in rules)]}


def list_map(*keys: str, at_least: int = 0, at_most: int | None = None) -> Markers:
    """A list whose items are told apart by `keys`: unique, merged by server-side apply."""
    return _list(
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)},
        at_least,
        at_most,
    )


def list_set(*, at_least: int = 0, at_most: int | None = None) -> Markers:
    """A list of unique scalars, merged by server-side apply."""
    return _list({"x-kubernetes-list-type": "set"}, at_least, at_most)


def list_atomic(*, at_least: int = 0, at_most: int | None = None) -> Markers:
    """A list that has one owner and is replaced whole."""
    return _list({"x-kubernetes-list-type": "atomic"}, at_least, at_most)


def rules(*checks: Rule) -> Markers:
    """Checks on one field, beside those of its type."""
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
"""An object of another API that is kept as the user wrote it."""
