"""Writes the HorizontalPodAutoscalers of a set, and reads sizes from them.

They are written after all other children: metrics that the server refuses are reported, and delay
no pod. Only autoscalers that the set controls are changed or deleted.
"""

from functools import partial

from core_operator.context import CoreContext
from core_operator.plan.layout.expansion import Expansion
from core_operator.plan.manifests.autoscalers import autoscaled, autoscalers, remembered_size
from core_operator.plan.statuses.reasons import BlockingReason
from core_operator.state.caches import SETS
from core_operator.writes.child_writer import (
    ChildWriter,
    RefusalReport,
    Wanted,
    is_current,
    own_child,
    unwanted,
)
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import HPAS
from shared_api.models import PodCliqueSet, PodCliqueTemplateSpec
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.watching.owners import identity


class Autoscaling:
    """Writes the autoscalers of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._children = ChildWriter(context, applier)
        self._cache = context.view.caches.autoscalers
        self._target = Target(HPAS, self._cache)

    def size(self, key: ObjectKey, template: PodCliqueTemplateSpec, pcs: PodCliqueSet) -> int:
        """Return the size with which to create a PodClique of this name."""
        found = own_child(self._cache, key, identity(SETS, pcs))
        spec = template.spec
        autoscaler = found.object if found is not None else None
        return remembered_size(autoscaler, spec.auto_scaling_config, spec.replicas)

    async def settle(self, pcs: PodCliqueSet, expansion: Expansion, behalf: Behalf) -> None:
        """Write the autoscalers of one set, and delete those that it no longer has."""
        named = (scaled.name for scaled in autoscaled(expansion))
        wanted = (Wanted(self._target, manifest) for manifest in autoscalers(pcs, expansion))
        gone = unwanted(self._target, identity(SETS, pcs), named)
        report = RefusalReport(
            pcs, pcs, BlockingReason.AUTOSCALER_REFUSED, "the server refuses an autoscaler"
        )
        still = partial(is_current, self._context.view.caches.sets, pcs)
        await self._children.settle(wanted, gone, report, behalf, still=still)
