"""The patch that a backend wants on the pods of a group, and whether a pod was created with it.

Core applies a patch without understanding it: it substitutes exactly the placeholders of
`PodPatch`, in one pass, in values only. Most patched fields are immutable, so each pod carries a
digest of its patch. A bound pod always stays.

A gated pod is recreated if its digest differs: the gang moved to another backend, was recreated
with another UID, or its backend changed the patch. It is also recreated if the server dropped the
fields that put it into its gang, which a server does silently while the feature gate is off.

An ungated pod stays if only the patch changed, because its scheduler knows the pod. It is
recreated if it is unbound and was prepared for an earlier gang of the same name: the scheduler's
object that it names is gone, so it would never be scheduled.
"""

import enum
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from pydantic import JsonValue

from core_operator.plan.jobs.runs import SERVICE, Run
from core_operator.plan.placement.acceptance import patch_refusal
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import (
    PLACEHOLDERS,
    JsonObject,
    PodGang,
    PodGangStatus,
    PodPatch,
    PodPreparation,
    PreparationMode,
    SchedulerBackendSpec,
)

_TOKEN = re.compile("|".join(map(re.escape, PLACEHOLDERS)))
_DIGEST_BYTES = 6
_MEMBERSHIP = ("workloadRef", "schedulingGroup")
"""Fields of a pod's spec that put it into its gang, and that a server may drop."""


@dataclass(frozen=True, slots=True)
class GangRef:
    """The gang of a pod, and the backend that its pods are prepared for."""

    name: str
    uid: str
    namespace: str
    backend: str
    incarnation: int = 0


class NotPublished(enum.Enum):
    """Stands for a patch that the backend has not published."""

    NOT_PUBLISHED = "not published"


NOT_PUBLISHED = NotPublished.NOT_PUBLISHED


@dataclass(frozen=True, slots=True)
class Preparation:
    """What the pods of one group are created with now: digests for members and for surplus.

    A digest is None if it is unknown; then the backend's name decides. It is empty if the backend
    has not published the patch.
    """

    backend: str
    minimum: int = 0
    members: str | None = None
    surplus: str | None = None
    member_fields: JsonObject = field(default_factory=dict)
    surplus_fields: JsonObject = field(default_factory=dict)
    """The fields that put a pod into its gang, with only the index left to substitute."""
    gang_uid: str = ""
    run: Run = SERVICE
    """The attempt of a job that the pods are part of."""

    @property
    def is_uniform(self) -> bool:
        """Return whether the backend prepares members and surplus alike."""
        return bool(self.members) and self.members == self.surplus

    def matches(self, pod: Pod) -> bool:
        """Return whether a pod was created with the wanted patch, or may stay without it."""
        if not pod.has_our_gate:
            return pod.spec.node_name != "" or not self._is_of_earlier_gang(pod)
        created_with = pod.metadata.annotations.get(names.ANNOTATION_PREPARATION)
        wanted = self._wanted(pod)
        if wanted is None or created_with is None:
            return self._is_ours(pod)
        return self._is_ours(pod) and created_with == wanted and self._was_kept(pod)

    def requires_recreation(self, pod: Pod) -> bool:
        """Return whether a pod must be recreated; it stays while the patch is unknown."""
        if self._is_ours(pod) and not self._wanted(pod):
            return False
        return not self.matches(pod)

    def _is_of_earlier_gang(self, pod: Pod) -> bool:
        """Return whether a pod was prepared for an earlier gang of this name.

        An equal digest means that the pod carries nothing of the earlier gang. Pods of earlier
        versions of core have no annotation with the gang's UID.
        """
        carried = pod.metadata.annotations
        created_for = carried.get(names.ANNOTATION_PODGANG_UID, self.gang_uid)
        if created_for == self.gang_uid:
            return False
        wanted = self._wanted(pod)
        return wanted is not None and carried.get(names.ANNOTATION_PREPARATION) != wanted

    def _is_ours(self, pod: Pod) -> bool:
        return pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) == self.backend

    def _wanted(self, pod: Pod) -> str | None:
        return self.members if pod.is_member(self.minimum) else self.surplus

    def _was_kept(self, pod: Pod) -> bool:
        """Return whether the server stored the fields that put the pod into its gang."""
        fields = self.member_fields if pod.is_member(self.minimum) else self.surplus_fields
        if not fields:
            return True
        wanted = _in_value(fields, {"{index}": str(pod.index)})
        assert isinstance(wanted, dict)
        spec = pod.spec
        stored = dict(zip(_MEMBERSHIP, (spec.workload_ref, spec.scheduling_group), strict=True))
        return all(_has(stored[name], of) for name, of in wanted.items())


def preparation_of(
    gang: PodGang, record: SchedulerBackendSpec | None, group: str, minimum: int
) -> Preparation:
    """Return what the pods of one group of a gang are created with now."""
    reference = reference_to(gang)
    if record is None:
        return Preparation(reference.backend, minimum)
    patches = [patch_for(record, gang.status, group, index, minimum) for index in (0, minimum)]
    of_member, of_surplus = (
        "" if isinstance(patch, NotPublished) else digest(patch, reference, group, record)
        for patch in patches
    )
    member_fields, surplus_fields = (_membership(patch, reference, group) for patch in patches)
    return Preparation(
        backend=reference.backend,
        minimum=minimum,
        members=of_member,
        surplus=of_surplus,
        member_fields=member_fields,
        surplus_fields=surplus_fields,
        gang_uid=reference.uid,
    )


