"""The page of concepts explains every reason, event and condition, and no other."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import backend_controllers.generic
import core_operator
from backend_controllers import registry
from backend_controllers.generic.gang_results import GangStage
from core_operator.plan.pods.disruption import DisruptionCause
from core_operator.plan.release import WaitingFor
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from crdgen.kinds import KINDS
from shared_api import names
from tests.docs.condition_authors import written_conditions

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "concepts.md").read_text()
# Conditions whose own names are reasons.
BY_THEMSELVES = {names.CONDITION_MIN_AVAILABLE_BREACHED, names.CONDITION_RELEASED}
# Events that bear the name of the condition that begins.
BEGUN = {names.CONDITION_GANG_TERMINATION_PENDING}


def modules(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def constants(*packages: ModuleType) -> set[str]:
    """Values of REASON_ and EVENT_ constants."""
    return {
        value
        for package in packages
        for module in modules(package)
        for name, value in vars(module).items()
        if name.startswith(("REASON_", "EVENT_")) and isinstance(value, str)
    }


def in_code() -> set[str]:
    words = constants(core_operator, backend_controllers.generic)
    words |= {value for name, value in vars(names).items() if name.startswith("REASON_")}
    for enumeration in (BlockingReason, WaitingFor, GangStage, DisruptionCause):
        words |= {member.value for member in enumeration if member.value}
    return words | BY_THEMSELVES | BEGUN


def on_page() -> set[str]:
    _, _, part = PAGE.partition("\n## Reasons\n")
    return set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE))


def test_every_reason_and_event_is_explained() -> None:
    assert in_code() - on_page() == set()


def test_nothing_is_explained_that_does_not_exist() -> None:
    assert on_page() - in_code() == set()


def test_what_requires_manual_action_is_marked() -> None:
    _, _, part = PAGE.partition("### Why a gang or a set is not ready")
    part, _, _ = part.partition("\n### ")
    cures = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", part, re.MULTILINE))
    assert set(cures) == {reason.value for reason in BlockingReason}
    for reason in BlockingReason:
        assert (cures[reason.value] == "manual action") == Blocker(reason, "").stalled, reason


def test_every_kind_is_explained() -> None:
    _, _, part = PAGE.partition("\n## The objects\n")
    part, _, _ = part.partition("\n## ")
    shown = re.findall(r"^\| (\w+)(?: \(`\w+`\))? \|", part, re.MULTILINE)
    assert set(shown) - {"object"} == {kind.model.KIND for kind in KINDS}


def test_a_reason_of_a_condition_is_explained_once() -> None:
    for section in PAGE.split("\n### "):
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE)
        assert len(rows) == len(set(rows)), [row for row in rows if rows.count(row) > 1]


def test_every_condition_is_explained() -> None:
    _, _, part = PAGE.partition("\n## Conditions\n")
    part, _, _ = part.partition("\n## ")
    shown = set(re.findall(r"^\|[^|]*\| `(\w+)` \|", part, re.MULTILINE))
    declared = {value for name, value in vars(names).items() if name.startswith("CONDITION_")}
    # Grove's word, kept for its tools; nobody writes it.
    assert shown == declared - {names.CONDITION_UNHEALTHY}


def test_every_condition_is_set_by_code() -> None:
    declared = {name for name in vars(names) if name.startswith("CONDITION_")}
    found = written_conditions("core_operator", "backend_controllers")
    # Grove's word, kept for its tools; nobody writes it.
    assert declared - found == {"CONDITION_UNHEALTHY"}


def test_each_backend_explains_its_own_reasons() -> None:
    for name in registry.MODULES:
        package = importlib.import_module(registry.MODULES[name])
        page = (DOCS / "backends" / f"{name}.md").read_text()
        own = constants(package) if hasattr(package, "__path__") else set()
        assert {word for word in own if f"`{word}`" not in page} == set()
