"""Workloads that end, and how their pods are made to end."""

from collections.abc import Iterable
from typing import Any

from core_operator.state.caches import GANGS, SETS
from local_cluster.simulation.stages import EXIT_CODE, FAIL_AFTER, SUCCEED_AFTER
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.core.kit import Object, Onlooker, clique, holds, pcs

COMPLETED, FAILED = names.CONDITION_COMPLETED, names.CONDITION_FAILED


def job(name: str, replicas: int = 1, policy: str = "Never", **spec: Any) -> Object:
    """A clique that runs to completion."""
    pod_spec = {"restartPolicy": policy, **spec.pop("podSpec", {})}
    return clique(name, replicas, podSpec=pod_spec, **spec)


def job_set(name: str, *cliques: Object, policy: Object | None = None, **template: Any) -> Object:
    """A set with jobs; `policy` is its completion policy."""
    more: dict[str, Any] = {} if policy is None else {"policy": {"completion": policy}}
    return pcs(name, *cliques, **more, **template)


async def succeed(person: Onlooker, pods: Iterable[LooseObject]) -> None:
    """Let pods exit with 0."""
    for pod in pods:
        await _annotate(person, pod, {SUCCEED_AFTER: "0s"})


async def fail(person: Onlooker, pod: LooseObject, code: int = 1) -> None:
    """Let a pod exit with another code."""
    await _annotate(person, pod, {EXIT_CODE: str(code), FAIL_AFTER: "0s"})


async def _annotate(person: Onlooker, pod: LooseObject, annotations: Object) -> None:
    await person.change(PODS, pod.metadata.name, {"metadata": {"annotations": annotations}})


def pods_by_phase(pods: Iterable[LooseObject]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pod in pods:
        phase = str(pod.status.get("phase", ""))
        found[phase] = found.get(phase, 0) + 1
    return found


def attempts(pods: Iterable[LooseObject]) -> set[str]:
    return {pod.metadata.labels.get(names.LABEL_ATTEMPT, "0") for pod in pods}


def has_completed(person: Onlooker, name: str) -> bool:
    return holds(person.get(SETS, name), COMPLETED)


def gang_ended(person: Onlooker, name: str, outcome: str = COMPLETED) -> bool:
    return holds(person.get(GANGS, name), outcome)
