"""Rules and dashboards name only metrics, labels and words that exist."""

import re
from collections.abc import Iterator

import pytest

from core_operator.plan.pods.disruption import DisruptionCause
from core_operator.plan.statuses.reasons import BlockingReason
from monitoring.__main__ import DASHBOARDS
from monitoring.catalogue import ALERTS, GROUPS
from monitoring.objects import GANG
from tests.docs.metrics_page import PAGE
from tests.monitoring.declared import everything, of_objects, of_programs
from tests.monitoring.promql import uses

STATES = {"Refused", "NotProgrammed", "Pending", "Starting", "Running"}


def expressions() -> Iterator[tuple[str, str]]:
    for group in GROUPS:
        for rule in group.rules:
            yield rule.name, rule.expression
    for dashboard in DASHBOARDS:
        for panel in dashboard.panels:
            for query in panel.queries:
                yield f"{dashboard.name}: {panel.title}", query.expression


ALL = sorted(set(expressions()))


@pytest.mark.parametrize(("where", "expression"), ALL, ids=[where for where, _ in ALL])
def test_every_metric_and_label_exists(where: str, expression: str) -> None:
    declared = everything()
    found = uses(expression)
    assert found.selectors
    for metric, matchers in found.selectors:
        assert metric in declared, f"nobody exports {metric}"
        assert set(matchers) <= declared[metric], f"{metric} has no {matchers}"
    reachable = set().union(*(declared[metric] for metric in found.metrics))
    assert found.grouping <= reachable


def test_messages_in_matchers_are_those_of_the_code() -> None:
    for where, expression in ALL:
        for metric, matchers in uses(expression).selectors:
            if "grove_gangs_blocked" in metric and "reason" in matchers:
                named = set(matchers["reason"].split("|"))
                assert named <= {reason.value for reason in BlockingReason}, where
            if "backend_gangs" in metric and "state" in matchers:
                assert matchers["state"] in STATES, where
            if "cause" in matchers:
                assert matchers["cause"] in {cause.value for cause in DisruptionCause}, where


def test_every_panel_of_one_gang_needs_only_kube_state_metrics() -> None:
    named = {
        metric
        for panel in GANG.panels
        for q in panel.queries
        for metric in uses(q.expression).metrics
    }
    assert named == set(of_objects())


def test_every_metric_that_we_declare_is_in_a_rule_or_on_a_dashboard() -> None:
    shown = set().union(*(uses(expression).metrics for _, expression in ALL))
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown}
    listed = set(re.findall(r"^\| `(\w+)`", PAGE.read_text(), re.MULTILINE))
    assert listed - families == set()


def test_variables_and_legends_use_labels_that_exist() -> None:
    known = everything()
    for dashboard in DASHBOARDS:
        for variable in dashboard.variables:
            asked = re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", variable.source)
            assert asked is not None
            assert asked[2] in known[asked[1]]
        for panel in dashboard.panels:
            for query in panel.queries:
                found = uses(query.expression)
                reachable = found.grouping or set().union(*(known[m] for m in found.metrics))
                assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= reachable, panel.title


def test_what_an_alert_quotes_is_in_its_result() -> None:
    known = everything()
    for alert in ALERTS:
        quoted = set(re.findall(r"\$labels\.(\w+)", alert.description))
        found = uses(alert.expression)
        # Grouping inside `on` is not what remains, but it never has more than the metric.
        left = found.grouping or set()
        if not re.match(r"(sum|max|min) by|histogram_quantile", alert.expression):
            left = set(known[found.selectors[0][0]])
        assert quoted <= left, alert.name


def test_runtime_metrics_of_other_operators_are_left_out() -> None:
    ours = {name for name in of_programs() if not name.startswith(("grove_", "backend_"))}
    for where, expression in ALL:
        for metric, matchers in uses(expression).selectors:
            if metric in ours:
                assert {"job", "name"} & set(matchers), f"{where} takes anybody's {metric}"
