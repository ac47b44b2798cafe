"""Timestamps as the API server and schedulers write them."""

from datetime import datetime


def time_of(text: str) -> datetime | None:
    """Return the time with its zone; None if the text is no timestamp or has no zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None
