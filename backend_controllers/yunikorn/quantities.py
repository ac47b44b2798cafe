"""Quantities as Kubernetes writes them, added up without losing anything.

Decimal and binary suffixes, exponents and fractions are read exactly. What is written is whole
or in thousandths, rounded up: a placeholder that is too small is thrown away by YuniKorn, one
that is a thousandth too large is not.
"""

import math
import re
from fractions import Fraction

_DECIMAL = {
    suffix: Fraction(10) ** power
    for suffix, power in (
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    )
}
_BINARY = {f"{letter}i": Fraction(1024) ** (power + 1) for power, letter in enumerate("KMGTPE")}
_SUFFIXES = _DECIMAL | _BINARY
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?:[eE](?P<exponent>[+-]?\d{1,3})|(?P<suffix>[A-Za-z]*))"
)


def parsed(text: str | float) -> Fraction | None:
    """The number that a quantity stands for; None if it is none."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        return None
    number = Fraction(match["number"])
    if match["exponent"]:
        return number * Fraction(10) ** int(match["exponent"])
    factor = _SUFFIXES.get(match["suffix"] or "")
    return None if factor is None else number * factor


def written(number: Fraction) -> str:
    """A quantity that is at least this number, in whole units or thousandths."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{math.ceil(number * 1000)}m"
