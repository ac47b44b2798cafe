"""How many cases are tried: few in `make check`, twenty times as many in the matrix."""

from hypothesis import settings


def cases(usual: int) -> int:
    """Cases of one test, given how many it has with hypothesis' usual hundred."""
    return usual * settings.default.max_examples // 100 if settings.default is not None else usual
