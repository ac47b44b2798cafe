"""A Slurm as the contract suite needs it: pods of one CPU fit on four nodes, smaller ones on six."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import Executor
from backend_controllers.slurm.executor import SlurmExecutor
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.tags import tag_of
from shared_api.runtime.clock import SYSTEM, Clock
from tests.backends.remote.far_side import ProcessKilled
from tests.backends.slurm.lab import SlurmLab
from tests.backends.slurm.pods import slurm_pod

_MEMORY = {"500m": "100Mi", "1": "9000Mi"}


class SlurmFarSide:
    """One Slurm."""

    grant_seconds = 3
    restarts = True

    def __init__(self, lab: SlurmLab, options: SlurmOptions) -> None:
        self._lab = lab
        self._options = options

    def executor(self, clock: Clock = SYSTEM) -> Executor:
        return SlurmExecutor(self._options, "slurm", clock)

    def pod(self, name: str, script: str = "sleep 600", **fields: Any) -> RemotePod:
        cpu = fields.pop("cpu", "500m")
        return slurm_pod(name, script, cpu=cpu, memory=_MEMORY[cpu], **fields)

    def refused_pod(self, name: str) -> RemotePod:
        return slurm_pod(name, nodeSelector={"zone": "moon"})

    def exists(self) -> dict[str, str]:
        """The pods of jobs that are not over, by job and place."""
        found: dict[str, str] = {}
        for line in self._lab.client("squeue", "-h", "-o", "%i|%T|%k").splitlines():
            number, state, comment = line.split("|", 2)
            tag = tag_of(comment)
            if tag is not None and state != "COMPLETING":
                found |= {f"{number}.{slot}": state for slot in tag.live}
        return found

    @contextlib.contextmanager
    def foreign(self) -> Iterator[Callable[[], bool]]:
        job = self._lab.client("sbatch", "--parsable", "--wrap", "sleep 600", "-o", "/dev/null")
        number = job.strip()
        try:
            yield lambda: self._lab.jobs().get(number) in ("RUNNING", "PENDING")
        finally:
            self._lab.client("scancel", number)

    @contextlib.contextmanager
    def unreachable(self) -> Iterator[None]:
        self._lab.freeze("slurmrestd")
        try:
            yield
        finally:
            self._lab.thaw("slurmrestd")

    def kill_after(self, executor: Executor, calls: int) -> None:
        assert isinstance(executor, SlurmExecutor)
        made = 0

        def dying(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def made_and_killed(*arguments: Any) -> Any:
                nonlocal made
                if made >= calls:
                    raise ProcessKilled
                made += 1
                answer = await call(*arguments)
                if made >= calls:
                    raise ProcessKilled
                return answer

            return made_and_killed

        for name in ("submit", "comment", "cancel"):
            setattr(executor.client, name, dying(getattr(executor.client, name)))
