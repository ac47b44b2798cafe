"""Carries out the steps of a RemoteGang: reserve, bind, start, observe, release.

`contract/remote/steps` decides what to do; this controller calls the executor and the API server and
records the result. It reads the far side from the executor's memory, and never calls it to look. The
number of an attempt is written before the executor is called, and the hosts of a grant before
anything starts there.
"""

from collections.abc import Mapping
from datetime import timedelta

from backend_controllers.contract.remote.api import (
    FINALIZER,
    REMOTE_GANGS,
    ObservedRemoteGang,
    RemotePod,
)
from backend_controllers.contract.remote.executor import (
    Executor,
    ExecutorError,
    Outcome,
    RemoteUnit,
    identified,
)
from backend_controllers.contract.remote.pod_status import (
    lost_status,
    pod_status,
    vanished_status,
)
from backend_controllers.contract.remote.remote_status import Attempt, order_of, remote_status
from backend_controllers.contract.remote.steps import (
    RemoteState,
    lost_pods,
    plan_steps,
    units_of_gang,
)
from backend_controllers.generic.caches import GANG, WrittenObject
from backend_controllers.generic.conditions import moment
from backend_controllers.generic.context import BackendContext
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import Conflict, NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import PODS
from shared_api.models import JsonObject, RemoteMemberState, RemotePhase
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.leading.fence import permitted
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.reconciling.outcome import Result, Retry
from shared_api.runtime.watching.cache import Cache

EVENT_NOT_RESERVED = "RemoteNotReserved"
EVENT_LOST = "RemotePodLost"
_REJECTED_AGAIN_AFTER = 300.0
"""Seconds before a gang is tried again that the far side rejects; no event announces a new image."""

_LOOK_AGAIN_AFTER = 15.0