def patch_for(
    record: SchedulerBackendSpec,
    gang_status: PodGangStatus | None,
    group: str,
    index: int,
    min_available: int,
) -> PodPatch | NotPublished:
    """Return the patch for the pod with this index of this group."""
    if record.preparation.mode is PreparationMode.STATIC:
        return record.preparation.of_pod(index, min_available)
    published = _published(gang_status, group)
    # A refused patch counts as not published, so that no pod is created with it.
    if published is None or _refusal(published, record):
        return NOT_PUBLISHED
    return published.of_pod(index, min_available)


def preparation_refusal(
    record: SchedulerBackendSpec, gang_status: PodGangStatus | None, group: str
) -> str:
    """Return why core does not apply what a backend published for a group; empty if it does."""
    published = _published(gang_status, group)
    return "" if published is None else _refusal(published, record)


def _published(gang_status: PodGangStatus | None, group: str) -> PodPreparation | None:
    found = gang_status.pod_preparations if gang_status else ()
    return next((one for one in found if one.name == group), None)


def _refusal(published: PodPreparation, record: SchedulerBackendSpec) -> str:
    patches = (published.members, published.surplus)
    found = (patch_refusal(one, record.pod_keys) for one in patches if one is not None)
    return next(filter(None, found), "")


def placeholders(gang: GangRef, group: str, index: str) -> dict[str, str]:
    """Return the values of a patch's placeholders."""
    return {
        "{namespace}": gang.namespace,
        "{gang}": gang.name,
        "{gangUID}": gang.uid,
        "{incarnation}": str(gang.incarnation),
        "{group}": group,
        "{index}": index,
    }


def prepared_spec(patch: PodPatch, values: Mapping[str, str]) -> JsonObject:
    """Return the fields of a pod's spec that a patch sets."""
    fields = _rendered(patch).spec
    return {key: _in_value(value, values) for key, value in fields.items()}


def required_fields(
    pod: Pod, gang: PodGang, record: SchedulerBackendSpec, group: str, minimum: int
) -> JsonObject:
    """Return the fields of its spec without which a pod must not be ungated."""
    index = pod.index
    patch = patch_for(record, gang.status, group, index or 0, minimum)
    if (
        isinstance(patch, NotPublished)
        or names.ANNOTATION_PREPARATION not in pod.metadata.annotations
    ):
        return {}
    fields = prepared_spec(patch, placeholders(reference_to(gang), group, str(index)))
    # Admission adds to this list, and nothing may be removed from it: it is not sent again.
    return {name: value for name, value in fields.items() if name != "tolerations"}


def _membership(patch: PodPatch | NotPublished, gang: GangRef, group: str) -> JsonObject:
    if isinstance(patch, NotPublished):
        return {}
    fields = _rendered(patch).spec
    values = placeholders(gang, group, "{index}")
    return {name: _in_value(fields[name], values) for name in _MEMBERSHIP if name in fields}


def _has(stored: msgspec.Struct | None, wanted: JsonValue) -> bool:
    found = msgspec.to_builtins(stored)
    if not isinstance(found, dict) or not isinstance(wanted, dict):
        return False
    return all(found.get(name) == value for name, value in wanted.items())


def substituted(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its placeholders replaced."""
    # One pass: a value that contains a placeholder is not substituted again.
    return _TOKEN.sub(lambda token: values[token[0]], text)


def _in_value(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str):
        return substituted(value, values)
    if isinstance(value, dict):
        return {key: _in_value(item, values) for key, item in value.items()}
    return value


def incarnation_of(gang: PodGang) -> int:
    """Return how often the members of a gang were recreated together."""
    return (gang.status.incarnation or 0) if gang.status is not None else 0


def reference_to(gang: PodGang) -> GangRef:
    """Return the reference to a gang that its pods are created with."""
    metadata = gang.metadata
    return GangRef(
        name=metadata.name,
        uid=metadata.uid or "",
        namespace=metadata.namespace or "",
        backend=metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, ""),
        incarnation=incarnation_of(gang),
    )


def digest(patch: PodPatch, gang: GangRef, group: str, record: SchedulerBackendSpec) -> str:
    """Return the gate and a hash of the patch, equal for all indexes of a group."""
    return f"{record.scheduling_gate}:{_hashed(_rendered(patch).text, gang, group)}"


@functools.lru_cache(maxsize=8192)
def _hashed(text: str, gang: GangRef, group: str) -> str:
    # Cached: it is the same for all pods of a group, and computed for each of them.
    values = placeholders(gang, group, "{index}")
    hashed = hashlib.blake2b(substituted(text, values).encode(), digest_size=_DIGEST_BYTES)
    return hashed.hexdigest()


@dataclass(frozen=True, slots=True)
class _Rendered:
    """The two forms of a patch, before its placeholders are replaced."""

    patch: PodPatch
    spec: JsonObject
    text: str


_NO_PATCH = _Rendered(PodPatch(), {}, "{}")
_KEPT_PATCHES = 1024
_rendered_patches: dict[int, _Rendered] = {}
"""By id, because all pods of a backend share one patch; a kept patch's id is not reused."""


def _rendered(patch: PodPatch) -> _Rendered:
    if not patch.model_fields_set:
        # An empty patch is a new object each time.
        return _NO_PATCH
    found = _rendered_patches.get(id(patch))
    if found is None:
        dumped = patch.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude_defaults=True
        )
        text = json.dumps(dumped, sort_keys=True, separators=(",", ":"))
        spec = (
            patch.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
            if patch.spec
            else {}
        )
        found = _rendered_patches[id(patch)] = _Rendered(patch, spec, text)
        if len(_rendered_patches) > _KEPT_PATCHES:
            del _rendered_patches[next(iter(_rendered_patches))]
    return found
