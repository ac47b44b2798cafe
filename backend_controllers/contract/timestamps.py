"""Timestamps as the API server and schedulers write them."""

from datetime import datetime


def time_of(text: str) -> datetime | None:
    """Return the time with its zone; None if the text is not a timestamp or has no zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Nothing can be added to the last year, or taken from the first.
    return time if time.tzinfo and 1 < time.year < 9999 else None
