"""Parses Kubernetes quantities exactly, and writes them in the canonical form.

The canonical form has the largest decimal suffix that leaves the number whole. Every Go program
writes it. With another form, the next program that updates the object would change the value, and
we would change it back. Fractions below a billionth are rounded up.
"""

import functools
import math
import re
from fractions import Fraction

_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_POWERS = {suffix: Fraction(1000) ** (place - 3) for place, suffix in enumerate(_DECIMAL)} | {
    f"{letter}i": Fraction(1024) ** (place + 1) for place, letter in enumerate("KMGTPE")
}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?:[eE](?P<exponent>[+-]?\d{1,2})|(?P<suffix>[A-Za-z]*))"
)

# Python converts at most 4,300 digits. Our CRDs allow 64 characters.
_LONGEST = 1000


# A cluster has thousands of equal quantities, and fractions are slow.
@functools.lru_cache(maxsize=4096)
def parsed(text: str | float) -> Fraction | None:
    """Return the number of a quantity; None if the text is not a quantity."""
    if isinstance(text, str) and len(text) > _LONGEST:
        return None
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        return None
    number = Fraction(match["number"])
    if match["exponent"]:
        return number * Fraction(10) ** int(match["exponent"])
    power = _POWERS.get(match["suffix"] or "")
    return None if power is None else number * power


def written(number: Fraction) -> str:
    """Return the canonical quantity of a number that is not negative."""
    whole, place = math.ceil(number * 10**9), 0
    while whole and whole % 1000 == 0 and place < len(_DECIMAL) - 1:
        whole, place = whole // 1000, place + 1
    return f"{whole}{_DECIMAL[place]}" if whole else "0"
