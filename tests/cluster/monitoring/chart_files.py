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
ALERTS = ROOT / "charts" / "sendonce" / "files" / "alerts.yaml"
DASHBOARD = ROOT / "charts" / "sendonce" / "files" / "dashboard.json"
RUNBOOKS = ROOT / "docs" / "runbooks"
PAGE = ROOT / "docs" / "monitoring.md"
BASE_URL = "https://sendonce.dev/runbooks"

_METRIC = re.compile(r"\bsendonce_[a-z0-9_]+")


@cache
def rules() -> list[dict[str, Any]]:
    """All alerting rules."""
    document = yaml.safe_load(ALERTS.read_text("utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def alert_names() -> list[str]:
    return [rule["alert"] for rule in rules()]


def rule_of(alert: str) -> dict[str, Any]:
    return next(rule for rule in rules() if rule["alert"] == alert)


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    return found


def panels() -> list[dict[str, Any]]:
    """All panels that show something."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def panel_queries() -> Iterator[tuple[str, str]]:
    """Title of the panel and query, for every query of the dashboard."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def metrics_named(text: str) -> set[str]:
    """The metrics of ours that a text names."""
    return set(_METRIC.findall(text))
