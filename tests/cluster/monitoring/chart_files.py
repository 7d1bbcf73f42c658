"""The rules and the dashboard of the chart, as they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
FILES = ROOT / "charts" / "sendonce" / "files"
# those of the gateway stand apart: the chart leaves them out where there is none
ALERTS, GATEWAY_ALERTS = FILES / "alerts.yaml", FILES / "alerts-gateway.yaml"
DASHBOARD = FILES / "dashboard.json"
RUNBOOKS = ROOT / "docs" / "runbooks"
PAGE = ROOT / "docs" / "monitoring.md"
BASE_URL = "https://sendonce.dev/runbooks"

_METRIC = re.compile(r"\bsendonce_[a-z0-9_]+")


@cache
def rules() -> list[dict[str, Any]]:
    """All alerting rules."""
    documents = [yaml.safe_load(file.read_text("utf-8")) for file in (ALERTS, GATEWAY_ALERTS)]
    return [rule for document in documents for group in document["groups"] for rule in group["rules"]]


def alert_names() -> list[str]:
    return [rule["alert"] for rule in rules()]


def rule_of(alert: str) -> dict[str, Any]:
    return next(rule for rule in rules() if rule["alert"] == alert)


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    return found


def panels() -> list[dict[str, Any]]:
    """All panels that show something; a row that is closed as it comes holds its own."""
    found = dashboard()["panels"]
    return [panel for one in found for panel in (one["panels"] if one["type"] == "row" else [one])]


def panel_queries() -> Iterator[tuple[str, str]]:
    """Title of the panel and query, for every query of the dashboard."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def metrics_named(text: str) -> set[str]:
    """The metrics of ours that a text names."""
    return set(_METRIC.findall(text))
