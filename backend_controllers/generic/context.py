"""What every controller of a backend needs, in one value.

It belongs to one process and one dialect. Controllers are made from it and keep nothing of
each other; what they have to know of one another goes over the board.
"""

from dataclasses import dataclass, field
from datetime import datetime

from backend_controllers.contract.declaration import Backend
from backend_controllers.generic.gang_results import Board
from backend_controllers.generic.kinds import GANGS, field_manager
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.settings import Settings
from shared_api.kube.client import Client
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.leading.fence import Fence, Unfenced
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.recording.event_objects import EventType, Regarding
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.predicates import Watched


@dataclass(frozen=True, slots=True)
class BackendContext:
    """The tools of one process."""

    backend: Backend
    settings: Settings
    client: Client
    telemetry: Telemetry
    metrics: BackendMetrics
    recorder: Recorder | None = None
    lease: ObjectKey | None = None
    fence: Fence = field(default_factory=Unfenced)
    clock: Clock = SYSTEM
    board: Board = field(default_factory=Board)

    def now(self) -> datetime:
        """The wall clock, for fields that people read."""
        return self.clock.utc()

    def applier(self, pending: PendingWrites) -> Applier:
        """What one controller writes with."""
        return Applier(
            self.client,
            field_manager(self.backend.name),
            pending,
            self.telemetry,
            fence=self.fence,
        )

    def tell(
        self,
        about: Watched,
        reason: str,
        note: str,
        *,
        warning: bool = False,
        kind: Resource = GANGS,
    ) -> None:
        """Record an Event about an object."""
        if self.recorder is None:
            return
        metadata = about.metadata
        regarding = Regarding(
            kind.api_version,
            kind.kind,
            metadata.namespace or "",
            metadata.name,
            metadata.uid or "",
        )
        type_: EventType = "Warning" if warning else "Normal"
        self.recorder.record(regarding, reason, note, type_=type_)
