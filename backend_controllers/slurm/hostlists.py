"""Lists of hosts as Slurm writes them, such as `n[1-2,07],login`. Pure."""

import re

_PART = re.compile(r"([^,\[]*(?:\[[^\]]*\][^,\[]*)*)(?:,|$)")
_RANGES = re.compile(r"^([^\[]*)\[([^\]]*)\](.*)$")


def hosts_of(text: str) -> tuple[str, ...]:
    """Return the hosts of a list, in its order."""
    found: list[str] = []
    for match in _PART.finditer(text):
        if match[1]:
            found += _expanded(match[1])
    return tuple(found)


def _expanded(part: str) -> list[str]:
    match = _RANGES.match(part)
    if match is None:
        return [part]
    rests = _expanded(match[3])
    return [
        f"{match[1]}{number}{rest}"
        for span in match[2].split(",")
        for number in _numbers(span)
        for rest in rests
    ]


def _numbers(span: str) -> list[str]:
    first, _, last = span.partition("-")
    if not last or not first.isdecimal() or not last.isdecimal():
        return [span]
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
