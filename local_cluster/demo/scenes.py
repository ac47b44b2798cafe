"""The scenes of the demo, in their order.

A scene changes one thing, waits for the result and shows it. The numbers in titles follow from
`docs/samples` and from the simulated nodes: 8 nodes have 64 GPUs, the two replicas of inference
request 24, and the other 40 are enough for 10 of the 12 pods of training.
"""

import json
import time
from collections.abc import Callable

from local_cluster.api import Object
from local_cluster.demo import states
from local_cluster.demo.installation import NAMESPACE, SAMPLES, install
from local_cluster.demo.narration import Narrator
from local_cluster.simulation.nodes import simulated_node
from shared_api import names

NODES = 8
_SETS = f"/apis/{names.GROVE_GROUP}/{names.VERSION}/namespaces/default/podcliquesets"
_GANGS = f"/apis/{names.SCHEDULER_GROUP}/{names.VERSION}/namespaces/default/podgangs"
_BACKEND = "backend-kai"


def the_cluster(narrator: Narrator) -> None:
    """Show the nodes."""
    narrator.title(f"{NODES} simulated nodes with 8 GPUs each, and 1 node that runs processes")
    narrator.show("get nodes -L local-cluster/rack")


def the_product(narrator: Narrator) -> None:
    """Install core and two backends."""
    narrator.title("The product: core, and the backends for kube-scheduler and KAI")
    install(narrator)
    narrator.show(f"get deployments -n {NAMESPACE}")
    narrator.show("get schedulerbackends")


def a_gang_that_fits(narrator: Narrator) -> None:
    """Run disaggregated inference, and print the progress of its gangs."""
    narrator.title("Inference that fits: 2 replicas of router, prefill and decode, 12 GPUs each")
    started = narrator.apply(f"{SAMPLES}/inference.yaml")
    both = states.are_ready("inference-0", "inference-1")
    narrator.follow(_GANGS, both, "both gangs to be ready", states.GangProgress().lines)
    narrator.wait(_SETS, states.is_ready("inference"), "inference to be ready")
    _say_bound(narrator, "inference", f"and ready {time.monotonic() - started:.1f} s after apply")
    narrator.show("get pcs,podgangs")
    columns = "POD:.metadata.name,NODE:.spec.nodeName,STATUS:.status.phase"
    narrator.show(f"get pods -o custom-columns={columns}")


def a_gang_that_does_not(narrator: Narrator) -> None:
    """Request more than the free capacity: no pod is bound, and the conditions explain why."""
    narrator.title("Training that does not fit: 12 pods with 4 GPUs each, capacity for 10")
    narrator.apply(f"{SAMPLES}/training.yaml")
    gangs = narrator.wait(_GANGS, states.is_refused("training-0"), "training to be refused")
    waiting = states.waits_because("training", "PodsNotScheduled")
    narrator.wait(_SETS, waiting, "training to report that it is not scheduled")
    _say_bound(narrator, "training", "and the set and its gang report why")
    narrator.show("get pcs,podgangs")
    scheduled = states.condition(gangs, "training-0", names.CONDITION_SCHEDULED)
    narrator.say(f"Condition Scheduled of the PodGang:\n{scheduled['message']}")


def capacity_is_added(narrator: Narrator) -> None:
    """Add a node."""
    narrator.title("Capacity is added: one more node")
    started = time.monotonic()
    narrator.say(narrator.kubectl("create", "-f", "-", input=json.dumps(simulated_node(NODES))))
    narrator.wait(_SETS, states.is_ready("training"), "training to be ready")
    _say_bound(narrator, "training", f"and ready {time.monotonic() - started:.1f} s later")
    narrator.show("get pcs,podgangs")


def the_backend_stops(narrator: Narrator) -> None:
    """Scale the backend to zero: running pods stay, new gangs wait and report why."""
    narrator.title("KAI's backend is scaled to zero: running pods stay, new gangs wait")
    before = states.running(_pods(narrator))
    narrator.show(f"scale deployment {_BACKEND} -n {NAMESPACE} --replicas=0")
    narrator.wait(
        f"/api/v1/namespaces/{NAMESPACE}/pods",
        lambda pods: not pods,
        "the backend's processes to end",
        labelSelector=f"{names.LABEL_APP_NAME}={_BACKEND}",
    )
    narrator.apply(f"{SAMPLES}/evaluation.yaml")
    lost = states.waits_because("evaluation", names.REASON_BACKEND_UNAVAILABLE)
    found = narrator.wait(_SETS, lost, "evaluation to report that its backend is down")
    narrator.show("get pcs")
    ready = states.condition(found, "evaluation", names.CONDITION_READY)
    narrator.say(f"Condition Ready of the PodCliqueSet:\n{ready['message']}")
    after = states.running(_pods(narrator))
    narrator.say(f"{len(before & after)} of {len(before)} pods are still running")


def the_backend_starts(narrator: Narrator) -> None:
    """Scale the backend up again: the waiting gang runs."""
    narrator.title("KAI's backend is scaled up again, and KAI schedules the gang")
    started = time.monotonic()
    narrator.show(f"scale deployment {_BACKEND} -n {NAMESPACE} --replicas=2")
    narrator.wait(_SETS, states.is_ready("evaluation"), "evaluation to be ready")
    _say_bound(narrator, "evaluation", f"and ready {time.monotonic() - started:.1f} s later")
    narrator.show("get pcs")


def why_it_waits(narrator: Narrator) -> None:
    """Scale inference beyond the capacity, and ask `kubectl gang` what it waits for."""
    narrator.title("A third replica of inference does not fit, and kubectl gang explains it")
    narrator.show("gang scale inference --replicas 3")
    narrator.wait(_GANGS, states.is_refused("inference-2"), "the third gang to be refused")
    waiting = states.waits_because("inference", "PodsNotScheduled")
    narrator.wait(_SETS, waiting, "inference to report that it is not scheduled")
    # Exit code 1 means that something waits.
    narrator.show("gang status", codes=(1,))
    narrator.show("gang why inference", codes=(1,))


SCENES: tuple[Callable[[Narrator], None], ...] = (
    the_cluster,
    the_product,
    a_gang_that_fits,
    a_gang_that_does_not,
    capacity_is_added,
    the_backend_stops,
    the_backend_starts,
    why_it_waits,
)


def _say_bound(narrator: Narrator, of_set: str, more: str) -> None:
    narrator.say(f"{states.bound_of_all(_pods(narrator), of_set)}, {more}")


def _pods(narrator: Narrator) -> list[Object]:
    pods: list[Object] = json.loads(narrator.kubectl("get", "pods", "-o", "json"))["items"]
    return pods
