"""Delays are from the deciding news to its answer, once for each gang and station."""

import pytest

from benchmarks.product.sightings import Sightings, percentile
from shared_api.names import CONDITION_READY as READY
from shared_api.names import CONDITION_SCHEDULED as SCHEDULED


def test_the_last_pod_decides_and_the_first_status_that_reports_it_answers() -> None:
    seen = Sightings(pods_per_gang=2)
    seen.pod("g", "a", [SCHEDULED], 1.0)
    seen.pod("g", "a", [SCHEDULED], 2.0)
    seen.pod("g", "b", [SCHEDULED], 3.0)
    seen.pod("g", "b", [SCHEDULED], 4.0)
    seen.gang("g", [], 3.5)
    seen.gang("g", [SCHEDULED], 5.0)
    seen.gang("g", [SCHEDULED], 6.0)
    assert seen.delays().reported == (2.0,)


def test_scheduled_and_ready_are_counted_apart() -> None:
    seen = Sightings(pods_per_gang=1)
    seen.pod("g", "a", [SCHEDULED], 1.0)
    seen.gang("g", [SCHEDULED], 1.5)
    seen.pod("g", "a", [SCHEDULED, READY], 2.0)
    seen.gang("g", [SCHEDULED, READY], 2.25)
    assert seen.delays().reported == (0.5, 0.25)


def test_an_object_is_late_by_the_time_since_its_gang_was_first_seen() -> None:
    seen = Sightings(pods_per_gang=2)
    seen.gang("g", [], 1.0)
    seen.gang("other", [], 1.0)
    seen.gang("g", [], 1.2)
    seen.written("g", 1.5)
    seen.written("g", 9.0)
    assert seen.delays().written == (0.5,)


def test_news_that_overtake_each_other_count_as_no_delay() -> None:
    seen = Sightings(pods_per_gang=1)
    seen.written("g", 1.0)
    seen.gang("g", [SCHEDULED], 2.0)
    seen.pod("g", "a", [SCHEDULED], 2.5)
    assert (seen.delays().written, seen.delays().reported) == ((0.0,), (0.0,))


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_a_percentile_is_a_value_that_was_seen(share: float, value: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], share) == value


def test_a_percentile_of_nothing_is_zero() -> None:
    assert percentile([], 0.99) == 0
