"""Whether the pods of one PodClique have done their job.

A PodClique is Completed when the pods of all its indexes succeeded, and Failed when one failed. A
pod that is being deleted has not failed: it is lost, and replaced. Both outcomes are kept until the
next attempt, because finished pods may be deleted at any time.
"""

from collections.abc import Sequence

from core_operator.plan.jobs.runs import Ending, JobOutcome, Run, ending_in
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodCliqueStatus


def done_indexes(podclique: PodClique, pods: Sequence[Pod], run: Run) -> frozenset[int]:
    """Return the indexes whose pods succeeded in this attempt."""
    if not run.ends:
        return frozenset()
    size = podclique.spec.replicas
    found = (pod.index for pod in pods if pod.has_succeeded and not run.is_obsolete(pod))
    return run.done.union(index for index in found if index is not None and index < size)


def clique_ending(
    podclique: PodClique, pods: Sequence[Pod], run: Run, done: frozenset[int]
) -> Ending | None:
    """Return how a PodClique ended by itself in this attempt."""
    before = podclique.status or PodCliqueStatus()
    known = ending_in(before.conditions)
    if known is not None and (before.attempt or 0) == run.attempt:
        return known
    size = podclique.spec.replicas
    if not run.ends or not size:
        return None
    if len(done) >= size:
        message = f"{size}/{size} pods succeeded"
        return Ending(JobOutcome.COMPLETED, names.REASON_COMPLETION_CRITERIA_MET, message)
    if run.ending is not None:
        # Its pods are being deleted, and how they end does not matter any more.
        return None
    failed = [pod for pod in pods if pod.has_failed and run.counts(pod)]
    if not failed:
        return None
    first = min(failed, key=lambda pod: pod.metadata.name)
    others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return Ending(JobOutcome.FAILED, names.REASON_POD_FAILED, f"{_failure(first)}{others}")


def _failure(pod: Pod) -> str:
    ended = (
        f"container {status.name} exited with {state.exit_code}"
        + (f" ({state.reason})" if state.reason else "")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if (state := status.state.terminated) is not None and state.exit_code
    )
    why = next(ended, "") or pod.status.reason or "no container reported an exit code"
    return f"pod {pod.metadata.name} failed: {why}"
