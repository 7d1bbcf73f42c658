"""Rules, dashboard, runbooks and documentation name what the programs expose, and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.cluster.monitoring.chart_files import (
    ALERTS,
    GATEWAY_ALERTS,
    PAGE,
    RUNBOOKS,
    alert_names,
    metrics_named,
    panel_queries,
    rules,
)
from tests.cluster.monitoring.exposed import exposed

KNOWN = {name for one in exposed() for name in one.queried}


@pytest.mark.parametrize("alert", alert_names())
def test_an_alert_names_metrics_that_are_exposed(alert: str) -> None:
    named = metrics_named(next(rule["expr"] for rule in rules() if rule["alert"] == alert))
    assert named
    assert named <= KNOWN


def test_every_panel_names_metrics_that_are_exposed() -> None:
    for title, query in panel_queries():
        assert metrics_named(query), title
        assert metrics_named(query) <= KNOWN, title


def test_the_runbooks_name_metrics_that_are_exposed() -> None:
    for page in RUNBOOKS.glob("*.md"):
        named = {name for name in metrics_named(page.read_text("utf-8")) if not name.endswith("_")}
        assert named <= KNOWN | {"sendonce_campaign_pace"}, page.name


def test_no_metric_is_exposed_by_two_programs() -> None:
    times = Counter(one.name for one in exposed())
    assert [name for name, count in times.items() if count > 1] == []


def test_the_page_has_the_table_of_all_metrics() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `sendonce_")]
    wanted = [one.row for one in exposed()]
    assert rows == wanted, "docs/monitoring.md should have:\n" + "\n".join(wanted)


def test_the_page_and_the_list_of_runbooks_have_every_alert() -> None:
    for text in (PAGE.read_text("utf-8"), (RUNBOOKS / "README.md").read_text("utf-8")):
        assert all(f"{alert}.md)" in text for alert in alert_names())


def test_every_metric_is_of_some_use() -> None:
    shown = {name for _, query in panel_queries() for name in metrics_named(query)}
    used = shown | metrics_named(ALERTS.read_text("utf-8")) | metrics_named(GATEWAY_ALERTS.read_text("utf-8"))
    assert [one.name for one in exposed() if not one.queried & used] == []
