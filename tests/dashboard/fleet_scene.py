"""A cluster as values for the dashboard: sets in every state, racks of GPUs, backends, Events.

Tests, screenshots and the benchmark fill the caches of a dashboard with it, without a cluster.
"""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from gangctl.dashboard.activity import ListedEvent
from gangctl.dashboard.watching import Caches
from gangctl.snapshot import ListedLease, ListedPod
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.codec import LooseObject
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Removed, Restarted, Synced
from tests.gangctl.scene import GPU, PASSED, labels, made, spec

NOW = datetime(2026, 3, 4, 9, 30, 0, tzinfo=UTC)
RACK = "example.com/rack"
_VERSION = count(1)
STAGES = (*PASSED, "Scheduled", "Ready")


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata(name: str, namespace: str = "", age: float = 3600, **more: Any) -> dict[str, Any]:
    kind = more.pop("of", "")
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"{kind}/{namespace}/{name}",
        "resourceVersion": str(next(_VERSION)),
        "creationTimestamp": ago(age),
        **more,
    }


def entry(kind: str, age: float, reason: str = "", message: str = "", *, holds: bool) -> Any:
    status = "True" if holds else "False"
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": ago(age),
    }


class FleetScene:
    """Fills caches with sets, gangs, pods, nodes, backends and Events."""

    def __init__(self) -> None:
        self.caches = Caches()

    def put(self, cache: Cache[Any], item: Any) -> None:
        cache.take(Changed(item))

    def remove(self, cache: Cache[Any], item: Any) -> None:
        cache.take(Removed(item))

    def synced(self) -> None:
        """End the first lists."""
        caches = self.caches
        lists: list[Cache[Any]] = [caches.sets, caches.gangs, caches.pods, caches.nodes]
        for cache in lists:
            found = list(cache)
            cache.take(Restarted())
            for item in found:
                cache.take(Changed(item))
            cache.take(Synced("1"))

    def nodes(self, racks: int, per_rack: int, *, taints: dict[int, str] | None = None) -> None:
        for index in range(racks * per_rack):
            taint = (taints or {}).get(index)
            body = {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {}
            self.put(
                self.caches.nodes,
                made(
                    ListedNode,
                    metadata=metadata(
                        f"node-{index}",
                        of="node",
                        labels={RACK: f"rack-{index // per_rack}", "kubernetes.io/os": "linux"},
                    ),
                    spec=body,
                    status={
                        "allocatable": {GPU: "8", "cpu": "128", "memory": "1024Gi", "pods": "110"}
                    },
                ),
            )
        levels = [{"domain": "rack", "key": RACK}]
        binding = made(LooseObject, metadata=metadata("default", of="b"), spec={"levels": levels})
        self.put(self.caches.bindings, binding)

    def running(self, name: str, *, pods: int, gpus: int, first_node: int, **more: Any) -> None:
        """A set whose pods fill nodes from a node on."""
        stages = [entry(kind, 3590 - at, holds=True) for at, kind in enumerate(STAGES)]
        per_node = max(1, 8 // gpus) if gpus else 8
        nodes = [f"node-{first_node + index // per_node}" for index in range(pods)]
        self._set(name, "Running", stages, nodes, gpus, **more)

    def waiting(
        self,
        name: str,
        stage: str,
        reason: str,
        message: str,
        *,
        pods: int,
        gpus: int,
        since: float,
        **more: Any,
    ) -> None:
        """A set that waits at a stage of its gang."""
        at = STAGES.index(stage)
        passed = [entry(kind, since + 20 - i, holds=True) for i, kind in enumerate(STAGES[:at])]
        stages = [*passed, entry(stage, since, reason, message, holds=False)]
        self._set(name, "Pending", stages, [""] * pods, gpus, since=since, **more)

    def _set(
        self,
        name: str,
        phase: str,
        stages: list[Any],
        nodes: list[str],
        gpus: int,
        *,
        namespace: str = "research",
        queue: str = "team-a",
        backend: str = "kai",
        stalled: bool = False,
        since: float = 0,
        shown: str = "",
    ) -> None:
        fine = phase == "Running"
        last = stages[-1]
        found = [
            entry(
                "Ready",
                since or 3580,
                "Ready" if fine else shown or "PodsNotScheduled",
                "" if fine else f"gang {name}-0: {last['message']}",
                holds=fine,
            )
        ]
        if stalled:
            found.append(entry("Stalled", since, last["reason"], last["message"], holds=True))
        age = since + 25 if since else 3600
        of_set = made(
            LooseObject,
            metadata=metadata(
                name, namespace, age, of="set", labels={"kai.scheduler/queue": queue}
            ),
            spec={"replicas": 1},
            status={"availableReplicas": int(fine), "conditions": found},
        )
        clique, gang = f"{name}-0-worker", f"{name}-0"
        marks = {"app.kubernetes.io/part-of": name, "grove.io/scheduler-backend": backend}
        self.put(self.caches.sets, of_set)
        self.put(
            self.caches.gangs,
            made(
                LooseObject,
                metadata=metadata(gang, namespace, age, of="gang", labels=marks),
                spec={"podgroups": [{"name": clique, "minReplicas": len(nodes)}]},
                status={"phase": phase, "conditions": stages},
            ),
        )
        self.put(
            self.caches.cliques,
            made(
                LooseObject,
                metadata=metadata(clique, namespace, age, of="clique", labels=marks),
                spec={"podSpec": spec(gpus)},
            ),
        )
        is_released = any(stage["type"] == "Scheduled" for stage in stages)
        gates = [] if is_released else [{"name": "grove.io/podgang-pending"}]
        for index, node in enumerate(nodes):
            self.put(
                self.caches.pods,
                made(
                    ListedPod,
                    metadata=metadata(
                        f"{clique}-{index}", namespace, of="pod", labels=labels(name, gang, clique)
                    ),
                    spec=spec(gpus, nodeName=node, schedulingGates=gates),
                    status={
                        "phase": "Running" if node else "Pending",
                        "conditions": [{"type": "Ready", "status": "True"}] if node else [],
                    },
                ),
            )

    def other_pod(self, name: str, node: str, gpus: int) -> None:
        """A pod that belongs to no gang."""
        self.put(
            self.caches.pods,
            made(
                ListedPod,
                metadata=metadata(name, "batch", of="pod"),
                spec=spec(gpus, nodeName=node),
                status={"phase": "Running"},
            ),
        )

    def backend(
        self, name: str, scheduler: str, dialect: str, *capable: str, down: str = ""
    ) -> None:
        self.put(
            self.caches.backends,
            made(
                LooseObject,
                metadata=metadata(name, of="backend"),
                spec={
                    "schedulerNames": [scheduler],
                    "capabilities": list(capable),
                    "lease": {"namespace": "grove-system", "name": f"backend-{name}"},
                },
                status={
                    "dialect": dialect,
                    "conditions": [
                        entry("Ready", 3000, holds=True),
                        entry("Available", 60, "BackendUnavailable", down, holds=not down),
                    ],
                },
            ),
        )
        lease = made(
            ListedLease,
            metadata=metadata(f"backend-{name}", "grove-system", of="lease"),
            spec={
                "holderIdentity": f"backend-{name}-7c9d8b6f5-x2k4q",
                "renewTime": ago(62 if down else 1),
                "leaseDurationSeconds": 9,
            },
        )
        cache = self.caches.leases[ObjectKey("grove-system", f"backend-{name}")] = Cache()
        self.put(cache, lease)

    def event(
        self, kind: str, name: str, reason: str, note: str, age: float, *, warning: bool = True
    ) -> None:
        namespace = "research"
        self.put(
            self.caches.events[kind],
            made(
                ListedEvent,
                metadata=metadata(f"{name}.{next(_VERSION)}", namespace, age, of="event"),
                regarding={"kind": kind, "name": name, "namespace": namespace},
                reason=reason,
                note=note,
                type="Warning" if warning else "Normal",
                eventTime=ago(age),
            ),
        )
