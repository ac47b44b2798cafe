"""Text that is cut to a limit, with a mark that something is missing."""

_GAP = " … "


def truncated(text: str, limit: int) -> str:
    """Return the text, or as much of it as fits the limit."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def without_middle(text: str, limit: int) -> str:
    """Return the text, or its beginning and its end: a message ends with what to do."""
    if len(text) <= limit:
        return text
    # What is wrong is short. Numbers come next, and the remedy may have a list or a command.
    head = limit // 3
    tail = limit - head - len(_GAP)
    return f"{text[:head].rstrip()}{_GAP}{text[-tail:].lstrip()}"
