"""Cuts a body that arrives in parts into lines.

Only a line that spans two parts is copied, because events are large and copying costs more than
the search for line ends. The API server sends one event in one part, so few lines are copied.
"""

from collections.abc import Iterable
from typing import TypeAlias

from shared_api.kube.errors import BadResponse

Line: TypeAlias = bytes | memoryview
"""A line of a stream; a view keeps its whole part in memory."""


class Lines:
    """The lines of one body."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest: list[bytes] = []
        self._size = 0

    @property
    def is_inside_one(self) -> bool:
        """Tell whether a line has begun and not ended."""
        return bool(self._rest)

    def cut(self, parts: Iterable[bytes]) -> list[Line]:
        """Return the lines that end in these parts, without empty ones."""
        lines: list[Line] = []
        for part in parts:
            begin = 0
            end = part.find(b"\n")
            if end >= 0 and self._rest:
                lines.append(self._whole(part[:end]))
                begin = end + 1
                end = part.find(b"\n", begin)
            if end >= 0:
                view = memoryview(part)
                while end >= 0:
                    if end > begin:
                        lines.append(view[begin:end])
                    begin = end + 1
                    end = part.find(b"\n", begin)
            if begin < len(part):
                self._keep(part[begin:])
        return lines

    def _keep(self, rest: bytes) -> None:
        self._rest.append(rest)
        self._size += len(rest)
        if self._size > self._longest:
            raise BadResponse(f"a line of more than {self._longest} bytes")

    def _whole(self, end: bytes) -> bytes:
        line = b"".join((*self._rest, end))
        self._rest, self._size = [], 0
        return line
