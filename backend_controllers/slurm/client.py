"""The REST API of one Slurm: the only module of this backend that talks to it.

Every call has a deadline, because a frozen controller keeps its clients waiting. `error_number` in
the answer decides, not the HTTP status, which differs between versions. A refusal becomes Capacity,
Invalid or Transient; a call that changes something and got no answer is Ambiguous.
"""

import asyncio
import json
import ssl
from collections.abc import Iterable, Mapping

import aiohttp

from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.slurm.dialects import (
    JobRecord,
    NodeRecord,
    ReservationRecord,
    RestVersion,
    Submission,
)
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.tokens import Tokens

_CALL_SECONDS = 10.0
_SUBMIT_SECONDS = 30.0
_NOT_FOUND = 2017
_ENDED_ALREADY = 2021
_CAPACITY = frozenset({2014, 2015, 2016, 2050, 2055, 2068, 2070, 2074, 2078})
"""Not available, busy, or above a limit that other jobs use."""
_NOT_DELIVERED = frozenset({1001, 1800, 1803, 2027})
"""The controller was not connected, or is a standby."""
_WITHOUT_ANSWER = frozenset({1002, 1003, 1004, 1801, 1802, 5000, 5001, 5002, 5003, 5004})
"""Sent to the controller, and no answer came back."""
_NOT_AUTHENTICATED = frozenset({1007, 5005})
_NOTHING_FOUND = 9003
_PROTOCOL = range(1000, 2000)

Json = dict[str, object]


class RefusedError(ExecutorError):
    """An answer with an error number."""

    def __init__(self, outcome: Outcome, number: int, message: str) -> None:
        super().__init__(outcome, message)
        self.number = number


