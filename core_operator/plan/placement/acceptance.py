"""Whether core accepts a backend's record and its patches for pods.

A record comes from another process, and core patches pods in all namespaces with it. These checks
repeat those of the schema and the policies, which may be absent or older. A refused patch is never
applied. The message names the key or the class, and what to change.
"""

import functools
import re
from collections.abc import Collection, Iterable

from shared_api.models import PodPatch, SchedulerBackendSpec
from shared_api.models.patch import RESERVED_KEYS, SCHEDULERS_KEYS, SYSTEM_CLASSES

_RESERVED = re.compile(RESERVED_KEYS)
_SCHEDULERS = re.compile(SCHEDULERS_KEYS)


def record_refusal(name: str, record: SchedulerBackendSpec, accepted: Collection[str]) -> str:
    """Return why core does not use a record; empty if it does. `accepted` empty accepts all."""
    if accepted and name not in accepted:
        listed = ", ".join(accepted)
        return f"core accepts {listed}; add {name} to its setting backends.accepted"
    if record.lease is None:
        return "it has no Lease; set spec.lease to the Lease that the backend renews"
    preparation, after_bound = record.preparation, record.release.after_bound
    for patch in (preparation.members, preparation.surplus):
        if patch is not None and (refusal := patch_refusal(patch, record.pod_keys)):
            return refusal
    dropped = after_bound.drop_annotations if after_bound is not None else ()
    return _keys_refusal(frozenset(dropped), record.pod_keys)


def patch_refusal(patch: PodPatch, pod_keys: tuple[str, ...] | None) -> str:
    """Return why core does not apply a patch; empty if it does."""
    spec = patch.spec
    if spec is not None and (spec.priority_class_name or "").startswith(SYSTEM_CLASSES):
        return f"it sets the system priority class {spec.priority_class_name} on pods"
    return _keys_refusal(frozenset((*patch.labels, *patch.annotations)), pod_keys)


# Cached: it is called for each pod that is prepared by its gang, mostly with equal keys.
@functools.lru_cache(maxsize=1024)
def _keys_refusal(keys: frozenset[str], pod_keys: tuple[str, ...] | None) -> str:
    reserved = [key for key in keys if _RESERVED.match(key) and not _SCHEDULERS.match(key)]
    if reserved:
        return f"it sets reserved keys on pods: {_listed(reserved)}"
    if pod_keys is None:
        return ""
    unlisted = [key for key in keys if not _is_listed(key, pod_keys)]
    if unlisted:
        return (
            f"it sets {_listed(unlisted)} on pods, which spec.podKeys of its record does not list"
        )
    return ""


def _is_listed(key: str, pod_keys: Iterable[str]) -> bool:
    return any(key == one or (one.endswith("/") and key.startswith(one)) for one in pod_keys)


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(sorted(keys))
