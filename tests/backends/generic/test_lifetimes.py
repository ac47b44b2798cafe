"""Each station of a gang is timed once, whichever process sees it."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from backend_controllers.generic.lifetimes import Lifetimes
from backend_controllers.generic.metrics import BackendMetrics
from shared_api import names
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from tests.backends.generic.samples import gang

CREATED, THEN, LATER = "2026-05-01T11:59:58Z", "2026-05-01T12:00:00Z", "2026-05-01T12:00:30Z"


def status(programmed: str, scheduled: str, *, since: str = THEN) -> dict[str, Any]:
    """What core and then the backend has said of a gang; of its scheduling, from a time on."""
    said = {
        names.CONDITION_INITIALIZED: ("True", CREATED),
        names.CONDITION_ACCEPTED: ("True", THEN),
        names.CONDITION_PROGRAMMED: (programmed, THEN),
        names.CONDITION_SCHEDULED: (scheduled, since),
        names.CONDITION_READY: ("False", THEN),
    }
    return {
        "conditions": [
            {"type": kind, "status": word, "reason": "R", "message": "", "lastTransitionTime": time}
            for kind, (word, time) in said.items()
        ]
    }


class World:
    """A process that has just started."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._telemetry = Telemetry()
        metrics = BackendMetrics(self._telemetry, "x")
        self.lifetimes = Lifetimes(Cache(), metrics, clock)

    def timed(self, station: str, what: str = "count") -> float:
        name = f"backend_gang_{station}_seconds_{what}"
        return self._telemetry.registry.get_sample_value(name, {"backend": "x"}) or 0.0


@pytest.mark.parametrize(
    ("said", "times"),
    [
        pytest.param(None, 1, id="nothing was said yet"),
        pytest.param(status("True", "False"), 1, id="it was never placed"),
        pytest.param(status("True", "True", since=LATER), 0, id="it is placed"),
        pytest.param(status("True", "False", since=LATER), 0, id="it was placed and thrown back"),
    ],
)
def test_a_gang_that_is_found_is_timed_at_stations_that_it_has_not_reached(
    said: dict[str, Any] | None, times: int
) -> None:
    world, found = World(), gang(("a", 2, 2), status=said)
    for _ in range(2):
        world.lifetimes.scheduled(found)
    assert world.timed("scheduled") == times


def test_stations_are_timed_apart() -> None:
    world, found = World(), gang(("a", 2, 2), status=status("True", "False"))
    world.lifetimes.written(found)
    world.lifetimes.scheduled(found)
    world.lifetimes.ready(found)
    assert [world.timed(station) for station in ("written", "scheduled", "ready")] == [0, 1, 1]


@pytest.mark.parametrize(("created", "seconds"), [(CREATED, 2), (LATER, 0), ("", 0)])
def test_a_gang_that_is_found_is_timed_by_the_date_of_its_creation(
    created: str, seconds: int
) -> None:
    world, found = World(Clock(utc=lambda: datetime.fromisoformat(THEN))), gang(("a", 2, 2))
    metadata = msgspec.structs.replace(found.metadata, creation_timestamp=created)
    world.lifetimes.scheduled(msgspec.structs.replace(found, metadata=metadata))
    assert (world.timed("scheduled"), world.timed("scheduled", "sum")) == (1, seconds)
