"""Alerts and recording rules as values, and as the two files that Prometheus reads.

The plain rules file and the PrometheusRule hold the same groups. Every alert has a severity, a
sentence with the value in it, and its runbook, which is the page of its name in docs/runbooks:
its address, if mkdocs.yml says where the pages are published, and its path otherwise. No link
leads to a place that does not exist.
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
    """Something that a person should know."""

    name: str
    expression: str
    wait: str
    severity: Severity
    summary: str
    description: str

    @property
    def full_name(self) -> str:
        """The name as Prometheus and the runbook have it."""
        return f"Podgang{self.name}"

    def to_rule(self, site: str) -> dict[str, Value]:
        """The rule, with the address of the site or none."""
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
    """Something that is computed once for all who ask."""

    name: str
    expression: str

    def to_rule(self, site: str) -> dict[str, Value]:  # noqa: ARG002
        """The rule."""
        return {"record": self.name, "expr": self.expression}


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated one after the other."""

    name: str
    rules: tuple[Alert | Recording, ...]


def site_of(configuration: Path) -> str:
    """The address of the documentation, from mkdocs.yml; empty if it is published nowhere."""
    found = _SITE.search(configuration.read_text())
    return "" if found is None else found[1]


def rules_file(groups: tuple[Group, ...], site: str) -> dict[str, Value]:
    """The file for `rule_files` of a Prometheus without an operator."""
    return {
        "groups": [
            {"name": group.name, "rules": [rule.to_rule(site) for rule in group.rules]}
            for group in groups
        ]
    }


def prometheus_rule(groups: tuple[Group, ...], site: str) -> dict[str, Value]:
    """The same for the Prometheus operator."""
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
