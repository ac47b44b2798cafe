"""An order as one job of Slurm, or the reason why it cannot be one. Pure.

A pod is one node's share of a job: one task with the pod's CPUs, memory and GPUs. Pods that are alike
are one component, so two of them never share a node. Unlike pods are the components of a heterogeneous
job. Slurm plans components one by one and never starts a gang whose components wait for the same
nodes, so such a gang is refused.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import ExecutorError, Order, Outcome
from backend_controllers.slurm.dialects import Component, NodeRecord, ReservationRecord
from backend_controllers.slurm.hostlists import hosts_of
from backend_controllers.slurm.options import SlurmOptions, SlurmQueue
from backend_controllers.slurm.tags import MOST_PODS
from shared_api.kube.pod_resources import NoQuantityError, requests_of

QUEUE_LABEL = "slurm.grove.io/queue"
RESERVATION_PREFIX = "podgang-"
"""Of the reservations of Slurm that gangs may name."""
FEATURE_PREFIX = "feature.slurm.grove.io/"
_MEBI = 2**20
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SlurmPlan:
    """An order as a job: the pods in the order of its nodes."""

    user: str
    queue: str
    pods: tuple[RemotePod, ...]
    components: tuple[Component, ...]


def planned(
    order: Order, options: SlurmOptions, nodes: Sequence[NodeRecord], used: frozenset[str]
) -> SlurmPlan:
    """Return the job of an order; `used` are the nodes that the gang has already."""
    if len(order.pods) > MOST_PODS:
        message = f"{len(order.pods)} pods start together; a job of Slurm has at most {MOST_PODS}"
        raise ExecutorError(Outcome.INVALID, f"{message}. Lower minAvailable, or use several sets")
    queues = [queue_of(pod, order.tag.namespace, options) for pod in order.pods]
    users = sorted({queue.user or options.user for queue in queues})
    if len(users) > 1:
        message = f"queues of users {', '.join(users)}: a job belongs to one user"
        raise ExecutorError(Outcome.INVALID, f"{message}. Use queues of one user for all pods")
    by_shape: dict[Component, list[RemotePod]] = {}
    for pod, queue in zip(order.pods, queues, strict=True):
        by_shape.setdefault(_shape(pod, queue, order, options), []).append(pod)
    components = tuple(replace(shape, pods=len(pods)) for shape, pods in by_shape.items())
    components = _packed(components, order, options, nodes, used)
    _check_disjoint(components, nodes)
    pods = tuple(pod for found in by_shape.values() for pod in found)
    return SlurmPlan(users[0], queues[0].name, pods, components)


def queue_of(pod: RemotePod, namespace: str, options: SlurmOptions) -> SlurmQueue:
    """Return the queue of a pod."""
    allowed = [q for q in options.queues if not q.namespaces or namespace in q.namespaces]
    name = pod.metadata.labels.get(QUEUE_LABEL)
    found = next((queue for queue in allowed if name in (None, queue.name)), None)
    if found is None:
        known = ", ".join(queue.name for queue in allowed) or "none"
        asked = f"queue '{name}'" if name else "queues"
        message = f"namespace {namespace} may not use {asked} of Slurm (allowed: {known})"
        raise ExecutorError(Outcome.INVALID, f"{message}. Change the label {QUEUE_LABEL}")
    return found


def eligible(component: Component, nodes: Sequence[NodeRecord]) -> tuple[NodeRecord, ...]:
    """Return the nodes on which a component could run if they were idle."""
    features = _features(component.constraint)
    return tuple(
        node
        for node in nodes
        if (not component.partition or component.partition in node.partitions)
        and all(node.features & choice for choice in features)
        and node.cpus >= component.cpus
        and node.memory >= component.memory_mib * _MEBI
        and all(node.gres.get(name, 0) >= count for name, count in component.gres)
    )


def free_for(component: Component, nodes: Sequence[NodeRecord]) -> int:
    """Return how many pods of a component fit on nodes as they are now, one on each."""
    return sum(
        node.is_usable
        and node.cpus - node.used_cpus >= component.cpus
        and node.memory - node.used_memory >= component.memory_mib * _MEBI
        and all(
            node.gres.get(name, 0) - (node.used_gres or {}).get(name, 0) >= count
            for name, count in component.gres
        )
        for node in eligible(component, nodes)
    )


def holding(
    components: Sequence[Component],
    reservations: Sequence[ReservationRecord],
    nodes: Sequence[NodeRecord],
) -> str:
    """Return the reservations of nodes on which the components could run."""
    wanted = {node.name for one in components for node in eligible(one, nodes)}
    own = {one.reservation for one in components}
    parts = []
    for one in reservations:
        both = wanted.intersection(hosts_of(one.nodes))
        if both and one.name not in own:
            kind = "maintenance " if "MAINT" in one.flags else ""
            times = (datetime.fromtimestamp(at, UTC) for at in (one.starts, one.ends))
            since, until = (f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in times)
            parts.append(f"{kind}{one.name} has {len(both)} nodes from {since} to {until}")
    return "; ".join(parts[:_SHOWN])


def shortage(
    components: Sequence[Component], nodes: Sequence[NodeRecord], reason: str, reserved: str = ""
) -> str:
    """Return why a job did not start, with numbers; `reserved` names reservations."""
    parts = [
        f"{one.pods} nodes with {_shape_text(one)} ({free_for(one, nodes)} free,"
        f" {len(eligible(one, nodes))} exist)"
        for one in components
    ]
    drained = [node for node in nodes if not node.is_usable]
    lost = ""
    if drained:
        shown = ", ".join(
            f"{node.name} {node.state}" + (f": {node.reason}" if node.reason else "")
            for node in drained[:_SHOWN]
        )
        lost = f" {len(drained)} of {len(nodes)} nodes take no jobs ({shown})."
    if reserved:
        lost += f" Reservation {reserved}."
    why = f" Slurm's reason: {reason}." if reason else ""
    return (
        f"does not fit: needs {' and '.join(parts)}.{lost}{why}"
        " Free capacity, add nodes, or lower minAvailable"
    )


def _shape(pod: RemotePod, queue: SlurmQueue, order: Order, options: SlurmOptions) -> Component:
    name = pod.metadata.name
    try:
        requests = requests_of(pod.spec.resources)
    except NoQuantityError as error:
        raise ExecutorError(Outcome.INVALID, f"pod {name}: {error}") from error
    gres: list[tuple[str, int]] = []
    for resource, amount in sorted(requests.items()):
        if resource in ("cpu", "memory") or not amount:
            continue
        if resource not in options.gpu_resources:
            message = f"pod {name}: Slurm has no resource for {resource}"
            raise ExecutorError(Outcome.INVALID, f"{message}. Map it in options.gpuResources")
        gres.append((options.gpu_resources[resource], math.ceil(amount)))
    longest = order.max_runtime_seconds
    # Core ends the gang, and counts from its start; Slurm counts from the grant.
    minutes = math.ceil((longest + order.grant_seconds) / 60) + 1 if longest else 0
    reservation = f"{RESERVATION_PREFIX}{order.tag.namespace}-{order.reservation}"
    return Component(
        0,
        max(1, math.ceil(requests.get("cpu", Fraction(0)))),
        math.ceil(requests.get("memory", Fraction(0)) / _MEBI),
        tuple(gres),
        queue.partition or "",
        queue.account or "",
        options.qos_by_priority_class.get(pod.spec.priority_class_name, queue.qos or ""),
        reservation if order.reservation else queue.reservation or "",
        _constraint(pod),
        minutes or queue.time_limit_minutes or 0,
    )


def _constraint(pod: RemotePod) -> str:
    features = []
    for key, value in sorted(pod.spec.node_selector.items()):
        if not key.startswith(FEATURE_PREFIX) or value != "true":
            message = f"pod {pod.metadata.name}: nodeSelector {key}={value} is not known to Slurm"
            remedy = f'Write {FEATURE_PREFIX}NAME: "true" for a feature of nodes'
            raise ExecutorError(Outcome.INVALID, f"{message}. {remedy}")
        features.append(key.removeprefix(FEATURE_PREFIX))
    return "&".join(features)


def _packed(
    components: tuple[Component, ...],
    order: Order,
    options: SlurmOptions,
    nodes: Sequence[NodeRecord],
    used: frozenset[str],
) -> tuple[Component, ...]:
    """Return the components with the features of one domain of the required topology level."""
    level = order.pack.required
    if not level:
        return components
    domains = options.topology.get(level, ())
    if not domains:
        known = ", ".join(sorted(options.topology)) or "none"
        message = f"topology level {level} is not known to Slurm (known: {known})"
        raise ExecutorError(Outcome.INVALID, f"{message}. Add it to options.topology")
    home = {
        domain
        for node in nodes
        if node.name in used
        for domain in node.features
        if domain in domains
    }
    if home:
        return tuple(_within(one, min(home)) for one in components)
    if len(components) == 1 and not components[0].constraint:
        return (replace(components[0], constraint=f"[{'|'.join(domains)}]"),)
    # Components choose their nodes one by one, so the domain is chosen for them.
    best = max(
        domains,
        key=lambda domain: min(
            free_for(_within(one, domain), nodes) - one.pods for one in components
        ),
    )
    return tuple(_within(one, best) for one in components)


def _within(component: Component, feature: str) -> Component:
    return replace(component, constraint="&".join(filter(None, (component.constraint, feature))))


def _features(constraint: str) -> list[frozenset[str]]:
    """The choices of a constraint as this module writes it: `a&b` or `[a|b]`."""
    if constraint.startswith("["):
        return [frozenset(constraint.strip("[]").split("|"))]
    return [frozenset({feature}) for feature in constraint.split("&") if feature]


def _check_disjoint(components: Sequence[Component], nodes: Sequence[NodeRecord]) -> None:
    found = [{node.name for node in eligible(one, nodes)} for one in components]
    for place, names in enumerate(found):
        for other in range(place):
            if both := sorted(names & found[other]):
                shown = ", ".join(both[:_SHOWN]) + (" and others" if len(both) > _SHOWN else "")
                raise ExecutorError(
                    Outcome.INVALID,
                    f"pods with {_shape_text(components[other])} and pods with"
                    f" {_shape_text(components[place])} may both run on {shown}; Slurm would wait"
                    " forever for nodes that the gang itself has. Give them queues with different"
                    f" partitions (label {QUEUE_LABEL}), or features (nodeSelector"
                    f" {FEATURE_PREFIX}NAME), or the same resources",
                )


def _shape_text(component: Component) -> str:
    parts = [f"{component.cpus} cpu"]
    if component.memory_mib:
        parts.append(f"{component.memory_mib}Mi memory")
    parts += [f"{count} {name}" for name, count in component.gres]
    where = f" in partition {component.partition}" if component.partition else ""
    features = f" with {component.constraint}" if component.constraint else ""
    return ", ".join(parts) + where + features
