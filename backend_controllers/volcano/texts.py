"""Volcano's explanations, made fit to be read and compared.

Volcano counts pods in several ways that do not agree, so its totals are left out; it says
`0/4 nodes are unavailable` where it means that none is available; and pods that nobody looked
at repeat what is said about the gang. The same situation must give the same text here, or
every cycle would be a write. A text that is not recognised is passed on as it is.
"""

import re
from collections.abc import Iterable

_NODES = re.compile(r"\b0/(\d+) nodes are unavailable")
_HYPERNODE = re.compile(r"In hyperNode (?P<domain>\S+): (?P<cause>.*)")
# What is said about the gang: the totals, and then the words about one of its pods.
_GANG = re.compile(
    r"(?:-?\d+/\d+ tasks in gang unschedulable: )?pod group is (?:not )?ready\b"
    r"(?P<totals>.*?)(?:\. Origin reason is:? (?P<cause>.*))?",
    re.DOTALL,
)
_POD = re.compile(r"^[^\s:]+: ")
_SKIPPED = re.compile(r"Task \S+ with role spec \S+ has already predicated failed, skip")
_LATER = re.compile(r"Pod \S+ can possibly be assigned to \S+, once (?P<what>.*)")
_MOST_LINES = 8
_LONGEST = 2048


def cleaned(texts: Iterable[str]) -> str:
    """What pods and gang say, without repetition."""
    lines = sorted({line for text in texts if (line := cause_of(text))})
    domains = [match for line in lines if (match := _HYPERNODE.fullmatch(line))]
    others = [line for line in lines if not _HYPERNODE.fullmatch(line)]
    if domains:
        others.append(_best_known(domains))
    shown = "; ".join(others[:_MOST_LINES])
    if len(others) > _MOST_LINES:
        shown += f"; and {len(others) - _MOST_LINES} more"
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…"


def cause_of(text: str) -> str:
    """The part of a text that says why; empty if it only counts."""
    line = " ".join(text.split())
    gang = _GANG.fullmatch(line)
    if gang is not None:
        line = _POD.sub("", gang["cause"] or "")
    if _SKIPPED.fullmatch(line):
        return ""
    later = _LATER.fullmatch(line)
    if later is not None:
        return f"has a place once {later['what']}".rstrip(" .")
    return _NODES.sub(r"0/\1 nodes are available", line).rstrip(" .")


def _best_known(domains: list[re.Match[str]]) -> str:
    """One line for what may be hundreds of racks."""
    first = domains[0]
    more = f", and {len(domains) - 1} more domains" if len(domains) > 1 else ""
    return f"in HyperNode {first['domain']}{more}: {first['cause']}"
