"""Workloads that end: the policies that users write, and what statuses record about jobs.

A clique runs to completion if the restartPolicy of its pods is OnFailure or Never. Field names and
places are those of Grove's job proposal; maxRuntime and ttlSecondsAfterFinished are ours.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import durations
from shared_api.models.meta import KubeModel
from shared_api.models.schema import Int32, Markers, Rule, list_atomic, list_set, rules

JOB_RESTART_POLICIES = ("OnFailure", "Never")

MAX_NAMES = 64
"""Maximum of names in completedNames, which is the maximum of cliques."""

_DURATION = f"^{durations.PATTERN}$"


def positive_duration(field: str) -> Markers:
    """The rule of a field that is a duration above zero."""
    check = f"self.matches('{_DURATION}') && duration(self) > duration('0s')"
    message = f"{field} must be greater than 0: a duration such as 30s, 10m or 4h"
    return rules(Rule(check=check, message=message))


_Restarts = Annotated[Int32, Field(ge=0, le=1000)]
_Seconds = Annotated[Int32, Field(ge=0)]


def is_job(clique_spec: str) -> str:
    """Return the CEL check whether the clique with this spec runs to completion."""
    policy = f"{clique_spec}.podSpec.restartPolicy"
    return f"(has({policy}) && {policy} in {[*JOB_RESTART_POLICIES]})"


def _needs_one_of(*fields: str) -> Rule:
    check = " || ".join(f"has(self.{field})" for field in fields)
    return Rule(check=check, message=f"must have {' or '.join(fields)}")


class CliqueFailurePolicy(KubeModel):
    """What happens after a pod of the clique failed."""

    max_restarts: Annotated[Int32, Field(ge=0, le=0)]
    """Must be 0: a pod is never restarted alone. maxRestarts of the set or scaling group restarts the gang."""


class CliqueCompletionPolicy(KubeModel):
    """How a clique with jobs ends."""

    failure: CliqueFailurePolicy
    """What happens after a pod of the clique failed."""


class CliqueWorkloadPolicy(KubeModel):
    """Policies of a clique."""

    completion: CliqueCompletionPolicy | None = None
    """Only for cliques whose restartPolicy is OnFailure or Never."""


class CompletionSuccessPolicy(KubeModel):
    """When a replica is Completed."""

    completed_names: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        list_set(at_least=1, at_most=MAX_NAMES),
    ]
    """Cliques, or in a set also scaling groups, that must be Completed. Defaults to all that run to completion."""


class CompletionFailurePolicy(KubeModel):
    """What happens after a pod failed."""

    max_restarts: _Restarts
    """How often each replica is restarted as a whole after a failure. Defaults to 0."""


class SetFailurePolicy(KubeModel):
    """What happens after a pod failed, or if the jobs take too long."""

    RULES: ClassVar[tuple[Rule, ...]] = (_needs_one_of("maxRestarts", "maxRuntime"),)

    max_restarts: _Restarts | None = None
    """How often each replica is restarted as a whole after a failure. Defaults to 0."""

    max_runtime: Annotated[str, Field(max_length=32), positive_duration("maxRuntime")] | None = None
    """The set is Failed if it is not Completed so long after its first replica was scheduled. Restarts do
    not extend it, time in a queue before the start does not count. Defaults to no limit."""


class GroupCompletionPolicy(KubeModel):
    """How the replicas of a scaling group end."""

    RULES: ClassVar[tuple[Rule, ...]] = (_needs_one_of("success", "failure"),)

    success: CompletionSuccessPolicy | None = None
    """When a replica is Completed. Defaults to all its cliques that run to completion."""

    failure: CompletionFailurePolicy | None = None
    """What happens after a pod of a replica failed. Defaults to no restart."""


class SetCompletionPolicy(KubeModel):
    """How the replicas of a set end, and what happens afterwards."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        _needs_one_of("success", "failure", "ttlSecondsAfterFinished"),
    )

    success: CompletionSuccessPolicy | None = None
    """When a replica is Completed. Defaults to all that runs to completion."""

    failure: SetFailurePolicy | None = None
    """What happens after a pod failed, or if the jobs take too long. Defaults to no restart and no limit."""

    ttl_seconds_after_finished: _Seconds | None = None
    """The set is deleted so many seconds after it is Completed or Failed. Defaults to never."""


class GroupWorkloadPolicy(KubeModel):
    """Policies of a scaling group."""

    completion: GroupCompletionPolicy | None = None
    """How its replicas end. Only for scaling groups with a clique that runs to completion."""

    @property
    def max_restarts(self) -> int:
        """Return how often a replica may be restarted."""
        failure = self.completion.failure if self.completion is not None else None
        return 0 if failure is None else failure.max_restarts

    @property
    def completed_names(self) -> tuple[str, ...]:
        """Return what must be Completed; empty for everything."""
        success = self.completion.success if self.completion is not None else None
        return () if success is None else success.completed_names


class SetWorkloadPolicy(KubeModel):
    """Policies of a set."""

    completion: SetCompletionPolicy | None = None
    """How its replicas end. Only for sets with a clique that runs to completion."""

    @property
    def max_restarts(self) -> int:
        """Return how often a replica may be restarted."""
        return self._failure.max_restarts or 0

    @property
    def max_runtime(self) -> str | None:
        """Return how long the jobs may take."""
        return self._failure.max_runtime

    @property
    def completed_names(self) -> tuple[str, ...]:
        """Return what must be Completed; empty for everything."""
        success = self.completion.success if self.completion is not None else None
        return () if success is None else success.completed_names

    @property
    def ttl_seconds(self) -> int | None:
        """Return after how many seconds a finished set is deleted."""
        return None if self.completion is None else self.completion.ttl_seconds_after_finished

    @property
    def _failure(self) -> SetFailurePolicy:
        found = self.completion.failure if self.completion is not None else None
        return found or SetFailurePolicy()


RestartCounts = Annotated[tuple[Annotated[Int32, Field(ge=0)], ...], list_atomic(at_most=10_000)]
"""How often each replica was restarted after a failure, by its index; replicas at the end may be missing."""
