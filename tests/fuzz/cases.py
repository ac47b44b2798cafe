"""How many cases are tried: 150 in `make check`, always the same; 10,000 others in the matrix."""

from hypothesis import settings


def trials(in_check: int, in_matrix: int) -> settings:
    """Return the settings of one test that tries so many cases."""
    if settings.get_current_profile_name() == "many":
        return settings(max_examples=in_matrix)
    return settings(max_examples=in_check, derandomize=True, database=None)
