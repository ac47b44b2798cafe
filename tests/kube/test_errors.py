"""One error tree, one verdict for each error, and texts that cannot flood a log."""

import json

import pytest

from shared_api.kube import errors
from shared_api.kube.errors import ErrorAction, Status, classify, from_response, from_status


def api_error(code: int, reason: str = "", **details: object) -> errors.ApiError:
    body = {"kind": "Status", "code": code, "reason": reason, "message": "m", "details": details}
    return from_response(code, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.Invalid),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.Invalid),
        (408, "Timeout", errors.ServerError),
        (425, "TooEarly", errors.ServerError),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
    ],
)
def test_each_answer_becomes_its_own_error(
    code: int, reason: str, kind: type[errors.ApiError]
) -> None:
    error = api_error(code, reason)

    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, reason, "m")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (api_error(404), ErrorAction.WAIT_FOR_EVENT),
        (api_error(409), ErrorAction.WAIT_FOR_EVENT),
        (api_error(409, "AlreadyExists"), ErrorAction.WAIT_FOR_EVENT),
        (api_error(410), ErrorAction.WAIT_FOR_EVENT),
        (api_error(403, causes=[{"reason": "NamespaceTerminating"}]), ErrorAction.WAIT_FOR_EVENT),
        (api_error(403), ErrorAction.RETRY),
        (api_error(401), ErrorAction.RETRY),
        (api_error(429), ErrorAction.RETRY),
        (api_error(500), ErrorAction.RETRY),
        (api_error(408), ErrorAction.RETRY),
        (api_error(307), ErrorAction.RETRY),
        (errors.Timeout("late"), ErrorAction.RETRY),
        (errors.ConnectionLost("reset"), ErrorAction.RETRY),
        (errors.BadResponse("garbage"), ErrorAction.RETRY),
        (RuntimeError("a bug"), ErrorAction.RETRY),
        (api_error(422), ErrorAction.TERMINAL),
        (api_error(400), ErrorAction.TERMINAL),
        (errors.ConfigError("no kubeconfig"), ErrorAction.TERMINAL),
    ],
    ids=lambda value: value.value if isinstance(value, ErrorAction) else repr(value)[:40],
)
def test_each_error_has_one_verdict(error: Exception, verdict: ErrorAction) -> None:
    assert classify(error) is verdict


@pytest.mark.parametrize(
    ("location", "quoted"),
    [
        (
            "https://login.example:8443/sign-in?state=hunter2#hunter2",
            "https://login.example/sign-in,",
        ),
        ("https://me:hunter2@login.example/", "https://login.example/,"),
        ("/relative\x1b[31m", "/relative[31m,"),
        ("https://[broken", "nowhere,"),
        (None, "nowhere,"),
        ("/" + "x" * 9999, "…,"),
    ],
)
def test_a_redirect_reports_where_it_points_and_no_secret(
    location: str | None, quoted: str
) -> None:
    error = from_response(302, b"<html>hunter2</html>", None, location)

    assert type(error) is errors.Redirected
    assert quoted in str(error)
    assert "hunter2" not in str(error)
    assert str(error).endswith("gateway"), "the remedy is never cut off"


def test_a_quota_that_others_used_at_the_same_time_is_tried_again() -> None:
    body = b'{"reason":"Conflict","message":"m","details":{"kind":"resourcequotas","name":"q"}}'
    assert classify(from_response(409, body)) is ErrorAction.RETRY


def test_an_exceeded_quota_is_distinguished_from_other_refusals() -> None:
    said = 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=8'
    refusal = from_status(Status(403, "Forbidden", said))
    assert isinstance(refusal, errors.Forbidden)
    assert refusal.exceeded_quota == "q, requested: pods=1, used: pods=8"
    assert errors.Forbidden(Status(403, "Forbidden", "failed quota: q")).exceeded_quota == ""


def test_a_body_that_is_no_status_is_not_quoted() -> None:
    error = from_response(502, b"<html>password=hunter2</html>")

    assert "hunter2" not in str(error)
    assert isinstance(error, errors.ServerError)


def test_json_that_is_no_status_is_not_quoted() -> None:
    assert "hunter2" not in str(from_response(500, b'{"data": {"password": "hunter2"}}'))


def test_messages_and_causes_are_cut() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "y" * 9999, "field": "spec"}] * 999
    error = from_status(Status(422, "Invalid", "x" * 99999, api_error(422, causes=causes).details))

    assert len(str(error)) < 600
    assert len(error.details.causes) == errors.CAUSES_LIMIT
    assert all(len(cause.message) <= errors.TEXT_LIMIT for cause in error.details.causes)


def test_retry_after_comes_from_the_header_or_the_details_and_is_bounded() -> None:
    assert from_response(429, b"", "7").retry_after == 7
    assert api_error(429, "TooManyRequests", retryAfterSeconds=3).retry_after == 3
    assert from_response(503, b"", "86400").retry_after == errors.RETRY_AFTER_LIMIT
    assert from_response(503, b"", "Wed, 21 Oct 2026 07:28:00 GMT").retry_after is None
    assert from_response(503, b"").retry_after is None


def test_a_conflict_of_field_managers_is_distinguished_from_a_stale_version() -> None:
    owned = api_error(
        409, "Conflict", causes=[{"reason": "FieldManagerConflict", "field": ".spec"}]
    )

    assert isinstance(owned, errors.Conflict)
    assert owned.is_field_ownership
    assert not errors.Conflict(Status(409, "Conflict")).is_field_ownership
