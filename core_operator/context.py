"""What every reconciler of this process works with.

One value instead of seven parameters. It also keeps what is known only here and now, and what
statuses have to tell: that a name is taken or that the server refused a pod, by the UID of the
object for which it was asked. After a restart that is found out again, by trying again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from core_operator.metrics import CoreMetrics
from core_operator.plan.statuses.reasons import Blocked
from core_operator.settings import Settings
from core_operator.state.lost_pods import Repairs
from core_operator.state.quota_turns import Turns
from core_operator.state.update_selections import Selections
from core_operator.state.view import View
from shared_api.kube.client import Client
from shared_api.models import KubeObject
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.leading.fence import Fence, Unfenced
from shared_api.runtime.recording.event_objects import EventType, Regarding
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.telemetry.metrics import Telemetry


@dataclass(frozen=True, slots=True)
class CoreContext:
    """The tools of one process."""

    settings: Settings
    client: Client
    view: View
    telemetry: Telemetry
    metrics: CoreMetrics
    recorder: Recorder | None = None
    fence: Fence = field(default_factory=Unfenced)
    clock: Clock = SYSTEM
    problems: dict[str, Blocked] = field(default_factory=dict)
    """What keeps children from being created, by the UID of their owner."""
    wakers: list[Callable[[KubeObject], None]] = field(default_factory=list)
    """Told when the problem of an object appeared or went."""

    selections: Selections = field(default_factory=Selections)
    """Pods that updates have chosen."""

    turns: Turns = field(default_factory=Turns)
    """Who may create pods where a quota is exhausted."""

    repairs: Repairs = field(init=False)
    """How long gangs take to be whole again."""

    def __post_init__(self) -> None:
        repairs = Repairs(self.view.caches, self.metrics, self.clock, self.fence)
        object.__setattr__(self, "repairs", repairs)

    def now(self) -> datetime:
        """The wall clock, for fields that people read."""
        return self.clock.utc()

    def tell(self, about: KubeObject, reason: str, note: str, *, warning: bool = False) -> None:
        """Record an Event about an object."""
        if self.recorder is None:
            return
        metadata = about.metadata
        regarding = Regarding(
            about.API_VERSION,
            about.KIND,
            metadata.namespace or "",
            metadata.name,
            metadata.uid or "",
        )
        type_: EventType = "Warning" if warning else "Normal"
        self.recorder.record(regarding, reason, note, type_=type_)

    def note_problem(
        self, about: KubeObject, problem: Blocked | None, told: KubeObject | None = None
    ) -> None:
        """Remember what is wrong with an object now, or that nothing is.

        An Event tells of it, about the object or about the one that people look at instead.
        """
        uid = about.metadata.uid or ""
        if self.problems.get(uid) == problem:
            return
        if problem is None:
            del self.problems[uid]
        else:
            self.problems[uid] = problem
            self.tell(told or about, problem.reason, problem.message, warning=True)
        for wake in self.wakers:
            wake(about)
