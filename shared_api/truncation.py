"""Text that is cut to a limit, with a mark that something is missing."""


def truncated(text: str, limit: int) -> str:
    """Return the text, or as much of it as fits the limit."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"
