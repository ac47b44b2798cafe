"""The files of deploy/monitoring are what the descriptions say, and fit what they are made for."""

import json

import yaml

from crdgen.kinds import KINDS
from crdgen.structural import structural_schema
from monitoring.__main__ import DASHBOARDS, DIRECTORY, main, render
from monitoring.objects import OBSERVED
from monitoring.panels import COLUMNS


def test_nothing_is_stale() -> None:
    assert main(["--check"]) == 0, "run: python -m monitoring"


def test_the_two_rule_files_report_the_same() -> None:
    plain = yaml.safe_load((DIRECTORY / "rules/podgang.rules.yaml").read_text())
    wrapped = yaml.safe_load((DIRECTORY / "rules/prometheusrule.yaml").read_text())
    assert wrapped["spec"] == plain


def test_every_dashboard_has_a_config_map() -> None:
    listed = yaml.safe_load((DIRECTORY / "dashboards/kustomization.yaml").read_text())
    files = [file for entry in listed["configMapGenerator"] for file in entry["files"]]
    assert sorted(files) == sorted(f"podgang-{one.name}.json" for one in DASHBOARDS)
    assert sorted(path.name for path in (DIRECTORY / "dashboards").glob("*.json")) == sorted(files)


def test_no_two_panels_lie_on_each_other() -> None:
    for name, content in render().items():
        if not name.endswith(".json"):
            continue
        taken: set[tuple[int, int]] = set()
        for panel in json.loads(content)["panels"]:
            at = panel["gridPos"]
            assert at["x"] + at["w"] <= COLUMNS
            cells = {
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            }
            assert not cells & taken, f"{name}: {panel['title']}"
            taken |= cells


def test_what_kube_state_metrics_reads_is_in_the_objects() -> None:
    schemas = {kind.model.KIND: structural_schema(kind.model) for kind in KINDS}
    for kind in OBSERVED:
        for told in kind.metrics:
            if told.path[0] == "metadata":
                continue
            node: object = schemas[kind.kind]
            for part in told.path:
                assert isinstance(node, dict)
                node = node["properties"][part]
