"""Names, labels and owners of everything that core creates; the names are Grove's.

Names contain indexes between hyphens and are never parsed: labels and owners show what an object
belongs to. Label builders return a new dict each time. Callers merge template labels below these.
"""

from collections.abc import Mapping

from shared_api import names
from shared_api.models import JsonObject, KubeObject, OwnerReference, PodClique, PodCliqueSet

_LAST_APPLIED_PREFIX = "kubectl.kubernetes.io/"


def podclique_name(pcs: str, pcs_index: int, clique: str) -> str:
    """Return the name of a standalone PodClique."""
    return f"{pcs}-{pcs_index}-{clique}"


def group_name(pcs: str, pcs_index: int, group: str) -> str:
    """Return the name of a PodCliqueScalingGroup."""
    return f"{pcs}-{pcs_index}-{group}"


def group_podclique_name(group: str, group_index: int, clique: str) -> str:
    """Return the name of a PodClique of one group replica; `group` is the full name."""
    return f"{group}-{group_index}-{clique}"


def base_gang_name(pcs: str, pcs_index: int) -> str:
    """Return the name of the gang with the minimum of one replica."""
    return f"{pcs}-{pcs_index}"


def scaled_gang_name(group: str, number: int) -> str:
    """Return the name of the gang of a group replica above the minimum, counted from zero."""
    return f"{group}-{number}"


def service_name(pcs: str, pcs_index: int) -> str:
    """Return the headless Service of one replica, which is the subdomain of its pods."""
    return f"{pcs}-{pcs_index}"


def hostname(podclique: str, pod_index: int) -> str:
    """Return the host name of a pod."""
    return f"{podclique}-{pod_index}"


def headless_address(
    pcs: str, pcs_index: int, namespace: str, cluster_domain: str = "cluster.local"
) -> str:
    """Return the DNS name of one replica's headless Service."""
    return f"{service_name(pcs, pcs_index)}.{namespace}.svc.{cluster_domain}"


def revision_name(pcs: str, revision_hash: str) -> str:
    """Return the name of the ControllerRevision that stores one version of the templates."""
    return f"{pcs}-{revision_hash}"


def set_labels(pcs: str) -> dict[str, str]:
    """Return the labels of everything that belongs to a set."""
    return {names.LABEL_MANAGED_BY: names.MANAGED_BY, names.LABEL_PART_OF: pcs}


def replica_labels(pcs: str, pcs_index: int) -> dict[str, str]:
    """Return the labels of everything that belongs to one replica of a set."""
    return {**set_labels(pcs), names.LABEL_PCS_REPLICA_INDEX: str(pcs_index)}


def service_labels(pcs: str, pcs_index: int) -> dict[str, str]:
    """Return the labels of a headless Service."""
    return {
        **replica_labels(pcs, pcs_index),
        names.LABEL_APP_NAME: service_name(pcs, pcs_index),
        names.LABEL_COMPONENT: names.COMPONENT_HEADLESS_SERVICE,
    }


def group_labels(pcs: str, pcs_index: int, group: str) -> dict[str, str]:
    """Return the labels of a PodCliqueScalingGroup; `group` is its full name."""
    return {
        **replica_labels(pcs, pcs_index),
        names.LABEL_APP_NAME: group,
        names.LABEL_COMPONENT: names.COMPONENT_PCSG,
    }


def podclique_labels(
    pcs: str, pcs_index: int, name: str, gang: str, template_hash: str
) -> dict[str, str]:
    """Return the labels of a standalone PodClique."""
    return {
        **replica_labels(pcs, pcs_index),
        names.LABEL_APP_NAME: name,
        names.LABEL_COMPONENT: names.COMPONENT_PCS_PODCLIQUE,
        names.LABEL_PODGANG: gang,
        names.LABEL_POD_TEMPLATE_HASH: template_hash,
    }


def group_member_labels(group: str, group_index: int, base_gang: str | None) -> dict[str, str]:
    """Return the further labels of a group's PodClique; `base_gang` if its gang is scaled."""
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
    """Return the labels of a pod: those of its PodClique, its name and the index."""
    return {
        **podclique_labels,
        names.LABEL_PODCLIQUE: podclique,
        names.LABEL_POD_INDEX: str(pod_index),
    }


def gang_labels(pcs: str, pcs_index: int, base_gang: str | None) -> dict[str, str]:
    """Return the labels of a PodGang, without those of its backend."""
    labels = {
        **replica_labels(pcs, pcs_index),
        names.LABEL_COMPONENT: names.COMPONENT_PODGANG,
    }
    if base_gang is not None:
        labels[names.LABEL_BASE_PODGANG] = base_gang
    return labels


def is_inherited(key: str) -> bool:
    """Return whether a label or annotation of a set is copied to its gangs.

    Our keys concern the set only; kubectl's annotation contains the whole set.
    """
    return not key.startswith((names.RESERVED_PREFIX, _LAST_APPLIED_PREFIX))


def has_replica_index(podclique: PodClique) -> bool:
    """Return whether the label with the replica index of a PodClique is valid."""
    index = podclique.metadata.labels.get(names.LABEL_PCS_REPLICA_INDEX, "0")
    return index.isdecimal() and index.isascii()


def controller_reference(owner: KubeObject) -> OwnerReference:
    """Return the reference by which an object is garbage-collected with its owner."""
    return OwnerReference(
        api_version=owner.API_VERSION,
        kind=owner.KIND,
        name=owner.metadata.name,
        uid=owner.metadata.uid or "",
        controller=True,
        block_owner_deletion=True,
    )


def controlled_by(owner: KubeObject) -> JsonObject:
    """Return the same reference as JSON, without a model: it is built for every object."""
    return {
        "apiVersion": owner.API_VERSION,
        "kind": owner.KIND,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid or "",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_protection(pcs: PodCliqueSet, manifest: JsonObject) -> JsonObject:
    """Return a child's manifest; without protection if the set asks for that, as in Grove.

    Policies see only the child, so its annotation repeats that of the set.
    """
    key = names.ANNOTATION_DISABLE_PROTECTION
    if pcs.metadata.annotations.get(key) != "true":
        return manifest
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    own = metadata.get("annotations")
    annotations: JsonObject = {**(own if isinstance(own, dict) else {}), key: "true"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
