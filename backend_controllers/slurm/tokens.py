"""Tokens for slurmrestd: JWTs that are signed with Slurm's key, or read from a file.

Only HMAC with SHA-256 is used, which Slurm's `auth/jwt` checks; ten lines of the standard library do
that. Keys and tokens are never logged.
"""

import base64
import hashlib
import hmac
import json
from pathlib import Path

from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.slurm.options import SlurmOptions
from shared_api.runtime.clock import Clock

_RENEW_AT = 0.25
"""Part of a token's time that is left when it is renewed."""


class Tokens:
    """The tokens of the users for whom this backend acts."""

    def __init__(self, options: SlurmOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._minted: dict[str, tuple[float, str]] = {}
        """End and token by user."""

    def headers(self, user: str) -> dict[str, str]:
        """Return the headers of a request for a user."""
        return {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": self._token(user)}

    def forget(self) -> None:
        """Sign new tokens from now on, since the server refused one."""
        self._minted.clear()

    def _token(self, user: str) -> str:
        if self._options.key_file is None:
            return _read(self._options.token_file or "").decode(errors="replace").strip()
        now = self._clock.utc().timestamp()
        ends, token = self._minted.get(user, (0.0, ""))
        seconds = self._options.token_seconds
        if ends - now < seconds * _RENEW_AT or ends - now > seconds:
            token = signed(_read(self._options.key_file), user, int(now), seconds)
            self._minted[user] = (now + seconds, token)
        return token


def signed(key: bytes, user: str, now: int, seconds: int) -> str:
    """Return a token for a user that is valid from now on."""
    claims = {"iat": now, "exp": now + seconds, "sun": user}
    parts = ({"alg": "HS256", "typ": "JWT"}, claims)
    body = b".".join(_base64(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    signature = _base64(hmac.new(key, body, hashlib.sha256).digest())
    return b".".join((body, signature)).decode()


def _base64(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        message = f"cannot read the key or token of Slurm '{path}': {error.strerror}"
        raise ExecutorError(Outcome.TRANSIENT, message) from error
