"""Objects that Grove's operator made: which hashes their pods have, and which finalizers to remove.

Grove's hashes cannot be computed outside of Go. So the templates of a set without a stored revision
get the hashes of those PodCliques that have the same pod spec, and no pod is replaced. Only Grove's
own finalizers are removed: no controller is left that would do it, and core sets none. Nothing here
matters to objects that core made.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from pydantic import JsonValue

from core_operator.plan.layout.canonical import canonical_pod_spec
from core_operator.plan.layout.history import StoredRevision
from core_operator.plan.layout.revisions import revision_hash, template_hash
from core_operator.plan.manifests.podcliques import CONTAINER_LISTS
from shared_api import names
from shared_api.models import JsonObject, PodClique, PodCliqueSet

_FINALIZERS = frozenset(
    {
        names.FINALIZER_GROVE_PCS,
        names.FINALIZER_GROVE_PCLQ,
        names.FINALIZER_GROVE_PCSG,
        names.FINALIZER_GROVE_COMPUTE_DOMAIN,
    }
)
_INJECTED_ENV = frozenset(
    {names.ENV_PCSG_NAME, names.ENV_PCSG_INDEX, names.ENV_PCSG_TEMPLATE_NUM_PODS}
)
_INJECTED_CLAIM = "mnnvl-claim"


def finalizer_patch(uid: str, finalizers: tuple[str, ...]) -> list[JsonObject]:
    """Return the JSON patch that removes Grove's finalizers and nothing else; empty without them."""
    places = [place for place, name in enumerate(finalizers) if name in _FINALIZERS]
    if not places:
        return []
    patch: list[JsonObject] = [{"op": "test", "path": "/metadata/uid", "value": uid}]
    # From the end: removing one moves those behind it.
    for place in reversed(places):
        path = f"/metadata/finalizers/{place}"
        patch.append({"op": "test", "path": path, "value": finalizers[place]})
        patch.append({"op": "remove", "path": path})
    return patch


def adopted_revision(pcs: PodCliqueSet, cliques: Iterable[PodClique]) -> StoredRevision | None:
    """Return the revision that existing PodCliques have, for a set of which none is stored."""
    by_role: dict[str, list[PodClique]] = {}
    for clique in cliques:
        by_role.setdefault(clique.spec.role_name, []).append(clique)
    digests: dict[str, str] = {}
    hashes: dict[str, str] = {}
    priority = pcs.spec.template.priority_class_name
    for template in pcs.spec.template.cliques:
        wanted = _comparable(template.spec.pod_spec)
        for clique in by_role.get(template.spec.role_name, ()):
            given = clique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
            if given and _comparable(clique.spec.pod_spec) == wanted:
                digests[template.name] = template_hash(template, priority)
                hashes[template.name] = given
                break
    if not hashes:
        return None
    known = pcs.status.current_generation_hash if pcs.status is not None else None
    complete = len(hashes) == len(pcs.spec.template.cliques)
    return StoredRevision(
        digests=digests, hashes=hashes, set_hash=known if known and complete else revision_hash(pcs)
    )


def _comparable(pod_spec: Mapping[str, JsonValue]) -> JsonObject:
    """Return the pod spec as the user wrote it, without what operators add to that of a PodClique."""
    found = {key: value for key, value in pod_spec.items() if key != "priorityClassName"}
    for field in CONTAINER_LISTS:
        if isinstance(containers := found.get(field), list):
            found[field] = [_without_injected(container) for container in containers]
    claims = found.get("resourceClaims")
    if isinstance(claims, list):
        found["resourceClaims"] = [claim for claim in claims if _name(claim) != _INJECTED_CLAIM]
    return canonical_pod_spec(found)


def _without_injected(container: JsonValue) -> JsonValue:
    if not isinstance(container, dict):
        return container
    found = dict(container)
    if isinstance(env := found.get("env"), list):
        found["env"] = [variable for variable in env if _name(variable) not in _INJECTED_ENV]
    resources = found.get("resources")
    if isinstance(resources, dict) and isinstance(claims := resources.get("claims"), list):
        kept = cast("JsonValue", [claim for claim in claims if _name(claim) != _INJECTED_CLAIM])
        found["resources"] = {**resources, "claims": kept}
    return found


def _name(entry: JsonValue) -> JsonValue:
    return entry.get("name") if isinstance(entry, dict) else None
