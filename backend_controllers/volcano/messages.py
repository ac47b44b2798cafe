"""Volcano's explanations, made fit to be read and compared.

Volcano counts pods in several ways that do not agree, so its totals are left out; it says
`0/4 nodes are unavailable` where it means that none is available; and pods that nobody looked
at repeat what is said about the gang. Of a node that is ruled out for two reasons it names
either, another in each cycle. The same situation must give the same text here, or every cycle
would be a write. A text that is not recognised is passed on as it is.
"""

import re
from collections.abc import Iterable

from shared_api.truncation import truncated

_UNAVAILABLE = re.compile(r"\b0/(\d+) nodes are unavailable")
_NODES = re.compile(r"(?P<start>.*\b0/\d+ nodes are available: )(?P<reasons>.*)")
_REASON = re.compile(r"(?P<count>\d{1,18}) (?P<reason>.+)")
_SHORT = "Insufficient "
_HYPERNODE = re.compile(r"In hyperNode (?P<domain>\S+): (?P<cause>.*)")
# What is said about the gang: the totals, and then the words about one of its pods.
_GANG = re.compile(
    r"(?:-?\d+/\d+ tasks in gang unschedulable: )?pod group is (?:not )?ready\b"
    r"(?P<totals>.*?)(?:\. Origin reason is:? (?P<cause>.*))?",
    re.DOTALL,
)
_POD = re.compile(r"^[^\s:]+: ")
_SKIPPED = re.compile(r"Task \S+ with role spec \S+ has already predicated failed, skip")
_HAS_PLACE = re.compile(r"Pod \S+ can possibly be assigned to \S+, once .*")
_MOST_LINES = 8
_LONGEST = 2048


def has_place(text: str) -> bool:
    """Tell whether a pod is said to have a place once the whole gang has one."""
    return _HAS_PLACE.fullmatch(text) is not None


def cleaned(texts: Iterable[str], before: str = "") -> str:
    """What pods and gang say, without repetition; `before` is what was said last."""
    causes = {cause for text in texts if (cause := cause_of(text))}
    lines = sorted({_steady(cause, before) for cause in causes})
    domains = [match for line in lines if (match := _HYPERNODE.fullmatch(line))]
    others = [line for line in lines if not _HYPERNODE.fullmatch(line)]
    if domains:
        others.append(_best_known(domains))
    shown = "; ".join(others[:_MOST_LINES])
    if len(others) > _MOST_LINES:
        shown += f"; and {len(others) - _MOST_LINES} more"
    return truncated(shown, _LONGEST)


def cause_of(text: str) -> str:
    """The part of a text that says why; empty if it only counts."""
    line = " ".join(text.split())
    gang = _GANG.fullmatch(line)
    if gang is not None:
        line = _POD.sub("", gang["cause"] or "")
    if _SKIPPED.fullmatch(line) or has_place(line):
        return ""
    return _UNAVAILABLE.sub(r"0/\1 nodes are available", line).rstrip(" .")


def _steady(cause: str, before: str) -> str:
    """The cause without what changes by chance: which of its reasons rules a node out."""
    nodes = _NODES.fullmatch(cause)
    reasons = [_REASON.fullmatch(part) for part in nodes["reasons"].split(", ")] if nodes else []
    found = [reason for reason in reasons if reason is not None]
    if nodes is None or len(found) < len(reasons):
        return cause
    short = [reason[0] for reason in found if reason["reason"].startswith(_SHORT)]
    others = [reason for reason in found if not reason["reason"].startswith(_SHORT)]
    ruled_out = f"{sum(int(reason['count']) for reason in others)} "
    detail = nodes["start"] + ", ".join([*short, *(reason[0] for reason in others)])
    stem = nodes["start"] + ", ".join([*short, ruled_out])
    # Once it was seen to change it is not said in detail again, until a number does.
    if len(others) > 1 or (others and stem in before and detail not in before):
        return f"{stem}node(s) ruled out for several reasons, see the pods"
    return detail


def _best_known(domains: list[re.Match[str]]) -> str:
    """One line for what may be hundreds of racks."""
    first = domains[0]
    more = f", and {len(domains) - 1} more domains" if len(domains) > 1 else ""
    return f"in HyperNode {first['domain']}{more}: {first['cause']}"
