"""."""


def run_demo(kubernetes: str, *, stay: bool) -> int:
    """."""
    return 0
