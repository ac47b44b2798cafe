"""Why pods that are bound are not ready: the container, its image and one pod as an example.

Causes that differ only in the pod are counted together, and name the first pod. The kubelet alternates
between two reasons while it pulls an image or restarts a container. Both are reported as the one that
waits, so that the same situation gives the same message.
"""

from collections.abc import Iterable, Mapping

from core_operator.plan.pods.startup_order import awaited_cliques
from shared_api.kube.pods import ContainerStatus, Pod

_PULL = "ImagePullBackOff"
_CRASH = "CrashLoopBackOff"
_OUT_OF_MEMORY = "OOMKilled"
_PULLING = frozenset({_PULL, "ErrImagePull"})
_IMAGES = _PULLING | {"InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})


def unready_causes(pods: Iterable[Pod]) -> Mapping[str, int]:
    """Return how many of these pods are not ready for the same cause."""
    examples: dict[str, str] = {}
    counts: dict[str, int] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        cause, is_failure = _cause(pod)
        if is_failure:
            examples.setdefault(cause, f", pod {pod.metadata.name}")
        counts[cause] = counts.get(cause, 0) + 1
    return {f"{cause}{examples.get(cause, '')}": count for cause, count in counts.items()}


def _cause(pod: Pod) -> tuple[str, bool]:
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
