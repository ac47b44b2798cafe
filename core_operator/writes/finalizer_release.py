"""Removes Grove's finalizers from adopted objects, and changes nothing else of them.

Without that, an object that Grove made could never be deleted after Grove is gone.
"""

from typing import TypeVar

from core_operator.plan.adoption import finalizer_patch
from shared_api.kube.client import Patch, PatchType
from shared_api.kube.errors import NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.watching.predicates import Watched

W = TypeVar("W", bound=Watched)


class FinalizerRelease:
    """Removes finalizers for one controller."""

    def __init__(self, applier: Applier) -> None:
        self._applier = applier

    async def of(self, target: Target[W], found: W | None, key: ObjectKey) -> None:
        """Remove Grove's finalizers from an object, if it has any."""
        if found is None:
            return
        metadata = found.metadata
        if patch := finalizer_patch(metadata.uid or "", tuple(metadata.finalizers)):
            try:
                await self._applier.patch(target, found, Patch(patch, PatchType.JSON), Behalf(key))
            except NotFound:
                # It was being deleted and waited for nothing else.
                return
