"""Whether everything of a set is as it must be after the last damage.

It reads what a user sees, and returns a sentence for each defect.
"""

from collections.abc import Iterator

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from shared_api import names
from shared_api.kube.resources import CONTROLLER_REVISIONS, SERVICES
from tests.core.kit import Onlooker

FORGED = "Forged"
"""The reason of conditions that the product did not write."""
WITH_STATUS = (SETS, CLIQUES, GROUPS, GANGS)
"""The kinds with a status."""


def unhealed(person: Onlooker) -> list[str]:
    """What is wrong."""
    checks = (_statuses, _sizes, _gangs, _members, _others)
    return [wrong for check in checks for wrong in check(person)]


def _statuses(person: Onlooker) -> Iterator[str]:
    for kind in WITH_STATUS:
        for one in person.all(kind):
            conditions = one.status.get("conditions", [])
            forged = [entry["type"] for entry in conditions if entry["reason"] == FORGED]
            if not conditions or forged:
                yield f"{kind.kind} {one.metadata.name} has no true status: {forged}"


def _sizes(person: Onlooker) -> Iterator[str]:
    for clique in person.all(CLIQUES):
        live, reported = len(person.pods_of(clique.metadata.name)), clique.status.get("replicas")
        if not live == reported == clique.spec["replicas"]:
            yield f"PodClique {clique.metadata.name} has {live} pods and reports {reported}"


def _gangs(person: Onlooker) -> Iterator[str]:
    for gang in person.all(GANGS):
        if (phase := gang.status.get("phase")) != "Running":
            yield f"PodGang {gang.metadata.name} has the phase {phase}"


def _members(person: Onlooker) -> Iterator[str]:
    listed = {
        (gang.metadata.name, reference["name"])
        for gang in person.all(GANGS)
        for group in gang.spec["podgroups"]
        for reference in group["podReferences"]
    }
    for pod in person.pods:
        gang = pod.metadata.labels.get(names.LABEL_PODGANG)
        if (gang, pod.metadata.name) not in listed:
            yield f"pod {pod.metadata.name} is not in its gang {gang}"


def _others(person: Onlooker) -> Iterator[str]:
    for pcs in person.all(SETS):
        wanted = {f"{pcs.metadata.name}-{index}" for index in range(pcs.spec["replicas"])}
        if missing := wanted - set(person.names(SERVICES)):
            yield f"Services are missing: {sorted(missing)}"
    if not person.all(CONTROLLER_REVISIONS):
        yield "there is no ControllerRevision"
