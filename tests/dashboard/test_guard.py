"""Who may read the dashboard: only the page itself, on this machine, with the token."""

import pytest

from gangctl.dashboard.guard import HEADERS, has_token, refusal

FINE = {"host": "127.0.0.1:4000"}


def status(method: str = "GET", **headers: str) -> int | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    refused = refusal(method, FINE | named, 4000)
    return refused[0] if refused else None


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_only_get_is_answered(method: str) -> None:
    assert status(method) == 405


@pytest.mark.parametrize("host", ["127.0.0.1:4000", "localhost:4000"])
def test_loopback_is_answered(host: str) -> None:
    assert status(host=host) is None


@pytest.mark.parametrize(
    "host", ["", "evil.example:4000", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:4000"]
)
def test_a_foreign_name_that_resolves_to_loopback_is_refused(host: str) -> None:
    assert status(host=host) == 421


def test_the_page_itself_is_answered() -> None:
    assert status(origin="http://127.0.0.1:4000", sec_fetch_site="same-origin") is None


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:4001", "null", "https://127.0.0.1:4000"]
)
def test_another_origin_is_refused(origin: str) -> None:
    assert status(origin=origin) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_loads_is_refused(site: str) -> None:
    assert status(sec_fetch_site=site, sec_fetch_dest="script") == 403


def test_the_address_can_be_opened_from_another_site() -> None:
    assert status(sec_fetch_site="cross-site", sec_fetch_dest="document") is None


@pytest.mark.parametrize("path", ["", "/", "/wrong/", "/secre", "/secret2/", "//secret/"])
def test_a_path_without_the_token_is_not_found(path: str) -> None:
    assert not has_token(path, "secret")


def test_a_path_with_the_token_is_found() -> None:
    assert has_token("/secret/", "secret")
    assert has_token("/secret/app.js", "secret")


def test_the_policy_allows_no_inline_script_or_style_and_no_other_host() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "require-trusted-types-for 'script'" in policy
