"""Status of a PodClique: how many of its pods are how far.

Pods that ended or are going away count for nothing. Ready means that the minimum is ready;
Reconciling stays until all pods are. Whether the minimum is breached is judged as Grove does:
a pod that crashed, or that started and is not ready, does not count as one that serves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core_operator.plan import naming
from core_operator.plan.pods import is_bound, is_live, owned_pods
from core_operator.plan.statuses.breach import Health, Tolerance, breach_conditions
from core_operator.plan.statuses.conditions import Observation, Verdict, rendered
from core_operator.plan.statuses.reasons import Blocked, blocked
from core_operator.plan.statuses.update_progress import Revision, clique_progress
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import Condition, JsonObject, PodClique, PodCliqueStatus, PodGang


@dataclass(frozen=True, slots=True)
class _Counts:
    replicas: int
    ready: int
    updated: int
    gated: int
    scheduled: int
    failing: int
    """Bound pods that crashed, or that started and do not get ready."""


@dataclass(frozen=True, slots=True)
class Course:
    """What its set has in mind for a PodClique."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    revision: Revision | None = None


def podclique_status(
    podclique: PodClique,
    pods: Sequence[Pod],
    gang: PodGang | None,
    now: datetime,
    problem: Blocked | None = None,
    course: Course = Course(),  # noqa: B008 - it is frozen
) -> JsonObject:
    """What core applies. `problem` is a failure to create pods that is still in force."""
    live = tuple(pod for pod in owned_pods(podclique, pods) if is_live(pod))
    counts = _count(live, podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH))
    before = podclique.status or PodCliqueStatus()
    observation = Observation(now, before.conditions, podclique.metadata.generation)
    status: JsonObject = {
        "conditions": rendered(
            (
                *_verdict(podclique, live, gang, problem).conditions(observation),
                _scheduled(podclique, counts, observation),
                *breach_conditions(_health(podclique, counts), course.tolerance, observation),
            )
        ),
        "replicas": counts.replicas,
        "readyReplicas": counts.ready,
        "updatedReplicas": counts.updated,
        "scheduleGatedReplicas": counts.gated,
        "scheduledReplicas": counts.scheduled,
    }
    if podclique.metadata.generation is not None:
        status["observedGeneration"] = podclique.metadata.generation
    if names.LABEL_PCSG not in podclique.metadata.labels:
        status["hpaPodSelector"] = _selector(podclique)
    current = _current_hash(podclique, counts, before)
    if current is not None:
        status["currentPodTemplateHash"] = current
    complete = counts.updated == counts.replicas >= podclique.spec.replicas
    status |= clique_progress(
        podclique,
        before,
        course.revision,
        now,
        complete=complete,
        outdated=counts.updated < counts.replicas,
    )
    return status


def _count(live: Sequence[Pod], template_hash: str | None) -> _Counts:
    return _Counts(
        replicas=len(live),
        ready=sum(pod.is_ready for pod in live),
        updated=sum(
            pod.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH) == template_hash for pod in live
        ),
        gated=sum(pod.is_gated for pod in live),
        scheduled=sum(map(is_bound, live)),
        failing=sum(is_bound(pod) and _is_failing(pod) for pod in live),
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


def _verdict(
    podclique: PodClique, live: Sequence[Pod], gang: PodGang | None, problem: Blocked | None
) -> Verdict:
    spec = podclique.spec
    ready = sum(pod.is_ready for pod in live)
    found = problem or blocked(gang, live, spec.replicas)
    message = f"{ready}/{spec.replicas} pods ready"
    if found is not None:
        # Either says how many are ready itself, or is about what comes before that.
        repeats = found.message.startswith(message)
        message = found.message if repeats else f"{message}; {found.message}"
    return Verdict(ready=ready >= spec.minimum, message=message, blocked=found)


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


def _health(podclique: PodClique, counts: _Counts) -> Health:
    return Health(
        minimum=podclique.spec.minimum,
        ready=counts.ready,
        scheduled=counts.scheduled,
        serving=counts.scheduled - counts.failing,
    )


def _selector(podclique: PodClique) -> str:
    part_of = podclique.metadata.labels.get(names.LABEL_PART_OF, "")
    labels = {**naming.set_labels(part_of), names.LABEL_PODCLIQUE: podclique.metadata.name}
    return label_selector(labels)


def label_selector(labels: dict[str, str]) -> str:
    """The labels in the form in which autoscalers read them."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _current_hash(podclique: PodClique, counts: _Counts, before: PodCliqueStatus) -> str | None:
    if counts.updated == counts.replicas >= podclique.spec.replicas:
        return podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
    return before.current_pod_template_hash
