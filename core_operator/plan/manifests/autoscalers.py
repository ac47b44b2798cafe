"""The HorizontalPodAutoscalers of a set: one per clique and scaling group that configures one.

An autoscaler has the full name of its target and is owned by the set. A target that is recreated
gets the size that its autoscaler last wanted, within the current bounds.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import Expansion, standalone_cliques
from shared_api import names
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

_AMBIGUOUS = "AmbiguousSelector"
_OTHERS = re.compile(r"[a-z0-9][-a-z0-9.]*/[a-z0-9][-a-z0-9.]*")


class AutoscalerCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What keeps an autoscaler from scaling."""

    reason: str = ""
    message: str = ""


class AutoscalerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Sizes that the autoscaler reports; 0 until it has found its target."""

    current_replicas: int = 0
    desired_replicas: int = 0
    conditions: tuple[AutoscalerCondition, ...] = ()


class Autoscaler(msgspec.Struct, frozen=True, gc=False):
    """The sizes of a HorizontalPodAutoscaler."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: AutoscalerStatus = AutoscalerStatus()

    @property
    def rivals(self) -> tuple[str, ...]:
        """Return the other autoscalers of the same pods, by the condition that Kubernetes sets."""
        for condition in self.status.conditions:
            if condition.reason == _AMBIGUOUS:
                _, _, listed = condition.message.partition("multiple HPAs: ")
                found = sorted(_OTHERS.findall(listed))
                own = f"{self.metadata.namespace}/{self.metadata.name}"
                return tuple(name for name in found if name != own)
        return ()


class Autoscaled(NamedTuple):
    """A PodClique or scaling group that should have an autoscaler of the same name."""

    kind: type[KubeObject]
    name: str
    config: AutoScalingConfig
    replicas: int


def autoscaled(expansion: Expansion) -> Iterator[Autoscaled]:
    """Yield the parts of a set that should have an autoscaler."""
    for clique in standalone_cliques(expansion):
        config = clique.template.spec.auto_scaling_config
        if config is not None:
            yield Autoscaled(PodClique, clique.name, config, clique.template.spec.replicas)
    for group in expansion.groups:
        config = group.config.scale_config
        if config is not None:
            yield Autoscaled(PodCliqueScalingGroup, group.name, config, group.config.replicas)


def autoscalers(pcs: PodCliqueSet, expansion: Expansion) -> Iterator[JsonObject]:
    """Return the autoscalers that the set should have."""
    return (_autoscaler(pcs, scaled) for scaled in autoscaled(expansion))


def remembered_size(
    autoscaler: Autoscaler | None, config: AutoScalingConfig | None, replicas: int
) -> int:
    """Return the size in which to create a target; `replicas` if its autoscaler has none."""
    if autoscaler is None or config is None:
        return replicas
    # Without metrics there is no desired size, only the last observed one.
    status = autoscaler.status
    last = status.desired_replicas or status.current_replicas
    lowest = _lowest(config, replicas)
    return min(max(last, lowest), config.max_replicas) if last else replicas


def rival_autoscalers(found: Iterable[Autoscaler]) -> str:
    """Return which other autoscalers scale the same pods, and what to do; empty if none does."""
    for autoscaler in sorted(found, key=lambda one: one.metadata.name):
        if rivals := autoscaler.rivals:
            namespace, _, name = rivals[0].partition("/")
            return (
                f"HorizontalPodAutoscaler {autoscaler.metadata.name} does not scale: the same pods are"
                f" scaled by {', '.join(rivals)}. Delete one of them: kubectl -n {namespace} delete hpa"
                f" {name}"
            )
    return ""


def remembered_groups(pcs: PodCliqueSet, found: Iterable[Autoscaler]) -> dict[str, int]:
    """Return the sizes of scaling groups by full name, as far as these autoscalers have them."""
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
    return naming.with_protection(
        pcs,
        {
            "apiVersion": HPAS.api_version,
            "kind": HPAS.kind,
            "metadata": {
                "name": target,
                "namespace": pcs.metadata.namespace,
                "labels": {
                    **naming.set_labels(pcs.metadata.name),
                    names.LABEL_APP_NAME: target,
                    names.LABEL_COMPONENT: names.COMPONENT_HPA,
                },
                "ownerReferences": [naming.controller_reference(pcs).manifest()],
            },
            "spec": spec,
        },
    )
