"""Alerts and recording rules as data, and their conversion to Prometheus' two file formats.

The plain rules file and the PrometheusRule have the same groups. Every alert has a severity, a
description with its value, and a runbook: the page with its name in docs/runbooks. The runbook is a
URL if mkdocs.yml has a `site_url`, and a path otherwise, so that no link is dead.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

Severity = Literal["critical", "warning", "info"]
_SITE = re.compile(r"^site_url: (\S+?)/?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Alert:
    """An alerting rule."""

    name: str
    expression: str
    wait: str
    severity: Severity
    summary: str
    description: str

    @property
    def full_name(self) -> str:
        """Name in Prometheus and of the runbook."""
        return f"Podgang{self.name}"

    def to_rule(self, site: str) -> dict[str, Value]:
        """Return the rule; `site` is the URL of the documentation or empty."""
        page = f"runbooks/{self.full_name}"
        return {
            "alert": self.full_name,
            "expr": self.expression,
            "for": self.wait,
            "labels": {"severity": self.severity},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                **({"runbook_url": f"{site}/{page}/"} if site else {"runbook": f"docs/{page}.md"}),
            },
        }


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule."""

    name: str
    expression: str

    def to_rule(self, site: str) -> dict[str, Value]:  # noqa: ARG002
        """Return the rule."""
        return {"record": self.name, "expr": self.expression}


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that Prometheus evaluates in order."""

    name: str
    rules: tuple[Alert | Recording, ...]


def site_of(configuration: Path) -> str:
    """Return the URL of the documentation from mkdocs.yml, or an empty string."""
    found = _SITE.search(configuration.read_text())
    return "" if found is None else found[1]


def rules_file(groups: tuple[Group, ...], site: str) -> dict[str, Value]:
    """Return the file for `rule_files` of Prometheus."""
    return {
        "groups": [
            {"name": group.name, "rules": [rule.to_rule(site) for rule in group.rules]}
            for group in groups
        ]
    }


def prometheus_rule(groups: tuple[Group, ...], site: str) -> dict[str, Value]:
    """Return the same groups for the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "podgang",
            "namespace": "grove-system",
            "labels": {"app.kubernetes.io/part-of": "podgang"},
        },
        "spec": rules_file(groups, site),
    }
