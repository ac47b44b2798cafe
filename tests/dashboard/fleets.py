"""The fleets that tests, pictures and measurements show: one as people have it, and a large one.

It owns what is in them; how it is written as objects is in `fleet_scene`.
"""

from tests.dashboard.fleet_scene import FleetScene


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
