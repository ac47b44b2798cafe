"""How a pod joins its gang: by a label with the name of its group's PodGroup.

The name has a part that follows from the gang's UID. Koordinator counts every pod with the
label, also one of a gang of the same name that was deleted and whose pods are still going; a
PodGroup of its own name counts only pods of this gang. Surplus pods carry no label: they
would be tried with the members, and one without room would turn the whole gang away.
"""

import hashlib
from collections.abc import Iterator, Sequence

from backend_controllers.contract.queues import named_queue
from backend_controllers.koordinator.api import (
    KEY_POD_GROUP,
    KEY_QUOTA,
    KEY_TOPOLOGY_SELECTOR,
)
from backend_controllers.koordinator.options import KoordinatorInstallation
from shared_api import names
from shared_api.kube.podgangs import PodGang, PodGroup
from shared_api.kube.pods import Pod
from shared_api.models import PodPatch, PodPreparation, PodSpecPatch

LONGEST_NAME = 63
"""A PodGroup's name is the value of a label."""
_KOORDINATORS = "koord"


def pod_group_name(gang: PodGang, group: str) -> str:
    """The name of the PodGroup of one group, which is also the value of its members' label."""
    seed = f"{gang.metadata.uid}/{group}".encode()
    digest = hashlib.blake2b(seed, digest_size=4).hexdigest()
    kept = group[: LONGEST_NAME - 1 - len(digest)].rstrip("-.")
    return f"{kept}-{digest}"


def gang_groups(gang: PodGang) -> tuple[PodGroup, ...]:
    """The groups that have members. Of one whose minimum is 0 every pod is surplus."""
    return tuple(group for group in gang.spec.podgroups if group.min_replicas)


def members(gang: PodGang, pods: Sequence[Pod]) -> Iterator[tuple[PodGroup, list[Pod]]]:
    """The live members of each group that has some."""
    by_group: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.status.phase not in ("Failed", "Succeeded"):
            by_group.setdefault(pod.metadata.labels.get(KEY_POD_GROUP, ""), []).append(pod)
    for group in gang_groups(gang):
        yield group, by_group.get(pod_group_name(gang, group.name), [])


def is_placed(gang: PodGang, pods: Sequence[Pod]) -> bool:
    """Tell whether every group has its minimum on nodes."""
    return all(
        sum(bool(pod.spec.node_name) for pod in found) >= group.min_replicas
        for group, found in members(gang, pods)
    )


def preparations(
    installation: KoordinatorInstallation, gang: PodGang, *, is_gathered: bool
) -> tuple[PodPreparation, ...]:
    """What the pods of each group are made with."""
    scheduler = scheduler_of(installation, gang)
    quota = quota_of(installation, gang)
    labels = {KEY_QUOTA: quota} if quota else {}
    # By it a member that is made anew is put where the rest of the gang is, if there is room.
    # Only with a network to look at: without one it would bring Koordinator v1.8 down.
    annotations = {KEY_TOPOLOGY_SELECTOR: "{gangUID}"} if is_gathered else {}
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
    """A patch that says nothing about what it leaves alone."""
    stated = {"labels": labels, "annotations": annotations}
    spec = PodSpecPatch(scheduler_name=scheduler)
    return PodPatch.model_validate({key: of for key, of in stated.items() if of} | {"spec": spec})


def scheduler_of(installation: KoordinatorInstallation, gang: PodGang) -> str:
    """The profile that the cliques name, if it is one of Koordinator's."""
    named = gang.metadata.labels.get(names.LABEL_SCHEDULER_NAME, "")
    return named if _KOORDINATORS in named else installation.options.scheduler_name


def quota_of(installation: KoordinatorInstallation, gang: PodGang) -> str:
    """The quota that the gang is to be counted against; empty if nobody names one."""
    return named_queue(gang, KEY_QUOTA) or installation.options.default_quota or ""
