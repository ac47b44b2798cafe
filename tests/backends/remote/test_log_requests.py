"""What the API server asks for when somebody reads a log."""

from datetime import UTC, datetime

import pytest

from backend_controllers.contract.remote.executor import LogOptions
from backend_controllers.contract.remote.log_requests import LogRequestError, log_request
from shared_api.kube.metadata import ObjectKey

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PATH = "/containerLogs/team/train-0/main"


def test_a_request_names_pod_container_and_options() -> None:
    query = {"follow": "true", "tailLines": "5", "timestamps": "true", "limitBytes": "9"}
    found = log_request(PATH, query, NOW)
    assert (found.pod, found.container) == (ObjectKey("team", "train-0"), "main")
    assert found.options == LogOptions(follow=True, tail=5, timestamps=True)
    assert found.limit == 9


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ({"sinceSeconds": "30"}, 30),
        ({"sinceTime": "2026-01-01T11:59:00Z"}, 61),
        # In the future: nothing is that new.
        ({"sinceTime": "2026-01-01T13:00:00Z"}, 0),
        ({}, None),
    ],
)
def test_a_time_becomes_seconds(query: dict[str, str], seconds: int | None) -> None:
    assert log_request(PATH, query, NOW).options.since_seconds == seconds


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/exec/team/train-0/main", {}, 404),
        ("/containerLogs/team/train-0", {}, 404),
        ("/containerLogs//train-0/main", {}, 404),
        (PATH, {"previous": "true"}, 400),
        (PATH, {"tailLines": "-1"}, 400),
        (PATH, {"limitBytes": "9" * 40}, 400),
        (PATH, {"sinceTime": "yesterday"}, 400),
        (PATH, {"sinceTime": "2026-01-01T11:59:00"}, 400),
    ],
)
def test_what_cannot_be_answered_is_refused(path: str, query: dict[str, str], status: int) -> None:
    with pytest.raises(LogRequestError) as caught:
        log_request(path, query, NOW)
    assert caught.value.status == status
