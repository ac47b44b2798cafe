"""What a backend wants on the pods of a group, and whether a pod was made with it.

A patch is applied without being understood: exactly the placeholders of `PodPatch` are
substituted, in one pass, in values only. Most of what it sets is immutable on a pod, so each
pod carries a digest of what it was made with. A pod that its gate still holds and that was
made with something else is of no use to its gang and is made anew: its gang was given to
another backend, was itself made anew and has another UID, or its backend wants other things
by now. So is one without the fields that put it into its gang: a server whose feature gate is off
drops them without a word, and whoever made the pod may have ended before taking it away again.

A pod whose gate is gone stays if its backend wants other things by now: its scheduler knows it.
It is recreated if it has no node and was prepared for an earlier gang of the same name: the
scheduler's object that it names is gone, so it would never be scheduled, and its gang would
start without it. A pod with a node always stays.
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

from core_operator.plan.acceptance import patch_refusal
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
"""Fields of a pod's spec that a server may drop."""


@dataclass(frozen=True, slots=True)
class GangRef:
    """The gang of a pod; `backend` is the one that its pods are prepared for."""

    name: str
    uid: str
    namespace: str
    backend: str
    incarnation: int = 0


class NotYet(enum.Enum):
    """A patch that its backend has not published."""

    PREPARED = "prepared"


NOT_YET = NotYet.PREPARED


@dataclass(frozen=True, slots=True)
class Preparation:
    """What the pods of one group are made with now, members and surplus, as digests.

    None: nobody can tell, and the backend's name decides. Empty: it is not published yet.
    """

    backend: str
    minimum: int = 0
    members: str | None = None
    surplus: str | None = None
    member_fields: JsonObject = field(default_factory=dict)
    surplus_fields: JsonObject = field(default_factory=dict)
    """The fields that put a pod into its gang, with only the index left to substitute."""
    gang_uid: str = ""

    def suits(self, pod: Pod) -> bool:
        """Tell whether a pod is what its gang needs, or is past the point where that matters."""
        if not is_held(pod):
            return pod.spec.node_name != "" or not self._is_of_earlier_gang(pod)
        made_with = pod.metadata.annotations.get(names.ANNOTATION_PREPARATION)
        wanted = self._wanted(pod)
        if wanted is None or made_with is None:
            return self._is_ours(pod)
        return self._is_ours(pod) and made_with == wanted and self._was_kept(pod)

    def outdates(self, pod: Pod) -> bool:
        """Tell whether a pod has to be made anew; one of which it is not known yet may stay."""
        if self._is_ours(pod) and not self._wanted(pod):
            return False
        return not self.suits(pod)

    def _is_of_earlier_gang(self, pod: Pod) -> bool:
        """Tell whether a pod was prepared for a gang that had this one's name before it.

        One that was made with the same things carries nothing of that gang, and is as good as
        one of this gang. Pods of earlier versions do not say for which gang they were made.
        """
        carried = pod.metadata.annotations
        made_for = carried.get(names.ANNOTATION_PODGANG_UID, self.gang_uid)
        if made_for == self.gang_uid:
            return False
        wanted = self._wanted(pod)
        return wanted is not None and carried.get(names.ANNOTATION_PREPARATION) != wanted

    def _is_ours(self, pod: Pod) -> bool:
        return pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) == self.backend

    def _wanted(self, pod: Pod) -> str | None:
        return self.members if self._is_member(pod) else self.surplus

    def _is_member(self, pod: Pod) -> bool:
        index = index_of(pod)
        return index is None or index < self.minimum

    def _was_kept(self, pod: Pod) -> bool:
        """Tell whether the server has stored what puts a pod into its gang."""
        fields = self.member_fields if self._is_member(pod) else self.surplus_fields
        if not fields:
            return True
        wanted = _in_value(fields, {"{index}": str(index_of(pod))})
        assert isinstance(wanted, dict)
        spec = pod.spec
        stored = dict(zip(_MEMBERSHIP, (spec.workload_ref, spec.scheduling_group), strict=True))
        return all(_has(stored[name], of) for name, of in wanted.items())


def index_of(pod: Pod) -> int | None:
    """The index of a pod in its PodClique; None if nobody gave it a proper one."""
    label = pod.metadata.labels.get(names.LABEL_POD_INDEX, "")
    return int(label) if label.isdecimal() and label.isascii() else None


def is_held(pod: Pod) -> bool:
    """Tell whether the gate that a pod was made with holds it; gates of others do not count."""
    made_with = pod.metadata.annotations.get(names.ANNOTATION_PREPARATION, "")
    gate, said, _ = made_with.rpartition(":")
    if not said:
        return pod.is_gated
    return any(found.name == gate for found in pod.spec.scheduling_gates)


def preparation_of(
    gang: PodGang, record: SchedulerBackendSpec | None, group: str, minimum: int
) -> Preparation:
    """What the pods of one group of a gang are made with now."""
    reference = reference_to(gang)
    if record is None:
        return Preparation(reference.backend, minimum)
    patches = [patch_for(record, gang.status, group, index, minimum) for index in (0, minimum)]
    of_member, of_surplus = (
        "" if isinstance(patch, NotYet) else digest(patch, reference, group, record)
        for patch in patches
    )
    joined, apart = (_membership(patch, reference, group) for patch in patches)
    return Preparation(
        reference.backend, minimum, of_member, of_surplus, joined, apart, reference.uid
    )


