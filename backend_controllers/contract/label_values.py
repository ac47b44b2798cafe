"""What the API server accepts as the value of a label; annotations may have any value."""

import re

ALLOWED = "at most 63 letters, digits, '-', '_' and '.'"
"""The same for messages."""

_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def is_label_value(value: str) -> bool:
    """Tell whether a label may have this value, which is not empty."""
    return _VALUE.fullmatch(value) is not None
