"""CEL fragments that keep the API server's cost estimate finite.

The server estimates the cost of a rule from the bounds in the schema before it accepts the CRD. It
follows these bounds only along plain paths. So no fragment uses `x.?y.orValue([])`: it hides the
path and makes the estimate infinite.
"""


def each(path: str, variable: str, check: str) -> str:
    """True if the list is absent or `check` holds for all items."""
    return f"(!has({path}) || {path}.all({variable}, {check}))"


def some(path: str, variable: str, check: str) -> str:
    """True if the list is present and `check` holds for one item."""
    return f"(has({path}) && {path}.exists({variable}, {check}))"


def text(path: str) -> str:
    """The optional string, or the empty one."""
    return f"(has({path}) ? {path} : '')"


def items(path: str) -> str:
    """The optional list, or the empty one. Only compare it: a loop over it has no finite cost."""
    return f"(has({path}) ? {path} : [])"


def number(path: str, otherwise: str) -> str:
    """The optional number, or `otherwise`."""
    return f"(has({path}) ? {path} : {otherwise})"


def entry(path: str, key: str) -> str:
    """The value of a key in an optional map of strings, or the empty string."""
    return f"(has({path}) && '{key}' in {path} ? {path}['{key}'] : '')"


def duplicate(items: str, key: str) -> str:
    """The value of `key` that several items have; there must be one."""
    return f"{items}.filter(a, !{items}.exists_one(b, b.{key} == a.{key}))[0].{key}"


def unchanged(value: str) -> str:
    """True if an expression has the same value for `self` and `oldSelf`."""
    return f"{value} == {value.replace('self.', 'oldSelf.')}"
