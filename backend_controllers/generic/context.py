"""What every controller of a backend needs, in one value.

It belongs to one process and one dialect. Controllers share nothing else: one reads the results of
another in `gang_results`.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from backend_controllers.contract.declaration import Backend
from backend_controllers.generic.gang_results import GangResults
from backend_controllers.generic.kinds import GANGS, field_manager
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.settings import BackendSettings
from shared_api.kube.client import Client
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.leading.fence import Fence, Unfenced
from shared_api.runtime.reconciling.builder import Runtime
from shared_api.runtime.recording.event_objects import Regarding
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.predicates import Watched


@dataclass(frozen=True, slots=True)
class BackendContext:
    """The tools of one process."""

    backend: Backend
    settings: BackendSettings
    client: Client
    telemetry: Telemetry
    metrics: BackendMetrics
    recorder: Recorder | None = None
    lease: ObjectKey | None = None
    fence: Fence = field(default_factory=Unfenced)
    clock: Clock = SYSTEM
    results: GangResults = field(default_factory=GangResults)

    @property
    def field_manager(self) -> str:
        """The name under which this backend applies."""
        return field_manager(self.backend.name)

    @property
    def runtime(self) -> Runtime:
        """What the controllers are built from."""
        return Runtime(self.client, self.telemetry, self.field_manager, self.fence, self.clock)

    @property
    def shared(self) -> "BackendContext":
        """The context for objects that all instances of this kind write, with equal content."""
        return replace(self, backend=self.backend.shared)

    def now(self) -> datetime:
        """The wall clock, for fields that people read."""
        return self.clock.utc()

    def record_event(
        self,
        about: Watched,
        reason: str,
        note: str,
        *,
        warning: bool = False,
        kind: Resource = GANGS,
    ) -> None:
        """Record an Event about an object."""
        if self.recorder is not None:
            regarding = Regarding.of(kind.api_version, kind.kind, about.metadata)
            self.recorder.record(regarding, reason, note, type_="Warning" if warning else "Normal")
