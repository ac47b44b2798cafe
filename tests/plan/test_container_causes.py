"""How a container that ended is reported: with its exit code, and whether it exceeded its memory."""

import pytest

from core_operator.plan.statuses.reasons import pods_blocker
from shared_api.kube.pods import (
    ContainerState,
    ContainerStatus,
    ContainerWaiting,
    Pod,
    PodStatus,
    Terminated,
)
from tests.plan.pod_samples import BOUND, pod


@pytest.mark.parametrize(
    ("ended", "shown"),
    [
        (Terminated(1, "Error"), "exit code 1,"),
        (Terminated(137, "Error"), "exit code 137,"),
        (Terminated(137, "OOMKilled"), "exit code 137 (OOMKilled),"),
    ],
)
def test_a_container_that_exceeded_its_memory_is_told_apart(ended: Terminated, shown: str) -> None:
    made = pod(0, BOUND)
    waits = ContainerState(ContainerWaiting("CrashLoopBackOff"))
    status = ContainerStatus(
        "main", state=waits, last_state=ContainerState(terminated=ended), image="app:1"
    )
    crashing = Pod(
        made.metadata,
        made.spec,
        PodStatus("Running", "", made.status.conditions, container_statuses=(status,)),
    )
    told = pods_blocker(None, (crashing,), 1)
    assert told is not None
    assert f"container main, image app:1, {shown} pod" in told.message