def patch_for(
    record: SchedulerBackendSpec,
    gang_status: PodGangStatus | None,
    group: str,
    index: int,
    min_available: int,
) -> PodPatch | NotYet:
    """What the backend wants on the pod with this index of this group."""
    if record.preparation.mode is PreparationMode.STATIC:
        return record.preparation.of_pod(index, min_available)
    published = _published(gang_status, group)
    # What core does not apply counts as never published, so that no pod is made with it.
    if published is None or _refusal(published, record):
        return NOT_YET
    return published.of_pod(index, min_available)


def preparation_refusal(
    record: SchedulerBackendSpec, gang_status: PodGangStatus | None, group: str
) -> str:
    """Return why what a backend published for a group is not applied; empty if it is."""
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
    """What the placeholders of a patch stand for."""
    return {
        "{namespace}": gang.namespace,
        "{gang}": gang.name,
        "{gangUID}": gang.uid,
        "{incarnation}": str(gang.incarnation),
        "{group}": group,
        "{index}": index,
    }


def prepared_spec(patch: PodPatch, values: Mapping[str, str]) -> JsonObject:
    """The fields of a pod's spec that a patch sets."""
    fields = _RENDERED.of(patch).spec
    return {key: _in_value(value, values) for key, value in fields.items()}


def must_have(
    pod: Pod, gang: PodGang, record: SchedulerBackendSpec, group: str, minimum: int
) -> JsonObject:
    """The fields of its spec without which a pod that suits its gang must not be released."""
    index = index_of(pod)
    patch = patch_for(record, gang.status, group, index or 0, minimum)
    if isinstance(patch, NotYet) or names.ANNOTATION_PREPARATION not in pod.metadata.annotations:
        return {}
    return prepared_spec(patch, placeholders(reference_to(gang), group, str(index)))


def _membership(patch: PodPatch | NotYet, gang: GangRef, group: str) -> JsonObject:
    if isinstance(patch, NotYet):
        return {}
    fields = _RENDERED.of(patch).spec
    values = placeholders(gang, group, "{index}")
    return {name: _in_value(fields[name], values) for name in _MEMBERSHIP if name in fields}


def _has(stored: msgspec.Struct | None, wanted: JsonValue) -> bool:
    found = msgspec.to_builtins(stored)
    if not isinstance(found, dict) or not isinstance(wanted, dict):
        return False
    return all(found.get(name) == value for name, value in wanted.items())


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced."""
    # One pass: what a placeholder stands for is never looked through for others.
    return _TOKEN.sub(lambda token: values[token[0]], text)


def _in_value(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str):
        return substituted(value, values)
    if isinstance(value, dict):
        return {key: _in_value(item, values) for key, item in value.items()}
    return value


def incarnation_of(gang: PodGang) -> int:
    """How often the members of a gang were made anew together."""
    return (gang.status.incarnation or 0) if gang.status is not None else 0


def reference_to(gang: PodGang) -> GangRef:
    """The gang, as its pods are made for it."""
    metadata = gang.metadata
    return GangRef(
        name=metadata.name,
        uid=metadata.uid or "",
        namespace=metadata.namespace or "",
        backend=metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, ""),
        incarnation=incarnation_of(gang),
    )


def digest(patch: PodPatch, gang: GangRef, group: str, record: SchedulerBackendSpec) -> str:
    """The gate and the patch in short; equal for all indexes, which a pod's own label has."""
    return f"{record.scheduling_gate}:{_hashed(_RENDERED.of(patch).text, gang, group)}"


@functools.lru_cache(maxsize=8192)
def _hashed(text: str, gang: GangRef, group: str) -> str:
    # The same for all pods of a group, and asked at every look at one of them.
    values = placeholders(gang, group, "{index}")
    hashed = hashlib.blake2b(substituted(text, values).encode(), digest_size=_DIGEST_BYTES)
    return hashed.hexdigest()


@dataclass(frozen=True, slots=True)
class _Rendered:
    """A patch in the two forms in which it is read, before its placeholders are replaced."""

    patch: PodPatch
    spec: JsonObject
    text: str


class _RenderedPatches:
    """Patches that were met lately. The same one is asked about for each pod of a backend."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: dict[int, _Rendered] = {}
        self._nothing = _rendered(PodPatch())

    def of(self, patch: PodPatch) -> _Rendered:
        """The forms of a patch; it is known by its identity, and kept, so that it stays itself."""
        if not patch.model_fields_set:
            # Whoever sets nothing says so with a new patch each time.
            return self._nothing
        found = self._known.get(id(patch))
        if found is None:
            found = self._known[id(patch)] = _rendered(patch)
            if len(self._known) > self._size:
                del self._known[next(iter(self._known))]
        return found


def _rendered(patch: PodPatch) -> _Rendered:
    content = patch.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    spec = patch.spec
    fields = {} if spec is None else spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _Rendered(patch, fields, text)


_RENDERED = _RenderedPatches(1024)