class SlurmClient:
    """slurmrestd; a context manager."""

    def __init__(self, options: SlurmOptions, tokens: Tokens) -> None:
        self._options = options
        self._tokens = tokens
        self._session: aiohttp.ClientSession | None = None
        self._dialect: RestVersion | None = None
        self._has_accounting = False
        self.calls = 0
        """Requests so far."""

    async def __aenter__(self) -> "SlurmClient":
        url = self._options.url
        connector: aiohttp.BaseConnector | None = None
        if url.startswith("unix://"):
            connector = aiohttp.UnixConnector(path=url.removeprefix("unix://"))
        elif url.startswith("https://"):
            context = ssl.create_default_context(cafile=self._options.ca_file)
            connector = aiohttp.TCPConnector(ssl=context)
        self._session = aiohttp.ClientSession(connector=connector)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def dialect(self) -> RestVersion:
        """Return the dialect, which is looked up once."""
        if self._dialect is None:
            answer = await self._call("GET", "/openapi/v3", self._options.user)
            listed = (answer or {}).get("paths")
            paths = listed if isinstance(listed, Mapping) else {}
            found = RestVersion.served(paths)
            if found is None:
                known = " or ".join(one.value for one in RestVersion)
                message = f"slurmrestd at {self._options.url} serves neither {known}"
                raise ExecutorError(Outcome.TRANSIENT, message)
            self._dialect = found
            self._has_accounting = any(str(path).rstrip("/") == found.ended_jobs for path in paths)
        return self._dialect

    def forget_dialect(self) -> None:
        """Look the dialect up again, since the server may have been upgraded."""
        self._dialect = None

    async def jobs(self, since: int = 0) -> list[JobRecord] | None:
        """Return all jobs, or None if nothing changed since a time."""
        dialect = await self.dialect()
        query = f"?update_time={since}" if since else ""
        answer = await self._call("GET", f"{dialect.prefix}/jobs{query}", self._options.user)
        found = _objects(answer or {}, "jobs")
        # Old servers answer 304 if nothing changed. New ones answer with no jobs at all.
        if answer is None or (since and not found):
            return None
        return [dialect.job(one) for one in found]

    async def ended_jobs(self, since: int, users: Iterable[str]) -> list[JobRecord]:
        """Return the jobs of some users that ended since a time, if there is accounting."""
        dialect = await self.dialect()
        if not self._has_accounting:
            return []
        path = f"{dialect.ended_jobs}?{dialect.ended_since(since, users)}"
        answer = await self._call("GET", path, self._options.user)
        found = (dialect.ended_job(one) for one in _objects(answer or {}, "jobs"))
        return [job for job in found if job.has_ended]

    async def nodes(self) -> list[NodeRecord]:
        """Return all nodes."""
        dialect = await self.dialect()
        answer = await self._call("GET", f"{dialect.prefix}/nodes", self._options.user)
        return [dialect.node(one) for one in _objects(answer or {}, "nodes")]

    async def reservations(self) -> list[ReservationRecord]:
        """Return all reservations."""
        dialect = await self.dialect()
        answer = await self._call("GET", f"{dialect.prefix}/reservations", self._options.user)
        return [dialect.reservation(one) for one in _objects(answer or {}, "reservations")]

    async def submit(self, submission: Submission) -> int:
        """Submit a job and return its ID."""
        dialect = await self.dialect()
        path = f"{dialect.prefix}/job/submit"
        body = dialect.body(submission)
        answer = await self._call("POST", path, submission.user, body, Outcome.AMBIGUOUS)
        number = (answer or {}).get("job_id")
        if not isinstance(number, int) or number <= 0:
            raise ExecutorError(Outcome.AMBIGUOUS, "slurmrestd accepted a job without an ID")
        return number

    async def comment(self, job: int, text: str, user: str) -> None:
        """Replace the comment of a job, of all its components if it has some."""
        dialect = await self.dialect()
        path = f"{dialect.prefix}/job/{job}"
        await self._call("POST", path, user, {"comment": text}, Outcome.AMBIGUOUS)

    async def cancel(self, job: int, user: str) -> None:
        """Cancel a job; it succeeds if the job is over or unknown."""
        dialect = await self.dialect()
        try:
            await self._call("DELETE", f"{dialect.prefix}/job/{job}", user, lost=Outcome.AMBIGUOUS)
        except RefusedError as error:
            if error.number not in (_NOT_FOUND, _ENDED_ALREADY):
                raise

    async def _call(
        self,
        method: str,
        path: str,
        user: str,
        body: Mapping[str, object] | None = None,
        lost: Outcome = Outcome.TRANSIENT,
    ) -> Json | None:
        """Return the answer; None if nothing changed."""
        if self._session is None:
            raise ExecutorError(Outcome.TRANSIENT, "slurmrestd is not connected")
        url = self._options.url
        base = "http://slurm" if url.startswith("unix://") else url.rstrip("/")
        seconds = _SUBMIT_SECONDS if body is not None else _CALL_SECONDS
        self.calls += 1
        try:
            async with (
                asyncio.timeout(seconds),
                self._session.request(
                    method, base + path, headers=self._tokens.headers(user), json=body
                ) as response,
            ):
                status, content = response.status, await response.read()
        except TimeoutError as error:
            message = f"slurmrestd at {url} did not answer in {seconds:g} s"
            raise ExecutorError(lost, message) from error
        except aiohttp.ClientConnectorError as error:
            message = f"slurmrestd at {url} cannot be reached: {error.strerror or error}"
            raise ExecutorError(Outcome.TRANSIENT, message) from error
        except (aiohttp.ClientError, OSError) as error:
            message = f"slurmrestd at {url}: {str(error) or type(error).__name__}"
            raise ExecutorError(lost, message) from error
        if status == 304:
            return None
        return self._checked(status, content, lost)

    def _checked(self, status: int, content: bytes, lost: Outcome) -> Json:
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            if status in (401, 403):
                self._tokens.forget()
            text = content[:200].decode(errors="replace").strip()
            message = f"slurmrestd answered {status}: {text or 'nothing'}"
            raise ExecutorError(Outcome.TRANSIENT if status < 500 else lost, message)
        for error in _objects(answer, "errors"):
            number = error.get("error_number", error.get("error_code", 0))
            if isinstance(number, int) and number not in (0, _NOTHING_FOUND):
                raise self._refusal(number, error, lost)
        return answer

    def _refusal(self, number: int, error: Mapping[str, object], lost: Outcome) -> RefusedError:
        words = dict.fromkeys(str(error[key]) for key in ("error", "description") if error.get(key))
        message = f"Slurm refused with error {number}: {'; '.join(words)}"
        return RefusedError(self._outcome(number, lost), number, message)

    def _outcome(self, number: int, lost: Outcome) -> Outcome:
        if number < 0 or number in _NOT_AUTHENTICATED:
            # "Unspecified error" is what an expired token gets: a new one may help.
            self._tokens.forget()
            return lost if number < 0 else Outcome.TRANSIENT
        if number in _CAPACITY:
            return Outcome.CAPACITY
        if number in _WITHOUT_ANSWER:
            return lost
        if number in _NOT_DELIVERED or number in _PROTOCOL:
            return Outcome.TRANSIENT
        return Outcome.INVALID


def _objects(answer: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    found = answer.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
