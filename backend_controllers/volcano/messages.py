"""Volcano's explanations, cleaned so that people can read them and this backend can compare them.

Volcano's totals of pods do not agree with each other, so they are removed. It writes `0/4 nodes are
unavailable` for nodes that are not available. Pods that it did not try repeat the message about
the gang. If two reasons exclude a node, each cycle names another one of them. The same situation
must give the same message here, otherwise every cycle would be a write. A text that is not
recognised stays as it is.
"""

import re
from collections.abc import Iterable

from backend_controllers.contract.explanations import first_lines
from shared_api.truncation import truncated

_UNAVAILABLE = re.compile(r"\b0/(\d+) nodes are unavailable")
_NODES = re.compile(r"(?P<start>.*\b0/\d+ nodes are available: )(?P<reasons>.*)")
_REASON = re.compile(r"(?P<count>\d{1,18}) (?P<reason>.+)")
_INSUFFICIENT = "Insufficient "
_HYPERNODE = re.compile(r"In hyperNode (?P<domain>\S+): (?P<cause>.*)")
# The message about the gang: totals, then the message about one of its pods.
_GANG = re.compile(
    r"(?:-?\d+/\d+ tasks in gang unschedulable: )?pod group is (?:not )?ready\b"
    r"(?P<totals>.*?)(?:\. Origin reason is:? (?P<cause>.*))?",
    re.DOTALL,
)
_POD = re.compile(r"^[^\s:]+: ")
_SKIPPED = re.compile(r"Task \S+ with role spec \S+ has already predicated failed, skip")
_ASSIGNABLE = re.compile(r"Pod \S+ can possibly be assigned to \S+, once .*")
_LONGEST = 2048


def is_assignable(text: str) -> bool:
    """Tell whether Volcano reports a node for a pod, once the whole gang fits."""
    return _ASSIGNABLE.fullmatch(text) is not None


def cleaned(reported: Iterable[str], before: str = "") -> str:
    """Return the messages of pods and gang without repetition; `before` is the last message."""
    causes = {cause for text in reported if (cause := cause_of(text))}
    lines = sorted({_steady(cause, before) for cause in causes})
    domains = [match for line in lines if (match := _HYPERNODE.fullmatch(line))]
    others = [line for line in lines if not _HYPERNODE.fullmatch(line)]
    if domains:
        # One line instead of one for each of maybe hundreds of domains.
        more = f", and {len(domains) - 1} more domains" if len(domains) > 1 else ""
        others.append(f"in HyperNode {domains[0]['domain']}{more}: {domains[0]['cause']}")
    return truncated(first_lines(others), _LONGEST)


def cause_of(text: str) -> str:
    """Return the part of a message that has the cause; empty if it has only totals."""
    line = " ".join(text.split())
    gang = _GANG.fullmatch(line)
    if gang is not None:
        line = _POD.sub("", gang["cause"] or "")
    if _SKIPPED.fullmatch(line) or is_assignable(line):
        return ""
    return _UNAVAILABLE.sub(r"0/\1 nodes are available", line).rstrip(" .")


def _steady(cause: str, before: str) -> str:
    """Return the cause without what changes by chance: which reason excludes a node."""
    nodes = _NODES.fullmatch(cause)
    reasons = [_REASON.fullmatch(part) for part in nodes["reasons"].split(", ")] if nodes else []
    found = [reason for reason in reasons if reason is not None]
    if nodes is None or len(found) < len(reasons):
        return cause
    short = [reason[0] for reason in found if reason["reason"].startswith(_INSUFFICIENT)]
    others = [reason for reason in found if not reason["reason"].startswith(_INSUFFICIENT)]
    excluded = f"{sum(int(reason['count']) for reason in others)} "
    detail = nodes["start"] + ", ".join([*short, *(reason[0] for reason in others)])
    stem = nodes["start"] + ", ".join([*short, excluded])
    # Once the reasons were seen to change, they stay out until a number changes.
    if len(others) > 1 or (others and stem in before and detail not in before):
        return f"{stem}node(s) excluded for several reasons, see the pods"
    return detail
