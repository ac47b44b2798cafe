"""Parts of a scheduler's explanation that several backends write."""

from collections.abc import Iterable, Sequence

MOST_LINES = 8


def first_lines(lines: Sequence[str], most: int = MOST_LINES) -> str:
    """Return the first lines joined by semicolons, and how many more there are."""
    shown = "; ".join(lines[:most])
    return f"{shown}; and {len(lines) - most} more" if len(lines) > most else shown


def closest_domain(domains: Iterable[tuple[str, int]], needed: int) -> str:
    """Return one line for many topology domains: the one that fits most of the needed pods."""
    found = sorted((-fitting, domain) for domain, fitting in domains)
    if not found:
        return f"no domain has capacity for {needed} pods"
    fitting, domain = found[0]
    best = f", the best of {len(found)} domains" if len(found) > 1 else ""
    return f"fits {-fitting} of {needed} pods in {domain}{best}"
