"""No rule without a manifest that it refuses."""

import re

from tests.contract import (
    test_refused_cliques,
    test_refused_groups,
    test_refused_jobs,
    test_refused_other_kinds,
    test_refused_placement,
    test_refused_updates,
)
from tests.contract.schemas import all_nodes

EXPECTED = [
    message
    for table in (
        test_refused_cliques.SETS,
        test_refused_groups.SETS,
        test_refused_jobs.SETS,
        test_refused_jobs.UPDATES,
        test_refused_other_kinds.OTHERS,
        test_refused_placement.PLACEMENTS,
        test_refused_updates.REFUSED,
    )
    for *_, message in table.values()
]


def said(rule: dict[str, str]) -> set[str]:
    """What the rule may say: its message, or the words before the first number in its detail."""
    detail = re.match(r"'([^%']+)", rule.get("messageExpression", ""))
    return {rule["message"], *([detail[1]] if detail else [])}


def test_every_rule_refuses_a_manifest_in_a_test() -> None:
    untested = {
        (node.path, rule["message"])
        for node in all_nodes()
        for rule in node.schema.get("x-kubernetes-validations", [])
        if not any(words in message for words in said(rule) for message in EXPECTED)
    }
    assert untested == set()
