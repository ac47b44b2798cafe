"""Fragments of CEL that keep the API server's cost estimate finite.

The server estimates a rule before it accepts it, from the bounds in the schema, and it
follows those bounds only along plain paths. `x.?y.orValue([])` reads better than what is
built here, but it hides the path and makes the estimate infinite.
"""


def each(path: str, variable: str, check: str) -> str:
    """True when the optional list is absent or `check` holds for all of it."""
    return f"(!has({path}) || {path}.all({variable}, {check}))"


def some(path: str, variable: str, check: str) -> str:
    """True when the optional list is there and `check` holds for one of it."""
    return f"(has({path}) && {path}.exists({variable}, {check}))"


def text(path: str) -> str:
    """The optional string, or the empty one."""
    return f"(has({path}) ? {path} : '')"


def items(path: str) -> str:
    """The optional list, or the empty one; do not walk it, compare it."""
    return f"(has({path}) ? {path} : [])"


def number(path: str, otherwise: str) -> str:
    """The optional number, or another."""
    return f"(has({path}) ? {path} : {otherwise})"


def entry(path: str, key: str) -> str:
    """The value of a key in an optional map of strings, or the empty string."""
    return f"(has({path}) && '{key}' in {path} ? {path}['{key}'] : '')"


def unchanged(value: str) -> str:
    """True when an expression about `self` gives the same for `oldSelf`."""
    return f"{value} == {value.replace('self.', 'oldSelf.')}"
