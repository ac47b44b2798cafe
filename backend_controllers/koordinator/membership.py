"""How a pod joins its gang: by a label with the name of its group's PodGroup.

The name contains a digest of the gang's UID. Koordinator counts every pod with the label, also
terminating pods of a deleted gang of the same name; with a name of its own, a PodGroup counts only
pods of this gang. Surplus pods have no label: Koordinator would try them with the members, and
one surplus pod that does not fit would reject the whole gang.
"""

import hashlib
from collections.abc import Iterator, Sequence

from backend_controllers.contract.queues import named_queue
from backend_controllers.koordinator.api import KEY_POD_GROUP, KEY_QUOTA, KEY_TOPOLOGY_SELECTOR
from backend_controllers.koordinator.installation import KoordinatorInstallation
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGroup
from shared_api.kube.pods import Pod
from shared_api.models import PodPatch, PodPreparation, PodSpecPatch

LONGEST_NAME = 63
"""A PodGroup's name is the value of a label."""


def pod_group_name(gang: ObservedPodGang, group: str) -> str:
    """Return the name of a group's PodGroup, which is also the label value of its members."""
    seed = f"{gang.metadata.uid}/{group}".encode()
    digest = hashlib.blake2b(seed, digest_size=4).hexdigest()
    kept = group[: LONGEST_NAME - 1 - len(digest)].rstrip("-.")
    return f"{kept}-{digest}"


def gang_groups(gang: ObservedPodGang) -> tuple[ObservedPodGroup, ...]:
    """Return the groups that have members. In a group with minimum 0 every pod is surplus."""
    return tuple(group for group in gang.spec.podgroups if group.min_replicas)


def members(
    gang: ObservedPodGang, pods: Sequence[Pod]
) -> Iterator[tuple[ObservedPodGroup, list[Pod]]]:
    """Yield each group that has members, with those that have not failed."""
    by_group: dict[str, list[Pod]] = {}
    for pod in pods:
        if not pod.has_failed:
            by_group.setdefault(pod.metadata.labels.get(KEY_POD_GROUP, ""), []).append(pod)
    for group in gang_groups(gang):
        yield group, by_group.get(pod_group_name(gang, group.name), [])


def is_scheduled(gang: ObservedPodGang, pods: Sequence[Pod]) -> bool:
    """Tell whether the minimum of every group is bound."""
    return all(
        sum(pod.is_bound for pod in found) >= group.min_replicas
        for group, found in members(gang, pods)
    )


def preparations(
    installation: KoordinatorInstallation, gang: ObservedPodGang, *, is_packed: bool
) -> tuple[PodPreparation, ...]:
    """Return the patches that the pods of each group are created with."""
    profile = gang.metadata.labels.get(names.LABEL_SCHEDULER_NAME, "")
    scheduler = profile if "koord" in profile else installation.options.scheduler_name
    quota = named_queue(gang, KEY_QUOTA) or installation.options.default_quota
    labels = {KEY_QUOTA: quota} if quota else {}
    # It schedules a recreated member close to the rest of the gang if there is capacity. It needs
    # a network topology: without one it crashes Koordinator v1.8.
    annotations = {KEY_TOPOLOGY_SELECTOR: "{gangUID}"} if is_packed else {}
    surplus = _patch(scheduler, labels, {})
    return tuple(
        PodPreparation(
            name=group.name,
            members=_patch(
                scheduler, {**labels, KEY_POD_GROUP: pod_group_name(gang, group.name)}, annotations
            ),
            surplus=surplus,
        )
        for group in gang.spec.podgroups
    )


def _patch(scheduler: str, labels: dict[str, str], annotations: dict[str, str]) -> PodPatch:
    """Return a patch in which empty maps are unset."""
    stated = {"labels": labels, "annotations": annotations}
    spec = PodSpecPatch(scheduler_name=scheduler)
    return PodPatch.model_validate({key: of for key, of in stated.items() if of} | {"spec": spec})