class RemoteGangReconciler:
    """RemoteGangs of one backend; keys are those of the gangs."""

    def __init__(
        self,
        context: BackendContext,
        executor: Executor,
        remotes: Cache[WrittenObject],
        pods: Cache[RemotePod],
        applier: Applier,
    ) -> None:
        self._context = context
        self._executor = executor
        self._remotes = Target(REMOTE_GANGS, remotes)
        self._pods = Target(PODS, pods)
        self._applier = applier
        self._backoff = Backoff(base=5.0, cap=300.0)
        self._failures: dict[str, int] = {}
        """Failed attempts since the last grant, by the UID of the RemoteGang."""
        remotes.subscribe(self._forget)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Do what is next for one gang."""
        state = self._state(key)
        steps = plan_steps(state)
        if steps.release:
            await self._release(steps.release, state.pods)
            steps = plan_steps(state := self._state(key))
        for pod in steps.delete:
            await self._applier.delete(self._pods, pod, Behalf(key), grace_period=0)
        if state.remote is None:
            return None
        if state.remote.metadata.is_terminating:
            if steps.finalize:
                await self._finalize(state.remote, key)
            return _look_again(state)
        # Before anything is reserved again, which may take long.
        await self._write_lost_pods(state, key)
        attempt = Attempt.of(state.remote.status)
        if steps.announce:
            attempt = Attempt(attempt.number + 1)
            await self._write(state, RemotePhase.RESERVING, attempt)
        if steps.reserve:
            attempt = await self._reserve(state.remote, steps.reserve, attempt)
        for pod in steps.bind:
            await self._bind(pod, state.node)
        await self._start(steps.start)
        state = self._state(key)
        await self._write_pods(state, key)
        steps = plan_steps(state)
        for pod in steps.vanished:
            reason = self._executor.loss(key)
            await self._write_pod(pod, vanished_status(pod, reason, moment(state.now)), key)
        await self._write(state, steps.phase, attempt)
        return attempt.again(state.now) or _look_again(state)

    def _state(self, key: ObjectKey) -> RemoteState:
        found = self._remotes.cache.get(key)
        remote = None if found is None else found.object
        assert remote is None or isinstance(remote, ObservedRemoteGang)
        pods = {pod.metadata.name: pod for pod in self._pods.cache.by_index(GANG, str(key))}
        units = identified(self._executor.units(key), pods.values())
        if remote is not None:
            observed = frozenset(
                host.name for host in self._executor.hosts() if not host.problem or host.is_fenced
            )
            units = units_of_gang(remote, pods, units, observed)
        return RemoteState(remote, pods, units, self._context.backend.name, self._context.now())

    async def _reserve(
        self, remote: ObservedRemoteGang, pods: tuple[RemotePod, ...], attempt: Attempt
    ) -> Attempt:
        """Try to reserve for all of these pods; return the attempt with its outcome."""
        uid = remote.metadata.uid
        try:
            async with permitted(self._context.fence):
                await self._executor.reserve(order_of(remote, pods, attempt.number))
        except ExecutorError as error:
            if error.retry_after is not None:
                # It is under way, such as the pull of an image: no failure.
                later = timedelta(seconds=error.retry_after)
                return attempt.failed(error, self._context.now() + later)
            failures = self._failures[uid] = self._failures.get(uid, 0) + 1
            if remote.status.message != str(error):
                self._context.record_event(
                    remote, EVENT_NOT_RESERVED, str(error), warning=True, kind=REMOTE_GANGS
                )
            is_final = error.outcome is Outcome.INVALID
            delay = _REJECTED_AGAIN_AFTER if is_final else self._backoff.delay(failures)
            return attempt.failed(error, self._context.now() + timedelta(seconds=delay))
        self._failures.pop(uid, None)
        return Attempt(attempt.number)

    async def _release(self, units: tuple[RemoteUnit, ...], pods: Mapping[str, RemotePod]) -> None:
        graces = [
            pods[unit.pod].spec.termination_grace_period_seconds
            for unit in units
            if unit.pod in pods and pods[unit.pod].metadata.uid == unit.pod_uid
        ]
        try:
            async with permitted(self._context.fence):
                await self._executor.release(units, max(graces, default=0))
        except ExecutorError as error:
            raise Retry(f"cannot release {len(units)} units: {error}") from error

    async def _bind(self, pod: RemotePod, node: str) -> None:
        metadata = pod.metadata
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": metadata.name,
                "namespace": metadata.namespace,
                "uid": metadata.uid,
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            async with permitted(self._context.fence):
                await self._context.client.create(
                    PODS,
                    binding,
                    field_manager=self._context.field_manager,
                    subresource="binding",
                    into=PartialObject,
                )
        except (Conflict, NotFound) as error:
            # Bound already, replaced or deleted: the watch shows which.
            raise Retry(f"pod {metadata.key} was not bound: {error}") from error

    async def _start(self, units: tuple[RemoteUnit, ...]) -> None:
        if not units:
            return
        try:
            async with permitted(self._context.fence):
                await self._executor.start(units)
        except ExecutorError as error:
            raise Retry(f"cannot start {len(units)} units: {error}") from error

    async def _write_pods(self, state: RemoteState, key: ObjectKey) -> None:
        now = moment(state.now)
        for unit in state.units:
            pod = state.pods.get(unit.pod)
            if pod is None or pod.metadata.uid != unit.pod_uid or pod.spec.node_name != state.node:
                continue
            if (status := pod_status(pod, unit, now)) is not None:
                await self._write_pod(pod, status, key)

    async def _write_lost_pods(self, state: RemoteState, key: ObjectKey) -> None:
        now = moment(state.now)
        for pod in lost_pods(state):
            reason = self._executor.loss(key)
            if (status := lost_status(pod, reason, now)) is not None:
                await self._write_pod(pod, status, key)
                message = f"pod {pod.metadata.name} lost what ran for it: {reason or 'it is gone'}"
                self._context.record_event(pod, EVENT_LOST, message, warning=True, kind=PODS)

    async def _write_pod(self, pod: RemotePod, status: JsonObject, key: ObjectKey) -> None:
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        patch = Patch(body, PatchType.STRATEGIC)
        await self._applier.patch(self._pods, pod, patch, Behalf(key), "status")

    async def _write(self, state: RemoteState, phase: RemotePhase, attempt: Attempt) -> None:
        if state.remote is None:
            return
        manifest = remote_status(state.remote, phase, attempt, state.units)
        behalf = Behalf(state.remote.metadata.key, force=True)
        await self._applier.apply_status(self._remotes, manifest, behalf)

    async def _finalize(self, remote: ObservedRemoteGang, key: ObjectKey) -> None:
        left = [name for name in remote.metadata.finalizers if name != FINALIZER]
        if len(left) == len(remote.metadata.finalizers):
            return
        found = self._remotes.cache.get(key)
        assert found is not None
        guarded = {
            "uid": remote.metadata.uid,
            "resourceVersion": remote.metadata.resource_version,
            "finalizers": left,
        }
        await self._applier.patch(self._remotes, found, Patch({"metadata": guarded}), Behalf(key))

    def _forget(self, old: WrittenObject | None, new: WrittenObject | None) -> None:
        if old is not None and new is None:
            self._failures.pop(old.metadata.uid or "", None)


def _look_again(state: RemoteState) -> Result | None:
    """Look again while pods are unknown: nothing announces that the lock of a lost host expired."""
    if any(unit.state is RemoteMemberState.UNKNOWN for unit in state.units):
        return Result(requeue_after=_LOOK_AGAIN_AFTER)
    return None
