"""What an expression names: its selectors with their matchers, and the labels that it groups by.

It reads the part of PromQL that rules and dashboards use, and fails on anything else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<range>\[[^\]]*\])|(?P<number>\d+(?:\.\d+)?)'
    r"|(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)|(?P<sign>[=!]~|[=!<>]=|[-+*/<>=(){},]))"
)
_GROUPING = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
_OPERATORS = frozenset({"and", "or", "unless", "bool"})


@dataclass(slots=True)
class Uses:
    """What was found."""

    selectors: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    grouping: set[str] = field(default_factory=set)

    @property
    def metrics(self) -> set[str]:
        return {metric for metric, _ in self.selectors}


def uses(expression: str) -> Uses:
    found, tokens = Uses(), list(_tokens(expression))
    position = 0
    while position < len(tokens):
        kind, text = tokens[position]
        after = tokens[position + 1][1] if position + 1 < len(tokens) else ""
        if kind == "name" and text in _GROUPING:
            end = _closing(tokens, position, ")")
            found.grouping |= {word for sort, word in tokens[position + 1 : end] if sort == "name"}
            position = end
        elif kind == "name" and text not in _OPERATORS and after not in {"(", *_GROUPING}:
            matchers: dict[str, str] = {}
            if after == "{":
                end = _closing(tokens, position, "}")
                inner = [word for _, word in tokens[position + 2 : end] if word != ","]
                matchers = dict(zip(inner[0::3], (w.strip('"') for w in inner[2::3]), strict=True))
                position = end
            found.selectors.append((text, matchers))
        position += 1
    return found


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    position, end = 0, len(expression.rstrip())
    while position < end:
        token = _TOKEN.match(expression, position)
        assert token is not None, f"cannot read {expression[position:]!r}"
        assert token.lastgroup is not None
        yield token.lastgroup, token[token.lastgroup]
        position = token.end()


def _closing(tokens: list[tuple[str, str]], position: int, sign: str) -> int:
    return next(at for at in range(position, len(tokens)) if tokens[at][1] == sign)
