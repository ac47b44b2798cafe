"""Tokens are renewed in time, and an API server that is away does no harm before they expire."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from local_cluster.api import ApiError
from local_cluster.process_node.environment import ContainerConfigError
from local_cluster.process_node.projection import TokenSpec
from local_cluster.process_node.tokens import Tokens
from local_cluster.process_node.volumes import Volumes
from tests.local_cluster.process_node_samples import NOON, facts

SPEC = TokenSpec("", 600)


class Issuer:
    """Issues numbered tokens that live 600 seconds, by a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now: datetime = NOON
        self.issued = 0
        self.available = True

    def clock(self) -> datetime:
        return self.now

    def after(self, seconds: float) -> None:
        self.now = NOON + timedelta(seconds=seconds)

    async def request(self, spec: TokenSpec) -> dict[str, Any]:
        if not self.available:
            raise ApiError(503, "away")
        self.issued += 1
        expires = self.now + timedelta(seconds=spec.seconds)
        stamp = expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"status": {"token": f"token-{self.issued}", "expirationTimestamp": stamp}}


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def tokens(issuer: Issuer) -> Tokens:
    return Tokens(issuer.request, issuer.clock)


async def test_a_token_is_kept_for_four_fifths_of_its_life(issuer: Issuer, tokens: Tokens) -> None:
    assert tokens.seconds_to_renewal() == float("inf")
    assert await tokens.current(SPEC) == "token-1"
    assert tokens.seconds_to_renewal() == 480
    issuer.after(479)
    assert await tokens.current(SPEC) == "token-1"
    issuer.after(480)
    assert tokens.seconds_to_renewal() == 0
    assert await tokens.current(SPEC) == "token-2"
    assert tokens.seconds_to_renewal() == 480


async def test_audiences_have_tokens_of_their_own(tokens: Tokens) -> None:
    assert await tokens.current(SPEC) == "token-1"
    assert await tokens.current(TokenSpec("other", 600)) == "token-2"
    assert await tokens.current(SPEC) == "token-1"


async def test_an_old_token_serves_while_no_new_one_is_to_be_had(
    issuer: Issuer, tokens: Tokens
) -> None:
    await tokens.current(SPEC)
    issuer.available = False
    issuer.after(599)
    assert await tokens.current(SPEC) == "token-1"
    issuer.available = True
    assert await tokens.current(SPEC) == "token-2"


async def test_an_expired_token_is_not_handed_out(issuer: Issuer, tokens: Tokens) -> None:
    await tokens.current(SPEC)
    issuer.available = False
    issuer.after(600)
    with pytest.raises(ContainerConfigError, match="503: away"):
        await tokens.current(SPEC)


async def test_a_renewed_token_replaces_the_file(
    issuer: Issuer, tokens: Tokens, tmp_path: Path
) -> None:
    source = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}
    volume = {"name": "access", "projected": {"sources": [source]}}
    volumes = Volumes(tmp_path, tokens)
    await volumes.refresh(facts(volumes=[volume]))
    root = volumes.mount(
        {"name": "main", "volumeMounts": [{"name": "access", "mountPath": "/run"}]}
    )
    token = root / "run" / "token"
    assert token.read_text() == "token-1"
    assert token.stat().st_mode & 0o777 == 0o600
    issuer.after(480)
    await volumes.refresh(facts(volumes=[volume]))
    assert token.read_text() == "token-2"
