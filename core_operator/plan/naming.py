"""Names, labels and owners of everything that core creates; the names are Grove's.

Indexes are decimal numbers between hyphens. No name is ever taken apart again: whoever needs
to know what an object belongs to reads its labels or its owner. Label builders return a new
dict each time. Template labels are merged by the caller, below these.
"""

from collections.abc import Mapping

from shared_api import names
from shared_api.models import JsonObject, KubeObject, OwnerReference, PodClique

_LAST_APPLIED_PREFIX = "kubectl.kubernetes.io/"


def podclique_name(pcs: str, pcs_index: int, clique: str) -> str:
    """A PodClique that stands alone."""
    return f"{pcs}-{pcs_index}-{clique}"


def group_name(pcs: str, pcs_index: int, group: str) -> str:
    """A PodCliqueScalingGroup."""
    return f"{pcs}-{pcs_index}-{group}"


def group_podclique_name(group: str, group_index: int, clique: str) -> str:
    """A PodClique of one replica of a scaling group; `group` is the full name."""
    return f"{group}-{group_index}-{clique}"


def base_gang_name(pcs: str, pcs_index: int) -> str:
    """The gang that holds the minimum of one replica."""
    return f"{pcs}-{pcs_index}"


def scaled_gang_name(group: str, number: int) -> str:
    """The gang of a group replica above the minimum; these are counted from zero."""
    return f"{group}-{number}"


def service_name(pcs: str, pcs_index: int) -> str:
    """The headless Service of one replica, and the subdomain of its pods."""
    return f"{pcs}-{pcs_index}"


def hostname(podclique: str, pod_index: int) -> str:
    """The host name of a pod."""
    return f"{podclique}-{pod_index}"


def headless_address(
    pcs: str, pcs_index: int, namespace: str, cluster_domain: str = "cluster.local"
) -> str:
    """Where the pods of one replica find each other."""
    return f"{service_name(pcs, pcs_index)}.{namespace}.svc.{cluster_domain}"


def revision_name(pcs: str, revision_hash: str) -> str:
    """The ControllerRevision that stores one version of the templates."""
    return f"{pcs}-{revision_hash}"


def set_labels(pcs: str) -> dict[str, str]:
    """What everything that belongs to a set carries."""
    return {names.LABEL_MANAGED_BY: names.MANAGED_BY, names.LABEL_PART_OF: pcs}


def replica_labels(pcs: str, pcs_index: int) -> dict[str, str]:
    """What everything that belongs to one replica of a set can be selected by."""
    return {**set_labels(pcs), names.LABEL_PCS_REPLICA_INDEX: str(pcs_index)}


def service_labels(pcs: str, pcs_index: int) -> dict[str, str]:
    """Labels of a headless Service."""
    return {
        **replica_labels(pcs, pcs_index),
        names.LABEL_APP_NAME: service_name(pcs, pcs_index),
        names.LABEL_COMPONENT: names.COMPONENT_HEADLESS_SERVICE,
    }


def group_labels(pcs: str, pcs_index: int, group: str) -> dict[str, str]:
    """Labels of a PodCliqueScalingGroup; `group` is its full name."""
    return {
        **replica_labels(pcs, pcs_index),
        names.LABEL_APP_NAME: group,
        names.LABEL_COMPONENT: names.COMPONENT_PCSG,
    }


def autoscaler_labels(pcs: str, target: str) -> dict[str, str]:
    """Labels of a HorizontalPodAutoscaler; it has the full name of what it scales."""
    return {
        **set_labels(pcs),
        names.LABEL_APP_NAME: target,
        names.LABEL_COMPONENT: names.COMPONENT_HPA,
    }


def podclique_labels(
    pcs: str, pcs_index: int, name: str, gang: str, template_hash: str
) -> dict[str, str]:
    """Labels of a PodClique that stands alone."""
    return {
        **replica_labels(pcs, pcs_index),
        names.LABEL_APP_NAME: name,
        names.LABEL_COMPONENT: names.COMPONENT_PCS_PODCLIQUE,
        names.LABEL_PODGANG: gang,
        names.LABEL_POD_TEMPLATE_HASH: template_hash,
    }


def group_member_labels(group: str, group_index: int, base_gang: str | None) -> dict[str, str]:
    """What a PodClique of a scaling group carries on top; `base_gang` if its gang is scaled."""
    labels = {
        names.LABEL_COMPONENT: names.COMPONENT_PCSG_PODCLIQUE,
        names.LABEL_PCSG: group,
        names.LABEL_PCSG_REPLICA_INDEX: str(group_index),
    }
    if base_gang is not None:
        labels[names.LABEL_BASE_PODGANG] = base_gang
    return labels


def pod_labels(
    podclique: str, podclique_labels: Mapping[str, str], pod_index: int
) -> dict[str, str]:
    """Labels of a pod: those of its PodClique, and which pod of it this is."""
    return {
        **podclique_labels,
        names.LABEL_PODCLIQUE: podclique,
        names.LABEL_POD_INDEX: str(pod_index),
    }


def gang_labels(pcs: str, pcs_index: int, base_gang: str | None) -> dict[str, str]:
    """Labels of a PodGang, without those that choose its backend."""
    labels = {
        **replica_labels(pcs, pcs_index),
        names.LABEL_COMPONENT: names.COMPONENT_PODGANG,
    }
    if base_gang is not None:
        labels[names.LABEL_BASE_PODGANG] = base_gang
    return labels


def is_inherited(key: str) -> bool:
    """Tell whether a label or annotation of a set is copied to its gangs.

    Ours is not, since it says something about the set alone; kubectl's is not, since its
    copy of the whole object would be in every gang.
    """
    return not key.startswith((names.RESERVED_PREFIX, _LAST_APPLIED_PREFIX))


def has_replica_index(podclique: PodClique) -> bool:
    """Tell whether a PodClique says in which replica of its set it is; its pods are told so."""
    index = podclique.metadata.labels.get(names.LABEL_PCS_REPLICA_INDEX, "0")
    return index.isdecimal() and index.isascii()


def controller_reference(owner: KubeObject) -> OwnerReference:
    """The reference that makes an object go away with its owner."""
    return OwnerReference(
        api_version=owner.API_VERSION,
        kind=owner.KIND,
        name=owner.metadata.name,
        uid=owner.metadata.uid or "",
        controller=True,
        block_owner_deletion=True,
    )


def controlled_by(owner: KubeObject) -> JsonObject:
    """The same reference as it is sent; made for every object, so without a model in between."""
    return {
        "apiVersion": owner.API_VERSION,
        "kind": owner.KIND,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid or "",
        "controller": True,
        "blockOwnerDeletion": True,
    }
