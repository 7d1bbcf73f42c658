"""Each alert fires when it should, says whom it concerns and where its page is; promtool judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.monitoring.alert_cases import CASES, Case
from tests.cluster.monitoring.chart_files import ALERTS, BASE_URL, GATEWAY_ALERTS, RUNBOOKS, alert_names, rule_of, rules
from tests.cluster.monitoring.programs import promtool


def test_promtool_accepts_the_rules() -> None:
    accepted, said = promtool("check", "rules", "--lint-fatal", str(ALERTS), str(GATEWAY_ALERTS))
    assert accepted, said


def test_every_alert_has_a_case() -> None:
    assert {case.alert for case in CASES} == set(alert_names())


def written(tmp_path: Path, case: Case, series: dict[str, str], expected: list[dict[str, Any]]) -> Path:
    """A file of promtool: this is scraped every minute, and of all alerts only this one is looked at."""
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": case.at, "alertname": case.alert, "exp_alerts": expected}],
    }
    document = {"rule_files": [str(ALERTS), str(GATEWAY_ALERTS)], "evaluation_interval": "1m", "tests": [test]}
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(document), "utf-8")
    return file


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_it_fires_and_says_whom_it_concerns(case: Case, tmp_path: Path) -> None:
    rule = rule_of(case.alert)
    annotations = {**rule["annotations"], "summary": case.summary}
    alert = {"exp_labels": {**rule["labels"], **case.labels}, "exp_annotations": annotations}
    fires, said = promtool("test", "rules", str(written(tmp_path, case, case.firing, [alert])))
    assert fires, said


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_it_is_quiet_about_what_is_well(case: Case, tmp_path: Path) -> None:
    quiet, said = promtool("test", "rules", str(written(tmp_path, case, case.quiet, [])))
    assert quiet, said


@pytest.mark.parametrize("alert", alert_names())
def test_it_has_a_severity_and_a_page(alert: str) -> None:
    rule = rule_of(alert)
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["runbook_url"] == f"{BASE_URL}/{alert}"
    assert (RUNBOOKS / f"{alert}.md").is_file()


def test_every_page_belongs_to_an_alert() -> None:
    pages = {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"}
    assert pages == {rule["alert"] for rule in rules()}
