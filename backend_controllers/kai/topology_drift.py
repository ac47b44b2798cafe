"""Whether KAI's Topologies have the levels of a ClusterTopologyBinding, as the binding's status.

A Topology that this backend writes differs only if it could not be written. One that an
administrator manages is compared and never changed. A scheduler that the binding lists and that no
backend has topologies for is reported, too. This module is pure.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal

from backend_controllers.kai.api import BACKEND_NAME, SCHEDULER_NAME, KaiTopology
from backend_controllers.kai.topology_levels import usable_levels
from shared_api import names
from shared_api.models import (
    ClusterTopologyBinding,
    ClusterTopologyBindingStatus,
    Condition,
    SchedulerTopologyBinding,
    SchedulerTopologyStatus,
)
from shared_api.runtime.watching.predicates import Watched
from shared_api.truncation import without_middle

EVENT_DRIFT = "TopologyDriftDetected"
EVENT_IN_SYNC = "TopologyInSync"

_OUR_NAMES = (SCHEDULER_NAME, BACKEND_NAME)
_LONGEST = 1024

_Verdict = tuple[Literal["True", "False", "Unknown"], str, str]


def drift_status(
    binding: Watched, topology: Callable[[str], Watched | None], problem: str, now: datetime
) -> ClusterTopologyBindingStatus:
    """Return the status of a binding; `problem` is why its own Topology could not be written."""
    if not isinstance(binding, ClusterTopologyBinding):
        raise TypeError(f"expected a ClusterTopologyBinding, got {binding!r}")
    entries = binding.spec.scheduler_topology_bindings
    ours = [
        _compared(binding, entry, topology(entry.topology_reference))
        for entry in entries
        if entry.scheduler_name in _OUR_NAMES
    ]
    others = [_not_compared(entry) for entry in entries if entry.scheduler_name not in _OUR_NAMES]
    ours = ours or [_written(binding, problem)]
    status, reason, message = _verdict(ours, others)
    kind = names.CONDITION_SCHEDULER_TOPOLOGY_DRIFT
    condition = Condition(
        type=kind,
        status=status,
        reason=reason,
        message=without_middle(message, _LONGEST),
        last_transition_time=now.replace(microsecond=0),
        observed_generation=binding.metadata.generation,
    )
    known = binding.status.conditions if binding.status is not None else ()
    return ClusterTopologyBindingStatus(
        conditions=(condition.after(next((one for one in known if one.type == kind), None)),),
        observed_generation=binding.metadata.generation,
        scheduler_topology_statuses=(*ours, *others),
    )


def _verdict(
    ours: Sequence[SchedulerTopologyStatus], others: Sequence[SchedulerTopologyStatus]
) -> _Verdict:
    """Return status, reason and message of the condition; a drift is the most important."""
    differing = [entry for entry in ours if not entry.in_sync]
    message = "; ".join(entry.message or "" for entry in (*differing, *others))
    if differing:
        return "True", names.REASON_TOPOLOGY_DRIFT, message
    if others:
        return "Unknown", names.REASON_TOPOLOGY_NOT_FOUND, message
    compared = ", ".join(f"'{entry.topology_reference}'" for entry in ours)
    message = f"Topology {compared} has the levels of this binding"
    return "False", names.REASON_TOPOLOGY_IN_SYNC, message


def _written(binding: ClusterTopologyBinding, problem: str) -> SchedulerTopologyStatus:
    """Return the status of the Topology that this backend writes for the binding."""
    name = binding.metadata.name
    found = SchedulerTopologyStatus(
        scheduler_name=SCHEDULER_NAME, topology_reference=name, in_sync=not problem
    )
    if not problem:
        return found
    message = f"Topology '{name}' could not be written: {problem}"
    return found.model_copy(update={"message": without_middle(message, _LONGEST)})


def _compared(
    binding: ClusterTopologyBinding, entry: SchedulerTopologyBinding, topology: Watched | None
) -> SchedulerTopologyStatus:
    """Return the status of a Topology that an administrator manages."""
    name, wanted = entry.topology_reference, usable_levels(binding)
    found = SchedulerTopologyStatus(
        scheduler_name=entry.scheduler_name, topology_reference=name, in_sync=False
    )
    if not isinstance(topology, KaiTopology):
        message = (
            f"Topology '{name}' does not exist. Create it, or remove the entry of"
            f" {entry.scheduler_name} so that this backend creates one"
        )
        return found.model_copy(update={"message": message})
    update: dict[str, object] = {
        "scheduler_backend_topology_observed_generation": topology.metadata.generation
    }
    if topology.levels == wanted:
        return found.model_copy(update={**update, "in_sync": True})
    update["message"] = (
        f"Topology '{name}' has the levels {', '.join(topology.levels)}, this binding has"
        f" {', '.join(wanted)}. Change one of the two"
    )
    return found.model_copy(update=update)


def _not_compared(entry: SchedulerTopologyBinding) -> SchedulerTopologyStatus:
    return SchedulerTopologyStatus(
        scheduler_name=entry.scheduler_name,
        topology_reference=entry.topology_reference,
        in_sync=False,
        message=(
            f"no backend has topologies for scheduler '{entry.scheduler_name}'. Remove its entry from"
            " spec.schedulerTopologyBindings"
        ),
    )
