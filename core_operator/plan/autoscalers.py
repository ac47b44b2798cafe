"""The HorizontalPodAutoscalers of a set: one per clique and scaling group that asks for one.

An autoscaler has the full name of what it scales, and goes with the set. Who it scales keeps
its size: a PodClique or group that exists says its own, and one that has to be made again is
made in the size that its autoscaler last wanted, within the bounds of today.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from core_operator.plan import naming
from core_operator.plan.expansion import Expansion, standalone_cliques
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import HPAS
from shared_api.models import (
    MAX_REPLICAS,
    AutoScalingConfig,
    JsonObject,
    KubeObject,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
)


class AutoscalerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Sizes as the autoscaler knows them; 0 until it has found its target."""

    current_replicas: int = 0
    desired_replicas: int = 0


class Autoscaler(msgspec.Struct, frozen=True, gc=False):
    """A HorizontalPodAutoscaler, as far as sizes are concerned."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: AutoscalerStatus = AutoscalerStatus()


class Autoscaled(NamedTuple):
    """A PodClique or scaling group that should have an autoscaler, which is named like it."""

    kind: type[KubeObject]
    name: str
    config: AutoScalingConfig
    replicas: int


def autoscaled(expansion: Expansion) -> Iterator[Autoscaled]:
    """Return what of a set should have an autoscaler."""
    for clique in standalone_cliques(expansion):
        config = clique.template.spec.auto_scaling_config
        if config is not None:
            yield Autoscaled(PodClique, clique.name, config, clique.template.spec.replicas)
    for group in expansion.groups:
        config = group.config.scale_config
        if config is not None:
            yield Autoscaled(PodCliqueScalingGroup, group.name, config, group.config.replicas)


def autoscalers(pcs: PodCliqueSet, expansion: Expansion) -> Iterator[JsonObject]:
    """The autoscalers that the set should have."""
    return (_autoscaler(pcs, scaled) for scaled in autoscaled(expansion))


def remembered_size(
    autoscaler: Autoscaler | None, config: AutoScalingConfig | None, replicas: int
) -> int:
    """The size in which to make what an autoscaler scales; `replicas` if it knows of none."""
    if autoscaler is None or config is None:
        return replicas
    # Without metrics it wants nothing, but has seen how many there were.
    status = autoscaler.status
    last = status.desired_replicas or status.current_replicas
    lowest = _lowest(config, replicas)
    return min(max(last, lowest), config.max_replicas) if last else replicas


def remembered_groups(pcs: PodCliqueSet, found: Iterable[Autoscaler]) -> dict[str, int]:
    """Sizes of scaling groups, by full name, as far as these autoscalers know them."""
    known = {autoscaler.metadata.name: autoscaler for autoscaler in found}
    if not known or pcs.spec.replicas > MAX_REPLICAS:
        return {}
    named = (
        (naming.group_name(pcs.metadata.name, index, config.name), config)
        for index in range(pcs.spec.replicas)
        for config in pcs.spec.template.pod_clique_scaling_groups
    )
    return {
        name: remembered_size(known.get(name), config.scale_config, config.replicas)
        for name, config in named
    }


def _lowest(config: AutoScalingConfig, replicas: int) -> int:
    return replicas if config.min_replicas is None else config.min_replicas


def _autoscaler(pcs: PodCliqueSet, scaled: Autoscaled) -> JsonObject:
    kind, target, config, replicas = scaled
    spec: JsonObject = {
        "scaleTargetRef": {"apiVersion": kind.API_VERSION, "kind": kind.KIND, "name": target},
        "minReplicas": _lowest(config, replicas),
        "maxReplicas": config.max_replicas,
    }
    if config.metrics:
        spec["metrics"] = [*config.metrics]
    return {
        "apiVersion": HPAS.api_version,
        "kind": HPAS.kind,
        "metadata": {
            "name": target,
            "namespace": pcs.metadata.namespace,
            "labels": {**naming.autoscaler_labels(pcs.metadata.name, target)},
            "ownerReferences": [naming.controller_reference(pcs).manifest()],
        },
        "spec": spec,
    }
