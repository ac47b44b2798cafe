"""Why pods that are bound are not ready: the container, its image and one pod as an example.

It owns these parts of the messages of sets, cliques and gangs; it must not decide whether a
gang is ready. Causes that differ only in the pod are counted together, and name the first pod. The kubelet
alternates between two reasons while it pulls an image or restarts a container. Both are reported as the
one that waits, so that the same situation gives the same message.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.pods import ContainerStatus, PodStatus

_PULL = "ImagePullBackOff"
_CRASH = "CrashLoopBackOff"
_OUT_OF_MEMORY = "OOMKilled"
_PULLING = frozenset({_PULL, "ErrImagePull"})
_IMAGES = _PULLING | {"InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
_SHOWN = 3


class ReportedPod(Protocol):
    """What a kubelet and core have written about a pod."""

    @property
    def metadata(self) -> Metadata: ...  # noqa: D102

    @property
    def status(self) -> PodStatus: ...  # noqa: D102


def awaited_cliques(pod: ReportedPod) -> str:
    """Return the PodCliques that a pod waits for; empty if it does not wait."""
    order = pod.metadata.annotations.get(names.ANNOTATION_STARTUP_ORDER, "")
    return order.removeprefix(names.STARTUP_AFTER) if order.startswith(names.STARTUP_AFTER) else ""


def unready_causes(
    pods: Iterable[ReportedPod], *, only_failures: bool = False
) -> Mapping[str, int]:
    """Return how many of these pods are not ready for the same cause."""
    examples: dict[str, str] = {}
    counts: dict[str, int] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        cause, is_failure = _cause(pod)
        if is_failure:
            examples.setdefault(cause, f", pod {pod.metadata.name}")
        elif only_failures:
            continue
        counts[cause] = counts.get(cause, 0) + 1
    return {f"{cause}{examples.get(cause, '')}": count for cause, count in counts.items()}


def container_failure(pod: ReportedPod) -> str:
    """Return which container of a pod failed and how; empty if none did."""
    cause, is_failure = _cause(pod)
    return cause if is_failure else ""


def listed(causes: Mapping[str, int]) -> str:
    """Return the most frequent causes, such as "; 2 with insufficient cpu, 1 in Error"."""
    ordered = sorted(causes.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{count} {cause}" for cause, count in ordered[:_SHOWN]]
    rest = sum(count for _, count in ordered[_SHOWN:])
    if rest:
        parts.append(f"{rest} for other reasons")
    return f"; {', '.join(parts)}" if parts else ""


def _cause(pod: ReportedPod) -> tuple[str, bool]:
    """Return the cause, and whether a container failed."""
    awaited = awaited_cliques(pod)
    # Until its start-up order is reached, the containers only report that they have not started.
    main = () if awaited else pod.status.container_statuses
    for status in (*pod.status.init_container_statuses, *main):
        reason, detail = _state(status)
        if reason and not status.ready:
            return (f"in {reason}{detail}", bool(detail))
    return (f"waiting for {awaited} to be ready" if awaited else "starting", False)


def _state(status: ContainerStatus) -> tuple[str, str]:
    """Return the reason of a container that does not run, and the container to look at."""
    reason = _reason(status)
    if reason in _STARTING:
        return reason, ""
    if reason in _IMAGES:
        return reason, f": image {status.image}, container {status.name}"
    ended = status.state.terminated or status.last_state.terminated
    code = f", exit code {ended.exit_code}" if ended is not None and ended.exit_code else ""
    if ended is not None and ended.reason == _OUT_OF_MEMORY:
        code = f"{code} ({_OUT_OF_MEMORY})"
    # Without the number of restarts: every restart would be another message.
    return reason, f": container {status.name}, image {status.image}{code}"


def _reason(status: ContainerStatus) -> str:
    waiting, terminated = status.state.waiting, status.state.terminated
    if waiting is not None:
        return _PULL if waiting.reason in _PULLING else waiting.reason
    if terminated is not None and terminated.exit_code != 0:
        restarted = status.last_state.terminated is not None
        return _CRASH if restarted else terminated.reason or f"exit {terminated.exit_code}"
    return ""
