"""From a structural schema, or from a projection, to the values that a server would store.

CEL rules are left out: objects may have been stored before there was a rule. Sizes that core
multiplies are kept small, since large ones are a matter of time and not of form.
"""

import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.fuzz.values import ANY_TEXT, ANYTHING, NUMBERS, OBJECTS, TEXTS

Schema = dict[str, Any]
Values = st.SearchStrategy[Any]

_OPEN = "x-kubernetes-preserve-unknown-fields"
_SIZES = frozenset(("replicas", "minAvailable", "minReplicas", "maxReplicas"))
_TIMES = st.datetimes().map(lambda time: f"{time:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0"))
_WIDTHS = {"int32": 2**31 - 1, "int64": 2**63 - 1}


def of_schema(schema: Schema, name: str = "") -> Values:
    """What a schema admits; `name` is that of the field."""
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return _array(schema)
        case "string":
            return _string(schema)
        case "integer":
            return _integer(schema, name)
        case "number":
            return NUMBERS
        case "boolean":
            return st.booleans()
        case _:
            # A quantity: numbers, and texts of its pattern.
            return NUMBERS | _string(schema)


def _object(schema: Schema) -> Values:
    if isinstance(schema.get("additionalProperties"), dict):
        values = of_schema(schema["additionalProperties"])
        return st.dictionaries(ANY_TEXT, values, max_size=3)
    known = {key: of_schema(part, key) for key, part in schema.get("properties", {}).items()}
    declared = some_of(known, tuple(schema.get("required", ())))
    if not schema.get(_OPEN):
        return declared
    if not known:
        return OBJECTS
    # An unknown field never hides a declared one.
    return st.tuples(OBJECTS, declared).map(
        lambda both: {**{k: v for k, v in both[0].items() if k not in known}, **both[1]}
    )


@st.composite
def some_of(draw: st.DrawFn, fields: Mapping[str, Values], required: tuple[str, ...]) -> Any:
    """An object with the required fields, and a few of the others."""
    optional = [key for key in fields if key not in required]
    chosen = draw(st.lists(st.sampled_from(optional), max_size=4, unique=True)) if optional else []
    return {key: draw(fields[key]) for key in (*required, *chosen)}


def _array(schema: Schema) -> Values:
    least = schema.get("minItems", 0)
    most = min(schema.get("maxItems", 2), 2)
    items = of_schema(schema["items"])
    keys = schema.get("x-kubernetes-list-map-keys")
    unique: Any = None
    if keys:
        unique = lambda item: tuple(repr(item.get(key)) for key in keys)  # noqa: E731
    elif schema.get("x-kubernetes-list-type") == "set":
        unique = repr
    return st.lists(items, min_size=least, max_size=max(most, least), unique_by=unique)


def _string(schema: Schema) -> Values:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("format") == "date-time":
        return _TIMES
    longest = schema.get("maxLength", 10**6)
    least = schema.get("minLength", 0)
    if "pattern" in schema:
        found = _matching(schema["pattern"])
    else:
        found = ANY_TEXT | st.sampled_from(["a", "b", "main"])
    return found.filter(lambda text: least <= len(text) <= longest)


@cache
def _matching(pattern: str) -> Values:
    # In Go `$` is the end of the text, and \d has ten digits.
    return st.from_regex(pattern.removesuffix("$") + r"\Z")


def _integer(schema: Schema, name: str) -> Values:
    width = _WIDTHS[schema.get("format", "int64")]
    least = schema.get("minimum", -width - 1)
    most = schema.get("maximum", width)
    if name in _SIZES:
        most = min(most, least + 2 if least >= 0 else 2)
    return st.integers(least, most)


def of_projection(kind: Any, *, wild: bool = False) -> Values:
    """What a server sends of a kind that is read as this type; `wild` where its schema is open."""
    found = _typed(kind, wild)
    return found | ANYTHING if wild else found


@cache
def _struct(kind: type[msgspec.Struct], wild: bool) -> Values:
    hints = typing.get_type_hints(kind)
    fields = {
        field.encode_name: _typed(hints[field.name], wild)
        for field in msgspec.structs.fields(kind)
        # Kept of a revision beside what the server sends.
        if field.encode_name not in ("metadata", "stored")
    }
    required = [
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if field.encode_name in fields and field.required and not wild
    ]
    declared = some_of(fields, tuple(required))
    return st.tuples(OBJECTS, declared).map(lambda both: {**both[0], **both[1]})


_PLAIN: dict[Any, Values] = {
    str: ANY_TEXT,
    int: st.integers(-(2**31), 2**31 - 1),
    float: NUMBERS,
    bool: st.booleans(),
    object: ANYTHING,
    Any: ANYTHING,
    type(None): st.none(),
}


def _typed(hint: Any, wild: bool) -> Values:
    if hint in _PLAIN:
        found = _PLAIN[hint]
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        found = _struct(hint, wild)
    elif isinstance(hint, type) and issubclass(hint, Enum):
        found = st.sampled_from([one.value for one in hint])
    else:
        found = _generic(hint, wild)
    return st.one_of(found, found, found, ANYTHING) if wild else found


def _generic(hint: Any, wild: bool) -> Values:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_typed(part, wild) for part in parts])
    if origin in (tuple, list):
        return st.lists(_typed(parts[0], wild), max_size=3)
    if isinstance(origin, type) and issubclass(origin, Mapping | dict):
        return st.dictionaries(TEXTS, _typed(parts[1], wild), max_size=3)
    raise TypeError(f"no values for {hint}")
