"""What answers of slurmrestd mean, and which token a request carries."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.slurm.client import SlurmClient
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.tokens import Tokens
from shared_api.runtime.clock import SYSTEM, Clock

LOST = Outcome.AMBIGUOUS


def client() -> SlurmClient:
    options = SlurmOptions(token_file="/nowhere")
    return SlurmClient(options, Tokens(options, SYSTEM))


def refusal(number: int, key: str = "error_number") -> bytes:
    return json.dumps({"errors": [{key: number, "error": "why"}]}).encode()


@pytest.mark.parametrize(
    ("status", "content", "outcome"),
    [
        (200, refusal(2014), Outcome.CAPACITY),
        (500, refusal(2016), Outcome.CAPACITY),
        (500, refusal(2017), Outcome.INVALID),
        (404, refusal(2017), Outcome.INVALID),
        (200, refusal(2012, "error_code"), Outcome.INVALID),
        (500, refusal(1800), Outcome.TRANSIENT),
        (500, refusal(5004), Outcome.AMBIGUOUS),
        (500, refusal(-1), Outcome.AMBIGUOUS),
        (500, refusal(1007), Outcome.TRANSIENT),
        (401, b"Authentication failure", Outcome.TRANSIENT),
        (502, b"<html>", Outcome.AMBIGUOUS),
        (500, b"", Outcome.AMBIGUOUS),
    ],
)
def test_error_number_decides_and_not_the_status(
    status: int, content: bytes, outcome: Outcome
) -> None:
    with pytest.raises(ExecutorError) as caught:
        client()._checked(status, content, LOST)
    assert caught.value.outcome is outcome


@pytest.mark.parametrize("number", [0, 9003])
def test_answer_without_an_error_number_is_an_answer(number: int) -> None:
    assert "errors" in client()._checked(500, refusal(number), LOST)


class _Time:
    now = 1_000_000.0

    def clock(self) -> Clock:
        return replace(SYSTEM, utc=lambda: datetime.fromtimestamp(self.now, UTC))


def _ends(headers: dict[str, str]) -> int:
    body = headers["X-SLURM-USER-TOKEN"].split(".")[1]
    ends = json.loads(base64.urlsafe_b64decode(body + "=="))["exp"]
    assert isinstance(ends, int)
    return ends


def test_token_is_renewed_before_it_ends_and_when_it_was_refused(tmp_path: Path) -> None:
    key, time = tmp_path / "key", _Time()
    key.write_bytes(b"secret")
    options = SlurmOptions(key_file=str(key), token_seconds=1000)
    tokens = Tokens(options, time.clock())
    first = tokens.headers("ml")
    assert (first["X-SLURM-USER-NAME"], _ends(first)) == ("ml", 1_001_000)
    time.now += 740
    assert tokens.headers("ml") == first
    assert tokens.headers("other") != first
    time.now += 20
    assert _ends(tokens.headers("ml")) == 1_001_760
    time.now += 1
    tokens.forget()
    assert _ends(tokens.headers("ml")) == 1_001_761
    # A clock that was set back must not leave a token that ends in the far future.
    time.now -= 10_000
    assert _ends(tokens.headers("ml")) == 991_761


def test_token_file_is_read_again_for_each_request(tmp_path: Path) -> None:
    token = tmp_path / "token"
    tokens = Tokens(SlurmOptions(token_file=str(token)), SYSTEM)
    for text in ("one\n", "two"):
        token.write_text(text)
        assert tokens.headers("ml")["X-SLURM-USER-TOKEN"] == text.strip()
    token.unlink()
    with pytest.raises(ExecutorError, match=r"cannot read the key or token of Slurm .*token'"):
        tokens.headers("ml")
