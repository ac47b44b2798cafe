"""Hashes of pod templates, and the ControllerRevision in which a set's templates are stored.

A hash covers only what the user wrote, as canonical JSON: spellings of the same pod spec make no
difference (`canonical`), nor do the order of keys and null fields. So a new field in the models
changes no hash. A revision stores the templates as the user wrote them, with the algorithm of their
hashes. It has the cliques by name, so their order does not matter.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from core_operator.plan.layout import naming
from core_operator.plan.layout.canonical import canonical_pod_spec
from shared_api import names
from shared_api.models import JsonObject, PodCliqueSet, PodCliqueTemplateSpec

# Twelve hexadecimal digits: a legal label value and name part, and plenty for one set's history.
_DIGEST_BYTES = 6

FIRST_ALGORITHM = "1"
"""Hashes the pod spec as it is spelled. Revisions that name no algorithm have it."""
ALGORITHM = "2"
"""Hashes the canonical form of the pod spec."""


def template_hash(clique: PodCliqueTemplateSpec, priority_class: str | None) -> str:
    """Return the hash of a clique's pod template."""
    return stored_template_hash(_template(clique), priority_class)


def revision_hash(pcs: PodCliqueSet) -> str:
    """Return the hash of all templates of a set."""
    data = _templates(pcs)
    cliques = cast("JsonObject", data["cliques"])
    return _hash({**data, "cliques": {name: _canonical(part) for name, part in cliques.items()}})


def content_hash(content: Mapping[str, object]) -> str:
    """Return the hash of any JSON object."""
    return _hash(cast("JsonObject", content))


def stored_template_hash(
    template: object, priority_class: object, algorithm: str = ALGORITHM
) -> str:
    """Return the hash of a stored template, by the current algorithm or an earlier one."""
    named = priority_class if isinstance(priority_class, str) else None
    content = cast("JsonObject", template)
    if algorithm != FIRST_ALGORITHM:
        content = cast("JsonObject", _canonical(content))
    return _hash(_with_priority(content, named))


def revision_number(
    pcs: PodCliqueSet, existing: Mapping[str, int], digest: str | None = None
) -> int:
    """Return the number of the set's revision; `existing` has the stored ones by name."""
    stored = existing.get(naming.revision_name(pcs.metadata.name, digest or revision_hash(pcs)))
    return max(existing.values(), default=0) + 1 if stored is None else stored


def revision_manifest(
    pcs: PodCliqueSet, number: int = 1, hashes: str = "", digest: str | None = None
) -> JsonObject:
    """Return the ControllerRevision of the set's templates; its data is what the user wrote.

    `hashes` is the annotation with the hashes that the templates were given, `digest` that of all.
    """
    data = _templates(pcs)
    name = naming.revision_name(pcs.metadata.name, digest or revision_hash(pcs))
    metadata: JsonObject = {
        "name": name,
        "namespace": pcs.metadata.namespace,
        "labels": {
            **naming.set_labels(pcs.metadata.name),
            names.LABEL_APP_NAME: name,
        },
        "ownerReferences": [naming.controller_reference(pcs).manifest()],
    }
    if hashes:
        metadata["annotations"] = {
            names.ANNOTATION_TEMPLATE_HASHES: hashes,
            names.ANNOTATION_HASH_ALGORITHM: ALGORITHM,
        }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "revision": number,
        "data": data,
    }


def template_annotations(clique: PodCliqueTemplateSpec) -> dict[str, str]:
    """Return the annotations that PodCliques and pods get from a clique."""
    return {
        key: value
        for key, value in clique.annotations.items()
        if key != names.ANNOTATION_TOPOLOGY_NAME
    }


def template_labels(clique: PodCliqueTemplateSpec) -> dict[str, str]:
    """Return the labels that PodCliques and pods get from a clique, without those of core."""
    return {key: value for key, value in clique.labels.items() if key not in names.OWNED_LABELS}


def _template(clique: PodCliqueTemplateSpec) -> JsonObject:
    template: JsonObject = {"podSpec": clique.spec.pod_spec}
    # Labels under grove.io/ were once ignored. In the hash they would replace the pods of such sets.
    labels = {
        key: value
        for key, value in clique.labels.items()
        if not key.startswith(names.RESERVED_PREFIX)
    }
    annotations = template_annotations(clique)
    if labels:
        template["labels"] = {**labels}
    if annotations:
        template["annotations"] = {**annotations}
    return template


def _templates(pcs: PodCliqueSet) -> JsonObject:
    cliques: JsonObject = {
        clique.name: _template(clique)
        for clique in sorted(pcs.spec.template.cliques, key=lambda clique: clique.name)
    }
    return _with_priority({"cliques": cliques}, pcs.spec.template.priority_class_name)


def _canonical(template: JsonValue) -> JsonValue:
    if not isinstance(template, dict) or not isinstance(template.get("podSpec"), dict):
        return template
    return {**template, "podSpec": canonical_pod_spec(cast("JsonObject", template["podSpec"]))}


def _with_priority(content: JsonObject, priority_class: str | None) -> JsonObject:
    return {**content, "priorityClassName": priority_class} if priority_class else content


def _hash(content: JsonObject) -> str:
    text = json.dumps(_without_nulls(content), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _without_nulls(value: JsonValue) -> JsonValue:
    # In a map null equals absence; in a list it is an element.
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value
