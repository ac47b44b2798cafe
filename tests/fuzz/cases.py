"""How many cases are tried: 500 in `make check`, always the same; 10,000 others in the matrix."""

from hypothesis import settings


def trials(usual: int) -> settings:
    """Settings of one test that tries so many cases with hypothesis' usual hundred."""
    profile = settings.get_current_profile_name()
    number = usual * settings.get_profile(profile).max_examples // 100
    if profile == "many":
        return settings(max_examples=number)
    return settings(max_examples=number, derandomize=True, database=None)
