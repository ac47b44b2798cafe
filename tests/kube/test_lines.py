"""Lines come out of a body whole, whatever parts it comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_api.kube.errors import BadResponse
from shared_api.kube.http.lines import Lines


@given(st.lists(st.text("ab\n", max_size=6).map(str.encode), max_size=8))
def test_the_lines_are_those_of_the_whole_body(parts: list[bytes]) -> None:
    lines = Lines(1000)
    found = [bytes(line) for part in parts for line in lines.cut([part])]
    *whole, rest = b"".join(parts).split(b"\n")
    assert found == [line for line in whole if line]
    assert lines.is_inside_one == bool(rest)


def test_many_parts_at_once_are_the_same_as_one_by_one() -> None:
    found = Lines(1000).cut([b"a", b"b\nc", b"\n\n", b"d\ne\n"])
    assert [bytes(line) for line in found] == [b"ab", b"c", b"d", b"e"]


def test_a_line_inside_one_part_is_not_copied() -> None:
    part = b"first\nsecond\n"
    (first, second) = Lines(1000).cut([part])
    assert isinstance(first, memoryview)
    assert isinstance(second, memoryview)
    assert first.obj is part


def test_a_line_that_is_too_long_is_refused_before_it_ends() -> None:
    lines = Lines(10)
    lines.cut([b"x" * 10])
    with pytest.raises(BadResponse, match="more than 10 bytes"):
        lines.cut([b"x"])
