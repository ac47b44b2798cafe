"""What core would make of a PodCliqueSet: its backend, its gangs and their placement.

This is the only module of the command line that imports core. It calls core's own pure plan, so a
prediction and the operator cannot differ. It must not import anything of core that reads or writes.
The backend that core uses by default is a setting of core, which users may not be able to read, so
it is an argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import ValidationError

from core_operator.plan.layout.expansion import clashing_names, expand
from core_operator.plan.manifests.podgangs import gang_manifest
from core_operator.plan.placement.backends import Choice, RegisteredBackend, choose, needs_of
from core_operator.plan.placement.gang_placement import wanted_placement
from core_operator.plan.placement.topology import Topology, resolve, topology_name
from gangctl.snapshot import condition
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.models import PodCliqueSet, SchedulerBackendSpec


@dataclass(frozen=True)
class Prediction:
    """The gangs of a set as core would write them, and why it would not."""

    choice: Choice
    topology: Topology
    gangs: tuple[LooseObject, ...]
    pod_specs: Mapping[str, Mapping[str, Any]]
    """Pod spec by the name of the PodClique."""
    refusal: str = ""
    """Why core would create nothing."""


def parsed_set(manifest: Mapping[str, Any]) -> PodCliqueSet | str:
    """Return the set, or what is wrong with its manifest."""
    try:
        return PodCliqueSet.model_validate(manifest)
    except ValidationError as error:
        found = error.errors()[0]
        path = ".".join(str(part) for part in found["loc"])
        return f"{path}: {found['msg']}"


def predict(
    pcs: PodCliqueSet,
    records: Sequence[LooseObject],
    bindings: Sequence[LooseObject],
    default: str,
) -> Prediction:
    """Return what core would make of a set with these backends and bindings."""
    choice = choose(pcs, needs_of(pcs), _registered(records), default, None, released=False)
    topology = resolve(pcs, _levels(bindings, topology_name(pcs)))
    expansion = expand(pcs, {})
    clashes = clashing_names(expansion)
    refusal = expansion.too_large
    if clashes:
        refusal = f"Cliques would have the same name: {', '.join(clashes)}. Rename one of them"
    gangs = tuple(
        msgspec.convert(
            gang_manifest(pcs, gang, choice, wanted_placement(pcs, gang, topology)), LooseObject
        )
        for gang in expansion.gangs
        if gang.cliques
    )
    specs = {clique.name: clique.template.spec.pod_spec for clique in expansion.cliques}
    return Prediction(choice, topology, gangs, specs, refusal)


def _levels(bindings: Sequence[LooseObject], name: str) -> dict[str, str] | None:
    for binding in bindings:
        if binding.metadata.name == name:
            return {level["domain"]: level["key"] for level in binding.spec.get("levels") or ()}
    return None


def _registered(records: Sequence[LooseObject]) -> dict[str, RegisteredBackend]:
    found = {}
    for item in records:
        name = item.metadata.name
        available = condition(item, names.CONDITION_AVAILABLE)
        try:
            spec = SchedulerBackendSpec.model_validate(item.spec)
        except ValidationError:
            # Written for another version of the contract: core does not use it either.
            continue
        is_available = available.get("status") == "True"
        found[name] = RegisteredBackend(
            name,
            spec,
            is_available,
            available.get("message", ""),
            unavailable_because=available.get("reason") or names.REASON_BACKEND_UNAVAILABLE,
        )
    return found
