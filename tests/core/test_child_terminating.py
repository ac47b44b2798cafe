"""What is reported about an object whose name is needed and that is being deleted for too long."""

from typing import Any

import pytest

from core_operator.state.caches import CLIQUES, GANGS
from core_operator.writes.child_writer import ChildTerminating
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata

FORCED = """--type=merge -p '{"metadata":{"finalizers":null}}'"""


def going(**metadata: Any) -> PartialObject:
    return PartialObject(
        Metadata(name="w-0", namespace="ns", deletion_timestamp="2026-05-01T12:00:00Z", **metadata)
    )


def test_a_foreign_finalizer_is_named_with_the_command_that_removes_it() -> None:
    told = str(ChildTerminating(CLIQUES, going(finalizers=("example.com/billing",))))
    assert told.startswith(
        "PodClique w-0 is being deleted since 2026-05-01T12:00:00Z, and its name is needed:"
    )
    assert "(example.com/billing)" in told
    assert told.endswith(f"kubectl -n ns patch podcliques.grove.io w-0 {FORCED}")


@pytest.mark.parametrize("more", [(), ("example.com/billing",)])
def test_a_gang_that_its_backend_has_not_withdrawn_is_never_forced(more: tuple[str, ...]) -> None:
    labels = {names.LABEL_SCHEDULER_BACKEND: "slurm-hpc1"}
    told = str(
        ChildTerminating(GANGS, going(finalizers=("foregroundDeletion", *more), labels=labels))
    )
    assert "backend 'slurm-hpc1' has not confirmed that the gang is withdrawn" in told
    assert "kubectl get schedulerbackend slurm-hpc1" in told
    assert "finalizers: the gang could run twice" in told
    assert "patch" not in told


def test_what_waits_for_objects_that_it_owns_is_not_forced() -> None:
    told = str(ChildTerminating(CLIQUES, going(finalizers=("foregroundDeletion",))))
    assert "objects that it owns are not gone" in told
    assert "patch" not in told
