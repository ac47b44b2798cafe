"""The two forms of Slurm's REST API that this backend uses. Pure.

v0.0.42 is served by Slurm 24.11 and later, v0.0.38 by Slurm 21.08 to 23.02. They differ in how numbers,
states, GPUs and the environment are written, and in which keys a server accepts. Unknown fields
of answers are ignored.
"""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

Json = Mapping[str, object]

_ENDED = frozenset(
    {
        *("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"),
        *("OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "REVOKED"),
    }
)
_WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"})
_UNUSABLE = ("DOWN", "DRAIN", "FAIL", "UNKNOWN", "ERROR", "NOT_RESPONDING", "MAINT")
_MEBI = 2**20


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job, or one component of a heterogeneous job."""

    id: int
    state: str
    name: str
    comment: str
    nodes: str
    het_id: int = 0
    het_offset: int = 0
    exit_status: int = 0
    signal: int = 0
    reason: str = ""
    submitted: int = 0
    started: int = 0
    ended: int = 0
    restarts: int = 0
    user: str = ""

    @property
    def is_waiting(self) -> bool:
        """Tell whether it has no nodes yet, or again."""
        return self.state in _WAITING

    @property
    def has_ended(self) -> bool:
        """Tell whether it is over."""
        return self.state in _ENDED


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node."""

    name: str
    state: str
    address: str
    features: frozenset[str]
    partitions: frozenset[str]
    cpus: int
    memory: int
    """In bytes."""
    gres: Mapping[str, int]
    used_cpus: int = 0
    used_memory: int = 0
    used_gres: Mapping[str, int] | None = None
    reason: str = ""

    @property
    def is_usable(self) -> bool:
        """Tell whether new jobs may start on it."""
        return not any(word in self.state for word in _UNUSABLE)

    @property
    def is_completing(self) -> bool:
        """Tell whether processes of a job that is over are still being ended on it."""
        return "COMPLETING" in self.state and "DOWN" not in self.state


@dataclass(frozen=True, slots=True)
class ReservationRecord:
    """Nodes that Slurm keeps for certain users, or for maintenance."""

    name: str
    nodes: str
    starts: int
    ends: int
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Component:
    """The resources of a job, or of one component of a heterogeneous job."""

    pods: int
    cpus: int
    memory_mib: int
    """0: what the partition gives by default."""
    gres: tuple[tuple[str, int], ...]
    partition: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    constraint: str = ""
    time_limit_minutes: int = 0


@dataclass(frozen=True, slots=True)
class Submission:
    """A job as it is submitted."""

    user: str
    name: str
    comment: str
    components: tuple[Component, ...]
    script: str
    environment: tuple[tuple[str, str], ...]
    directory: str


class RestVersion(enum.Enum):
    """A version of the API; the best one first."""

    V42 = "v0.0.42"
    V38 = "v0.0.38"

    @classmethod
    def served(cls, paths: Iterable[str]) -> "RestVersion | None":
        """Return the best dialect among the paths of an OpenAPI document."""
        found = {part for path in paths for part in path.split("/")}
        return next((one for one in cls if one.value in found), None)

    @property
    def prefix(self) -> str:
        """The path below which everything is."""
        return f"/slurm/{self.value}"

    def ended_since(self, seconds: int, users: Iterable[str]) -> str:
        """Return the query for jobs that ended since a time; old servers cannot filter by user."""
        if self is RestVersion.V42:
            return f"start_time={seconds}&users={','.join(users)}"
        # Whole days, since the time zone of the server is not known.
        day = datetime.fromtimestamp(max(0, seconds - 86400), UTC)
        return f"start_time={day:%Y-%m-%d}"

    @property
    def ended_jobs(self) -> str:
        """The path of ended jobs; it is served where there is accounting."""
        return f"/slurmdb/{self.value}/jobs"

    def body(self, submission: Submission) -> dict[str, object]:
        """Return the request that submits a job."""
        jobs = [self._component(submission, one) for one in submission.components]
        if len(jobs) == 1:
            return {"script": submission.script, "job": jobs[0]}
        return {"script": submission.script, "jobs": jobs}

    def _component(self, submission: Submission, one: Component) -> dict[str, object]:
        is_new = self is RestVersion.V42
        optional = {
            "partition": one.partition,
            "account": one.account,
            "qos": one.qos,
            "reservation": one.reservation,
            "constraints": one.constraint,
        }
        found: dict[str, object] = {
            "name": submission.name,
            "comment": submission.comment,
            # `nodes` alone is ignored by old servers, and a large gang then runs on few nodes.
            "minimum_nodes": one.pods,
            "tasks": one.pods,
            "tasks_per_node": 1,
            "cpus_per_task": one.cpus,
            "current_working_directory": submission.directory,
            "standard_output": "/dev/null",
            "standard_error": "/dev/null",
            "environment": [f"{key}={value}" for key, value in submission.environment]
            if is_new
            else dict(submission.environment),
            **{key: value for key, value in optional.items() if value},
        }
        if is_new:
            found |= {"maximum_nodes": one.pods, "requeue": False}
        else:
            found["nodes"] = one.pods
        if one.memory_mib:
            found["memory_per_node"] = self._written(one.memory_mib)
        if one.time_limit_minutes:
            found["time_limit"] = self._written(one.time_limit_minutes)
        if one.gres and is_new:
            found["tres_per_node"] = ",".join(f"gres/{name}:{n}" for name, n in one.gres)
        elif one.gres:
            found["gres"] = ",".join(f"{name}:{n}" for name, n in one.gres)
        return found

    def _written(self, number: int) -> object:
        return {"set": True, "number": number} if self is RestVersion.V42 else number

    def job(self, shown: Json) -> JobRecord:
        """Return a job from an answer."""
        status, signal = _exit(shown.get("exit_code"))
        return JobRecord(
            _number(shown.get("job_id")),
            _state(shown.get("job_state")),
            str(shown.get("name") or ""),
            str(shown.get("comment") or ""),
            str(shown.get("nodes") or ""),
            _number(shown.get("het_job_id")),
            _number(shown.get("het_job_offset")),
            status,
            signal,
            str(shown.get("state_reason") or ""),
            _number(shown.get("submit_time")),
            _number(shown.get("start_time")),
            _number(shown.get("end_time")),
            _number(shown.get("restart_cnt")),
            str(shown.get("user_name") or ""),
        )

    def ended_job(self, shown: Json) -> JobRecord:
        """Return a job from the accounting."""
        state, times, het = (_object(shown.get(key)) for key in ("state", "time", "het"))
        status, signal = _exit(shown.get("exit_code"))
        return JobRecord(
            _number(shown.get("job_id")),
            _state(state.get("current")),
            str(shown.get("name") or ""),
            str(_object(shown.get("comment")).get("job") or ""),
            str(shown.get("nodes") or ""),
            _number(het.get("job_id")),
            _number(het.get("job_offset")),
            status,
            signal,
            str(state.get("reason") or ""),
            _number(times.get("submission")),
            _number(times.get("start")),
            _number(times.get("end")),
            user=str(shown.get("user") or ""),
        )

    def reservation(self, shown: Json) -> ReservationRecord:
        """Return a reservation from an answer."""
        return ReservationRecord(
            str(shown.get("name") or ""),
            str(shown.get("node_list") or ""),
            _number(shown.get("start_time")),
            _number(shown.get("end_time")),
            frozenset(_words(shown.get("flags"))),
        )

    def node(self, shown: Json) -> NodeRecord:
        """Return a node from an answer."""
        flags = _words(shown.get("state_flags"))
        state = "+".join([*_words(shown.get("state")), *flags]).upper()
        return NodeRecord(
            str(shown.get("name") or ""),
            state,
            str(shown.get("address") or ""),
            frozenset(_words(shown.get("active_features"))),
            frozenset(_words(shown.get("partitions"))),
            _number(shown.get("cpus")),
            _number(shown.get("real_memory")) * _MEBI,
            _gres(str(shown.get("gres") or "")),
            _number(shown.get("alloc_cpus")),
            _number(shown.get("alloc_memory")) * _MEBI,
            _gres(str(shown.get("gres_used") or "")),
            str(shown.get("reason") or ""),
        )


def _state(value: object) -> str:
    """The state of a job; newer servers append flags, of which only the first ones count here."""
    words = _words(value)
    if "CONFIGURING" in words:
        return "CONFIGURING"
    return words[0] if words else ""


def _object(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [word for word in value.split(",") if word]
    return [str(word) for word in value] if isinstance(value, list) else []


def _number(value: object) -> int:
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set", True) else 0
    return int(value) if isinstance(value, int | float) else 0


def _exit(value: object) -> tuple[int, int]:
    """Exit status and signal; old servers write the number of wait(2)."""
    if not isinstance(value, Mapping):
        number = _number(value)
        return number >> 8 & 0xFF, number & 0x7F
    signal = value.get("signal")
    number = (
        _number(signal.get("id") or signal.get("signal_id")) if isinstance(signal, Mapping) else 0
    )
    return _number(value.get("return_code")), number


def _gres(text: str) -> dict[str, int]:
    """Counts by name, and by name and type: `gpu:a100:4(S:0)` counts as `gpu` and as `gpu:a100`."""
    found: dict[str, int] = {}
    depth, plain = 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        plain += letter if not depth and letter != ")" else ""
    for part in plain.split(","):
        words = part.split(":")
        if len(words) < 2 or not words[-1].isdecimal():
            continue
        for name in {words[0], ":".join(words[:-1])}:
            found[name] = found.get(name, 0) + int(words[-1])
    return found
