"""The metrics and labels that the examples of monitoring name.

Owns: reading the dashboard, the alerts and their expressions. Never: whether an expression is valid, which
promtool says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "observability"
GRAFANA = {"$__rate_interval": "5m", "$__range": "6h", "$instance": ".*"}
"""What Grafana fills in."""

_SELECTOR = re.compile(r"\b((?:kaged_|up\b)\w*)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPED = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")
_IN_TEXT = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Query:
    """One expression, where it stands, and the text that shows its labels."""

    place: str
    expression: str
    text: str

    @property
    def metrics(self) -> list[str]:
        return [name for name, _ in _SELECTOR.findall(self.expression)]

    @property
    def matchers(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield `(metric, label, operator, value)`."""
        for metric, braces in _SELECTOR.findall(self.expression):
            for label, operator, value in _MATCHER.findall(braces):
                yield metric, label, operator, value

    @property
    def grouped(self) -> set[str]:
        """Return the labels that the result is grouped by."""
        groups = _GROUPED.findall(self.expression)
        return {label.strip() for group in groups for label in group.split(",")}

    @property
    def shown(self) -> set[str]:
        """Return the labels in the text beside the result."""
        return set(_IN_TEXT.findall(self.text))


def read(name: str) -> Any:
    """Return one YAML file of the examples."""
    return YAML(typ="safe").load((FOLDER / name).read_text("utf-8"))


def alerts() -> list[Query]:
    rules = [rule for group in read("alerts.yaml")["groups"] for rule in group["rules"]]
    return [Query(rule["alert"], rule["expr"], " ".join(rule["annotations"].values())) for rule in rules]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text("utf-8"))
    return found


def panels() -> list[Query]:
    found = []
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in GRAFANA.items():
                expression = expression.replace(name, value)
            found.append(Query(panel["title"], expression, target["legendFormat"]))
    return found
