"""Dashboards as data, and their conversion to Grafana's JSON.

A dashboard has rows of panels. A panel has a title and queries. This module computes positions and
identifiers: panels go from left to right and wrap at Grafana's 24 columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]
Kind = Literal["timeseries", "stat", "table", "heatmap", "state-timeline"]

COLUMNS = 24
SOURCE: JsonObject = {"type": "prometheus", "uid": "${source}"}
RATE = "$__rate_interval"
RARE_RATE = "30m"
"""Window for quantiles of rare events: a shorter window would have no samples."""


@dataclass(frozen=True, slots=True)
class Query:
    """An expression and the legend of its series."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: Kind = "timeseries"
    width: int = 12
    stacked: bool = False
    quiet: bool = False
    """Empty if all is well: what never happened has no series."""
    about: str = ""

    @property
    def height(self) -> int:
        """Height in rows of the grid."""
        return 4 if self.kind == "stat" else 8

    def to_json(self, number: int, x: int, y: int) -> JsonObject:
        """Return the panel at this position."""
        position: JsonObject = {"x": x, "y": y, "w": self.width, "h": self.height}
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.about,
            "datasource": SOURCE,
            "gridPos": position,
            "targets": [self._target(query, letter) for letter, query in self._lettered()],
            "fieldConfig": {"defaults": self._defaults(), "overrides": []},
            "options": self._options(),
        }

    def _lettered(self) -> Iterator[tuple[str, Query]]:
        return zip("ABCDEFGH", self.queries, strict=False)

    def _target(self, query: Query, letter: str) -> JsonValue:
        at_once = self.kind in ("stat", "table")
        form = {"table": "table", "heatmap": "heatmap"}.get(self.kind, "time_series")
        return {
            "refId": letter,
            "datasource": SOURCE,
            "expr": query.expression,
            "legendFormat": query.legend or "__auto",
            "format": form,
            "instant": at_once,
            "range": not at_once,
        }

    def _defaults(self) -> JsonObject:
        custom: JsonObject = {}
        if self.kind == "timeseries":
            custom = {"fillOpacity": 20 if self.stacked else 0, "showPoints": "never"}
            custom["stacking"] = {"mode": "normal" if self.stacked else "none"}
        return {"unit": self.unit, "custom": custom, "min": 0, "noValue": "none"}

    def _options(self) -> JsonObject:
        if self.kind == "timeseries":
            # A table beside a narrow graph would hide the graph.
            shape = ("table", "right") if self.width >= COLUMNS / 2 else ("list", "bottom")
            legend: JsonObject = {
                "displayMode": shape[0],
                "placement": shape[1],
                "calcs": ["last"],
            }
            return {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
        if self.kind == "stat":
            return {"reduceOptions": {"calcs": ["lastNotNull"]}, "textMode": "value_and_name"}
        return {}


@dataclass(frozen=True, slots=True)
class Row:
    """Panels with a heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A drop-down list of the values of a label."""

    name: str
    source: str
    several: bool = False

    def to_json(self) -> JsonValue:
        """Return the entry of templating."""
        return {
            "name": self.name,
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": self.source, "refId": self.name},
            "refresh": 2,
            "sort": 1,
            "multi": self.several,
            "includeAll": self.several,
            "allValue": ".+" if self.several else None,
        }


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard."""

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...] = ()

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels."""
        return tuple(panel for row in self.rows for panel in row.panels)

    def to_json(self) -> JsonObject:
        """Return the content of the file."""
        source: JsonValue = {"name": "source", "label": "Data source", "type": "datasource"}
        assert isinstance(source, dict)
        source["query"] = "prometheus"
        return {
            "uid": f"podgang-{self.name}",
            "title": f"podgang / {self.title}",
            "description": self.about,
            "tags": ["podgang"],
            "schemaVersion": 39,
            "editable": False,
            "refresh": "30s",
            "time": {"from": "now-3h", "to": "now"},
            "links": [
                {
                    "type": "dashboards",
                    "title": "podgang",
                    "tags": ["podgang"],
                    "asDropdown": True,
                    "includeVars": True,
                    "keepTime": True,
                }
            ],
            "templating": {"list": [source, *(one.to_json() for one in self.variables)]},
            "panels": list(self._laid_out()),
        }

    def _laid_out(self) -> Iterator[JsonValue]:
        number, y = 1, 0
        for row in self.rows:
            bar: JsonObject = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
            yield {"id": number, "type": "row", "title": row.title, "gridPos": bar, "panels": []}
            number, y, x, tallest = number + 1, y + 1, 0, 0
            for panel in row.panels:
                if x + panel.width > COLUMNS:
                    x, y, tallest = 0, y + tallest, 0
                yield panel.to_json(number, x, y)
                number, x, tallest = number + 1, x + panel.width, max(tallest, panel.height)
            y += tallest
