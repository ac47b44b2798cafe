"""ServiceAccount tokens of one pod: asked for, kept, and renewed at 80 % of their life.

The tokens are bound to the pod, so they die with it. A renewal that fails is no harm while the
old token is valid: it is kept and the next look tries again.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import aiohttp

from local_cluster.api import Api, ApiError, Object
from local_cluster.process_node.environment import ContainerConfigError
from local_cluster.process_node.projection import TokenSpec

LIFE_SHARE = 0.8

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Request = Callable[[TokenSpec], Awaitable[Object]]


@dataclass(frozen=True, slots=True)
class Token:
    """A token and when it is time for the next one."""

    text: str
    renew_at: datetime
    expires: datetime


class Tokens:
    """The tokens that a pod's volumes hold."""

    def __init__(self, request: Request, clock: Clock) -> None:
        self._request = request
        self._clock = clock
        self._held: dict[TokenSpec, Token] = {}

    async def current(self, spec: TokenSpec) -> str:
        """A valid token; a new one when the old one has lived long enough."""
        held = self._held.get(spec)
        now = self._clock()
        if held is None or now >= held.renew_at:
            try:
                held = self._held[spec] = read_token(await self._request(spec), now)
            except (ApiError, aiohttp.ClientError, TimeoutError) as error:
                if held is None or now >= held.expires:
                    raise ContainerConfigError(f"no token from the API server: {error}") from error
                log.warning("token not renewed, keeping the old one: %s", error)
        return held.text

    def seconds_to_renewal(self) -> float:
        """How long all tokens may stay as they are; infinite without any."""
        moments = [token.renew_at for token in self._held.values()]
        if not moments:
            return float("inf")
        return max(0.0, (min(moments) - self._clock()).total_seconds())


def read_token(answer: Object, now: datetime) -> Token:
    """The token of a TokenRequest's answer that arrived `now`."""
    expires = datetime.fromisoformat(answer["status"]["expirationTimestamp"])
    life = max(timedelta(0), expires - now)
    return Token(answer["status"]["token"], now + life * LIFE_SHARE, expires)


def token_request(api: Api, pod: Object) -> Request:
    """A function that asks the API server for tokens bound to this pod."""
    metadata = pod["metadata"]
    account = pod["spec"].get("serviceAccountName", "default")
    path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
    bound = {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}

    async def request(spec: TokenSpec) -> Object:
        audiences = [spec.audience] if spec.audience else []
        wanted = {
            "audiences": audiences,
            "expirationSeconds": spec.seconds,
            "boundObjectRef": bound,
        }
        return await api.create(path, {"spec": wanted})

    return request
