"""Keeps the autoscalers of a set as its template says, and asks them for sizes.

They come after everything else of a set: metrics that the server refuses are told of, and hold
back no pod. Only autoscalers that the set controls are changed or deleted; one of a stranger
that has a name which is needed is left alone, as with other children.
"""

from functools import partial

from core_operator.context import CoreContext
from core_operator.plan.autoscalers import autoscaled, autoscalers, remembered_size
from core_operator.plan.expansion import Expansion
from core_operator.plan.statuses.reasons import Blocking
from core_operator.state.caches import SETS
from core_operator.writes.child_writer import (
    Concern,
    Family,
    Wanted,
    is_as_seen,
    own_child,
    settle,
    telling,
    unwanted,
)
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import HPAS
from shared_api.models import PodCliqueSet, PodCliqueTemplateSpec
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.watching.owners import identity


class Autoscaling:
    """The autoscalers of sets."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._applier = applier
        self._cache = context.view.caches.autoscalers
        self._target = Target(HPAS, self._cache)

    def size(self, key: ObjectKey, template: PodCliqueTemplateSpec, pcs: PodCliqueSet) -> int:
        """The size in which to make a PodClique of this name."""
        found = own_child(self._cache, key, identity(SETS, pcs))
        spec = template.spec
        autoscaler = found.object if found is not None else None
        return remembered_size(autoscaler, spec.auto_scaling_config, spec.replicas)

    async def settle(self, pcs: PodCliqueSet, expansion: Expansion, behalf: Behalf) -> None:
        """Make the autoscalers of one set as they should be."""
        named = (scaled.name for scaled in autoscaled(expansion))
        family = Family(
            (Wanted(self._target, manifest) for manifest in autoscalers(pcs, expansion)),
            tuple(unwanted(self._target, identity(SETS, pcs), named)),
        )
        parallel = self._context.settings.concurrency.writes
        still = partial(is_as_seen, self._context.view.caches.sets, pcs)
        words = "an autoscaler is refused"
        with telling(self._context, Concern(pcs, pcs, Blocking.AUTOSCALER_REFUSED, words)):
            await settle(family, self._applier, behalf, parallel=parallel, still=still)
