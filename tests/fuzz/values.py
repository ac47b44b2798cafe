"""Any JSON that an API server would store: all types, nulls, depth, size, odd texts and numbers."""

from typing import Any

from hypothesis import strategies as st

DEEPEST = 300

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_ODD_TEXTS = st.sampled_from(
    [
        "",
        " ",
        "0",
        "-1",
        "1e9999",
        "9" * 5000,
        "NaN",
        "true",
        "null",
        "[]",
        '{"a": [1, null, {"": 0}]}',
        "{gang}",
        "{",
        "%s%n{0}",
        "a/b/c",
        "../..",
        "\x00",
        "\u202e",
        "é" * 300,
        "x" * 20_000,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00+99:99",
        "0000-00-00T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
        "-1h",
        "1e400",
        "\\d+(",
        ",,a,,",
        "after ",
        "cleared",
    ]
)
ANY_TEXT = TEXTS | _ODD_TEXTS
NUMBERS = (
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 1, -1, 2**31, 2**53 + 1, 1e308, -0.0, 5e-324, 0.5])
)
SCALARS: st.SearchStrategy[Any] = st.none() | st.booleans() | NUMBERS | ANY_TEXT


def _nested(depth: int, kind: str) -> Any:
    value: Any = "bottom"
    for level in range(depth):
        is_list = kind == "list" or (kind == "both" and level % 2)
        value = [value] if is_list else {"a": value}
    return value


_DEEP = st.builds(_nested, st.integers(2, DEEPEST), st.sampled_from(["list", "map", "both"]))
_LONG = st.sampled_from([["x"] * 500, {str(n): n for n in range(500)}, "y" * 100_000])
_SMALL = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(TEXTS, SCALARS, max_size=2)
_MIXED = st.lists(_SMALL, max_size=2) | st.dictionaries(TEXTS, _SMALL, max_size=2)


@st.composite
def _anything(draw: st.DrawFn) -> Any:
    # Weighted: what is deep or long takes time, and one such value in an object is enough.
    match draw(st.integers(0, 20)):
        case 20:
            return draw(_DEEP)
        case 19:
            return draw(_LONG)
        case 16 | 17 | 18:
            return draw(_MIXED)
        case 12 | 13 | 14 | 15:
            return draw(_SMALL)
        case _:
            return draw(SCALARS)


ANYTHING = _anything()
OBJECTS = st.dictionaries(TEXTS, ANYTHING, max_size=2)
