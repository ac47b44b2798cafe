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


def usual() -> FleetScene:
    """The cluster of the screenshots: 8 racks with 4 nodes each, and sets in every state."""
    scene = FleetScene()
    scene.nodes(8, 4, taints={30: "example.com/maintenance"})
    for index, name in enumerate(("llama-serve", "mixtral-serve", "embedder", "reranker")):
        scene.running(name, pods=4, gpus=8, first_node=index * 4, namespace="serving", queue="prod")
    for index, name in enumerate(("vision-eval", "speech-train", "rag-batch")):
        scene.running(name, pods=4, gpus=4, first_node=16 + index * 3)
    scene.running("video-gen", pods=3, gpus=8, first_node=24)
    short = "0/12 pods scheduled: 9 nodes with insufficient nvidia.com/gpu"
    scene.waiting(
        "training", "Scheduled", "Unschedulable", short, pods=12, gpus=4, since=760, queue="team-a"
    )
    scene.waiting(
        "pretrain-70b",
        "Scheduled",
        "Unschedulable",
        "0/16 pods scheduled: 11 nodes with insufficient nvidia.com/gpu",
        pods=16,
        gpus=8,
        since=11_400,
        queue="team-b",
    )
    scene.waiting(
        "sweep-17",
        "Released",
        "QuotaExceeded",
        "3/4 pods created: ResourceQuota compute allows 64 nvidia.com/gpu, 60 are used",
        pods=3,
        gpus=4,
        since=190,
        shown="WaitingForQuota",
    )
    scene.waiting(
        "finetune-mt",
        "Accepted",
        "Rejected",
        "Rejected by backend kai: no queue set. Set the label kai.scheduler/queue on the"
        " PodCliqueSet or its cliques (existing queues: prod, team-a, team-b)",
        pods=4,
        gpus=8,
        since=2_520,
        queue="",
        stalled=True,
        shown="Rejected",
    )
    scene.waiting(
        "nightly-bench",
        "BackendSelected",
        "BackendUnavailable",
        "Backend volcano is down: Lease grove-system/backend-volcano expired 53s ago. Start it:"
        " kubectl -n grove-system scale deployment backend-volcano --replicas=2",
        pods=0,
        gpus=2,
        since=53,
        backend="volcano",
        shown="BackendUnavailable",
    )
    scene.other_pod("notebook-0", "node-18", 2)
    scene.other_pod("notebook-1", "node-21", 4)
    kai = ("Gang", "GroupMinimums", "Priority", "Queues", "TopologyRequired", "TopologyPreferred")
    scene.backend("kai", "kai-scheduler", "scheduling.run.ai/v2alpha2", *kai)
    scene.backend("default", "default-scheduler", "scheduling.k8s.io/v1alpha2", "Gang", "Priority")
    scene.backend(
        "volcano",
        "volcano",
        "scheduling.volcano.sh/v1beta1",
        "Gang",
        "Queues",
        down="Backend volcano is down: Lease grove-system/backend-volcano expired 53s ago. Start"
        " it: kubectl -n grove-system scale deployment backend-volcano --replicas=2",
    )
    lost = "pod speech-train-0-worker-2 on node-20 is lost: node node-20 stopped reporting"
    scene.event("PodClique", "speech-train-0-worker", "PodLost", lost, 340)
    scene.event(
        "PodGang",
        "rag-batch-0",
        "Preempted",
        "4 of 4 pods were preempted by serving/llama-serve-0 (priority 1000) to free 16"
        " nvidia.com/gpu",
        905,
    )
    scene.event(
        "PodCliqueSet",
        "vision-eval",
        "BackendMoved",
        "PodGang vision-eval-0 leaves backend 'volcano': backend volcano is down",
        1_260,
        warning=False,
    )
    scene.event(
        "PodCliqueSet",
        "rag-batch",
        "UpdateEnded",
        "all pods are of revision 6f7c9",
        1_800,
        warning=False,
    )
    scene.event(
        "PodCliqueSet",
        "training",
        "GangTerminated",
        "training-0 was below minAvailable (11 of 12 pods ready) for 4h",
        2_700,
    )
    scene.synced()
    return scene


def large(gangs: int) -> FleetScene:
    """As many gangs as given: one in ten waits, one in a hundred requires manual action."""
    scene = FleetScene()
    scene.nodes(max(1, gangs // 16), 8)
    for index in range(gangs):
        namespace = f"team-{index % 20}"
        name = f"workload-{index}"
        if index % 100 == 7:
            scene.waiting(
                name,
                "Accepted",
                "Rejected",
                "Rejected by backend kai: no queue set. Set the label kai.scheduler/queue",
                pods=0,
                gpus=2,
                since=60 + index * 3,
                stalled=True,
                shown="Rejected",
                namespace=namespace,
            )
        elif index % 10 == 3:
            scene.waiting(
                name,
                "Scheduled",
                "Unschedulable",
                "0/4 pods scheduled: 9 nodes with insufficient nvidia.com/gpu",
                pods=4,
                gpus=4,
                since=30 + index * 5,
                namespace=namespace,
            )
        else:
            scene.running(
                name,
                pods=2,
                gpus=2,
                first_node=index // 2 % max(1, gangs // 2),
                namespace=namespace,
            )
    scene.backend("kai", "kai-scheduler", "scheduling.run.ai/v2alpha2", "Gang", "Queues")
    scene.synced()
    return scene
