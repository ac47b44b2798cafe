"""Quantities are read exactly, and written as Go programs write them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_api.kube.quantities import parsed, written


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        (2, 2),
        (0.5, Fraction(1, 2)),
        ("100m", Fraction(1, 10)),
        ("1.5Gi", 3 * 2**29),
        ("16G", 16 * 10**9),
        ("1e3", 1000),
        ("12E", 12 * 10**18),
        (".5", Fraction(1, 2)),
        ("lots", None),
        ("1 Gi", None),
        ("1GiB", None),
        ("", None),
    ],
)
def test_quantities_are_read(text: str | float, number: Fraction | None) -> None:
    assert parsed(text) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(20), "20"),
        (Fraction(1000), "1k"),
        (Fraction(1500), "1500"),
        (Fraction(1, 2), "500m"),
        (Fraction(2**30), "1073741824"),
        (Fraction(16 * 10**9), "16G"),
        (Fraction(1, 3), "333333334n"),
    ],
)
def test_quantities_are_written_canonically(number: Fraction, text: str) -> None:
    assert written(number) == text


@given(st.integers(0, 10**21))
def test_what_is_written_is_read_again(billionths: int) -> None:
    number = Fraction(billionths, 10**9)
    assert parsed(written(number)) == number
