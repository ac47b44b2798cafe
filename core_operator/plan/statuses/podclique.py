"""Status of a PodClique: counts of its live pods, and its conditions.

Ready means that the minimum is ready; Reconciling stays until all pods are. MinAvailableBreached
follows Grove: a pod that crashed, or that started and is not ready, does not count. A pod is
updated if it has the template that the set wants, also while its PodClique waits for its turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core_operator.plan.jobs.cliques import clique_ending, done_indexes
from core_operator.plan.jobs.indexes import to_text
from core_operator.plan.jobs.runs import SERVICE, Run
from core_operator.plan.layout import naming
from core_operator.plan.pods.pod_plan import owned_pods
from core_operator.plan.statuses.breach import CliqueHealth, Tolerance, breach_conditions
from core_operator.plan.statuses.conditions import Availability, Observation, rendered
from core_operator.plan.statuses.jobs import ended, ending_conditions
from core_operator.plan.statuses.last_errors import last_errors
from core_operator.plan.statuses.reasons import Blocker, pods_blocker
from core_operator.plan.statuses.update_progress import TargetRevision, clique_progress
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import Condition, JsonObject, PodClique, PodCliqueStatus, PodGang


@dataclass(frozen=True, slots=True)
class _Counts:
    replicas: int
    ready: int
    updated: int
    """Pods of the template that the set wants."""
    uniform: int
    """Pods of the template that the PodClique has."""
    gated: int
    scheduled: int
    failing: int
    """Bound pods that crashed, or that started and are not ready."""


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """The part of a set's policy that concerns a PodClique."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    revision: TargetRevision | None = None
    run: Run = SERVICE


def podclique_status(
    podclique: PodClique,
    pods: Sequence[Pod],
    gang: PodGang | None,
    now: datetime,
    problem: Blocker | None = None,
    policy: SetPolicy = SetPolicy(),  # noqa: B008 - it is frozen
) -> JsonObject:
    """Return what core applies. `problem` is a current failure to create pods."""
    run, owned = policy.run, owned_pods(podclique, pods)
    live = tuple(pod for pod in owned if run.counts(pod))
    done = done_indexes(podclique, owned, run)
    ending = clique_ending(podclique, owned, run, done)
    own_hash = podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
    wanted = policy.revision.template_hash if policy.revision is not None else None
    counts = _count(live, own_hash, wanted or own_hash)
    before = podclique.status or PodCliqueStatus()
    observation = Observation(now, before.conditions, podclique.metadata.generation)
    health = CliqueHealth(
        minimum=podclique.spec.minimum,
        ready=counts.ready,
        scheduled=counts.scheduled,
        serving=counts.scheduled - counts.failing,
    )
    verdict = _verdict(podclique, live, gang, problem, done)
    if (over := ending or run.ending) is not None:
        verdict = ended(over)
    status: JsonObject = {
        "conditions": rendered(
            (
                *verdict.conditions(observation),
                _scheduled(podclique, counts, observation),
                *breach_conditions(health, policy.tolerance, observation),
                *ending_conditions(ending, observation),
            )
        ),
        "replicas": counts.replicas,
        "readyReplicas": counts.ready,
        "updatedReplicas": counts.updated,
        "scheduleGatedReplicas": counts.gated,
        "scheduledReplicas": counts.scheduled,
        **last_errors(problem, verdict.blocker, before.last_errors, now),
        **_job_fields(run, done),
    }
    if podclique.metadata.generation is not None:
        status["observedGeneration"] = podclique.metadata.generation
    if names.LABEL_PCSG not in podclique.metadata.labels:
        status["hpaPodSelector"] = _selector(podclique)
    current = _current_hash(podclique, counts, before)
    if current is not None:
        status["currentPodTemplateHash"] = current
    complete = counts.uniform == counts.replicas >= podclique.spec.replicas
    status |= clique_progress(
        podclique,
        before,
        policy.revision,
        now,
        complete=complete,
        outdated=counts.uniform < counts.replicas,
    )
    return status


def _count(live: Sequence[Pod], own_hash: str | None, wanted_hash: str | None) -> _Counts:
    hashes = [pod.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH) for pod in live]
    return _Counts(
        replicas=len(live),
        ready=sum(pod.is_ready for pod in live),
        updated=hashes.count(wanted_hash),
        uniform=hashes.count(own_hash),
        gated=sum(pod.is_gated for pod in live),
        scheduled=sum(pod.is_bound for pod in live),
        failing=sum(pod.is_bound and _is_failing(pod) for pod in live),
    )


def _is_failing(pod: Pod) -> bool:
    if pod.is_ready:
        return False
    main = pod.status.container_statuses
    crashed = any(
        status.last_state.terminated is not None and status.last_state.terminated.exit_code != 0
        for status in (*pod.status.init_container_statuses, *main)
    )
    return crashed or any(status.started and not status.ready for status in main)


def _job_fields(run: Run, done: frozenset[int]) -> JsonObject:
    fields: JsonObject = {"attempt": run.attempt} if run.with_jobs else {}
    if done:
        fields["completedIndexes"] = to_text(done)
    return fields


def _verdict(
    podclique: PodClique,
    live: Sequence[Pod],
    gang: PodGang | None,
    problem: Blocker | None,
    done: frozenset[int],
) -> Availability:
    spec = podclique.spec
    ready = sum(pod.is_ready for pod in live) + len(done)
    running = [pod for pod in live if not pod.has_ended] if done else live
    found = problem or pods_blocker(gang, running, spec.replicas - len(done))
    message = f"{ready}/{spec.replicas} pods ready"
    if done:
        message = f"{message} or done, {len(done)} succeeded"
    if found is not None:
        # The blocker's message may begin with the same numbers.
        repeats = found.message.startswith(message)
        message = found.message if repeats else f"{message}; {found.message}"
    return Availability(ready=ready >= spec.minimum, message=message, blocker=found)


def _scheduled(podclique: PodClique, counts: _Counts, observation: Observation) -> Condition:
    enough = counts.scheduled >= podclique.spec.minimum
    return observation.condition(
        names.CONDITION_PODCLIQUE_SCHEDULED,
        holds=enough,
        reason=names.REASON_SUFFICIENT_SCHEDULED_PODS
        if enough
        else names.REASON_INSUFFICIENT_SCHEDULED_PODS,
        message=f"{counts.scheduled} pods scheduled, minimum {podclique.spec.minimum}",
    )


def _selector(podclique: PodClique) -> str:
    part_of = podclique.metadata.labels.get(names.LABEL_PART_OF, "")
    labels = {**naming.set_labels(part_of), names.LABEL_PODCLIQUE: podclique.metadata.name}
    return label_selector(labels)


def label_selector(labels: dict[str, str]) -> str:
    """Return the selector string that autoscalers read."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _current_hash(podclique: PodClique, counts: _Counts, before: PodCliqueStatus) -> str | None:
    if counts.uniform == counts.replicas >= podclique.spec.replicas:
        return podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
    return before.current_pod_template_hash
