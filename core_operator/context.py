"""What every reconciler of this process works with, in one value.

It also holds what reconcilers of this process share in memory: problems, expected events, lost
pods and turns under a quota. Nothing here survives a restart, and nothing has to.
"""

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from core_operator.metrics import CoreMetrics
from core_operator.plan.statuses.reasons import Blocker
from core_operator.settings import CoreSettings
from core_operator.state.expected_events import ExpectedEvents
from core_operator.state.pod_losses import PodLosses
from core_operator.state.problems import Problems
from core_operator.state.quota_turns import QuotaTurns
from core_operator.state.update_selections import UpdateSelections
from core_operator.state.view import View
from shared_api.kube.client import Client
from shared_api.kube.metadata import ObjectKey
from shared_api.models import KubeObject
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.leading.fence import Fence, Unfenced
from shared_api.runtime.queueing.debounce import Debouncer
from shared_api.runtime.recording.event_objects import EventType, Regarding
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.channel import Channel

# A busy server finishes ten writes in about a second, so progress waits longer the more keys wait.
_LONGEST_PROGRESS_DELAY = 30.0
_DELAY_PER_WAITING_KEY = 0.1


@dataclass(frozen=True, slots=True)
class CoreContext:
    """The tools and the shared memory of one process."""

    settings: CoreSettings
    client: Client
    view: View
    telemetry: Telemetry
    metrics: CoreMetrics
    recorder: Recorder | None = None
    fence: Fence = field(default_factory=Unfenced)
    clock: Clock = SYSTEM

    selections: UpdateSelections = field(default_factory=UpdateSelections)
    """Pods that updates have selected."""

    turns: QuotaTurns = field(default_factory=QuotaTurns)
    """Which gang may create pods where a quota is exhausted."""

    expected_ungates: ExpectedEvents = field(default_factory=ExpectedEvents)
    """Pods whose gate this process removes."""

    gang_scheduled: Channel[ObjectKey] = field(default_factory=lambda: Channel("gang scheduled"))
    """Gangs whose minimum is bound, on which scaled gangs wait."""

    problems: Problems = field(init=False)
    losses: PodLosses = field(init=False)

    def __post_init__(self) -> None:
        caches, record = self.view.caches, partial(self.record_event, warning=True)
        losses = PodLosses(caches, self.metrics, self.clock, self.fence, record)
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "problems", Problems(caches))

    def now(self) -> datetime:
        """Return the wall clock, for fields that people read."""
        return self.clock.utc()

    def progress_debouncer(self) -> Debouncer[ObjectKey]:
        """Return a debouncer for writes that only report progress, such as a gang that fills."""
        return Debouncer(
            self.settings.timing.progress_delay_seconds,
            self.clock,
            longest=_LONGEST_PROGRESS_DELAY,
            per_waiting=_DELAY_PER_WAITING_KEY,
        )

    def record_event(
        self, about: KubeObject, reason: str, note: str, *, warning: bool = False
    ) -> None:
        """Record an Event about an object."""
        if self.recorder is not None:
            regarding = Regarding.of(about.API_VERSION, about.KIND, about.metadata)
            type_: EventType = "Warning" if warning else "Normal"
            self.recorder.record(regarding, reason, note, type_=type_)

    def report_problem(
        self, about: KubeObject, problem: Blocker | None, event_about: KubeObject | None = None
    ) -> None:
        """Note the problem of an object, or that it has none, for its status.

        A new problem is also an Event about the object, or about `event_about`.
        """
        if self.problems.note(about, problem) and problem is not None:
            regarding = event_about or about
            self.record_event(regarding, problem.reason, problem.message, warning=True)
