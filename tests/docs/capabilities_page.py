"""The page of what each scheduler can do, generated from the declarations of the backends.

`python -m tests.docs.capabilities_page` writes it, with `--check` it fails if it is stale.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from backend_controllers import registry
from backend_controllers.contract.declaration import Backend
from shared_api import names
from tests.docs.exploration import Answered, choices, dialects
from tests.docs.pages import write_or_check

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "capabilities.md"

_HEAD = """\
# What each scheduler can do

After reading this page you know which scheduler supports what your gangs need. It is generated from the
declarations of the backends. A backend discovers what the cluster serves and chooses a *dialect*, which is in
its record: `kubectl get schedulerbackend NAME -o yaml`. A gang that needs
a missing capability is refused with reason `Unsupported`, or moves to the next backend of its list.
Every combination that a backend distinguishes is shown, also those that no release of its scheduler has.
"""

_EVERYWHERE = """\
## All backends

What follows is done by core and by the code that all backends share, so it does not depend on a dialect.

{table}
"""

_YES = "yes"
_IN_CLUSTER = "nodes, by allocatable resources"
_FAR = "hosts, by allocatable resources"
_BY_TIMEOUT = "after `admissionTimeout`"
_AT_ONCE = "at once (`NoCapacity`)"

_SHARED: Mapping[str, tuple[str, str]] = {
    "several instances, each with its own name, settings and rights": (_YES, _YES),
    "placement policies: order, cost, performance, locality, residency": (_YES, _YES),
    "inventory": (_IN_CLUSTER, _FAR),
    "a gang that the backend rejects moves to the next candidate": ("at once", "at once"),
    "a gang for which there is no capacity moves": (_BY_TIMEOUT, _AT_ONCE),
    "[workloads that end](../jobs.md): completion, restarts of the whole gang, time limits": (
        _YES,
        _YES,
    ),
    "its objects are deleted when the jobs have ended": (_YES, _YES),
}
"""By what it is: inside the cluster, and outside of it."""

MEANINGS: Mapping[str, str] = {
    names.CAPABILITY_GANG: "all of a gang's minimum, or nothing",
    names.CAPABILITY_GANG_BY_TIMEOUT: "all of it within a timeout, or it is given back",
    names.CAPABILITY_PLAIN_SCHEDULING: "pods one by one, without a guarantee",
    names.CAPABILITY_GROUP_MINIMUMS: "a minimum for each clique",
    names.CAPABILITY_HIERARCHY: "groups within the gang",
    names.CAPABILITY_TOPOLOGY_REQUIRED_GANG: "required topology of the gang",
    names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET: "… of a scaling group's replica",
    names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP: "… of a clique",
    names.CAPABILITY_TOPOLOGY_PREFERRED_GANG: "preferred topology of the gang",
    names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP_SET: "… of a scaling group's replica",
    names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP: "… of a clique",
    names.CAPABILITY_PRIORITY: "priority of the gang",
    names.CAPABILITY_ELASTIC_SURPLUS: "pods above the minimum",
    names.CAPABILITY_RESIZE_IN_PLACE: "another minimum without a new object",
    names.CAPABILITY_RESERVATION_REUSE: "reuse the reservation of another gang",
    names.CAPABILITY_PLACEMENT_SCORE: "reports a score of the placement",
}


def render() -> str:
    """The page."""
    parts = (_part(registry.find(name)) for name in registry.MODULES)
    return "\n".join((_HEAD, _EVERYWHERE.format(table=_shared()), *parts))


def _shared() -> str:
    outside = [name in registry.FAR_SIDES for name in registry.MODULES]
    lines = [f"| | {' | '.join(registry.MODULES)} |", f"|---|{'---|' * len(outside)}"]
    for text, cells in _SHARED.items():
        lines.append(f"| {text} | {' | '.join(cells[far] for far in outside)} |")
    return "\n".join(lines)


def _part(backend: Backend) -> str:
    found = _by_dialect(backend)
    columns = sorted(found, key=lambda column: column.strip("`"))
    answers = ", ".join(f"`{glob}`" if glob else "none" for glob in backend.scheduler_names)
    lines = [
        f"## {backend.name}\n",
        f"`schedulerName` {answers}; gate `{backend.scheduling_gate}`. "
        f"Requirements and messages: [its page](../backends/{backend.name}.md).\n",
        f"| capability | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
    ]
    needs: list[str] = []
    for capability, text in MEANINGS.items():
        cells = [_cell(capability, found[column], needs) for column in columns]
        lines.append(f"| `{capability}`: {text} | {' | '.join(cells)} |")
    lines.append("")
    lines += [f"{number}. {text}" for number, text in enumerate(needs, 1)]
    return "\n".join((*lines, "")) if needs else "\n".join(lines)


def _by_dialect(backend: Backend) -> Mapping[str, Sequence[Answered]]:
    found: dict[str, list[Answered]] = {}
    for option, options in choices(backend):
        known = set(found)
        for answered in dialects(backend, options):
            name = f"`{answered.dialect.name}`"
            if not option:
                found.setdefault(name, []).append(answered)
            elif name not in known:
                found.setdefault(f"{name} (`{option}`)", []).append(answered)
    return found


def _cell(capability: str, found: Sequence[Answered], needs: list[str]) -> str:
    having = [one for one in found if capability in one.dialect.capabilities]
    if len(having) == len(found):
        return "yes"
    if not having:
        return "no"
    text = f"with {' and '.join(_deciding(having, found))}"
    if text not in needs:
        needs.append(text)
    return f"if found ({needs.index(text) + 1})"


def _deciding(having: Sequence[Answered], found: Sequence[Answered]) -> Iterator[str]:
    """Answers that are yes wherever there is the capability, and elsewhere are not always."""
    for question in having[0].answers:
        always = all(one.answers.get(question) for one in having)
        if always and not all(one.answers.get(question) for one in found):
            yield f"`{question}`"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, render(), "tests.docs.capabilities_page"))
