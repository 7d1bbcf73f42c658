"""The monitoring objects of the chart: off unless asked for, and with what the files say."""

from __future__ import annotations

import json

import yaml
from tests.chart.rendering import Object, by_kind, named, pods, rendered
from tests.cluster.monitoring.chart_files import ALERTS, BASE_URL, GATEWAY_ALERTS, dashboard

KINDS = ("PodMonitor", "PrometheusRule")
OURS = "https://wiki.example.com/runbooks"
ON = {
    "monitoring": {
        "podMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}, "runbookBaseUrl": OURS},
        "dashboard": {"enabled": True},
    }
}


WITH_GATEWAY = {
    **ON,
    "gateway": {"enabled": True, "publicUrl": "https://notify.example.com", "database": {"existingSecret": "login"}},
}


def monitors() -> list[Object]:
    return by_kind(rendered(ON), "PodMonitor")


def shown(values: Object) -> Object:
    """The dashboard that Grafana gets."""
    (found,) = [one for one in by_kind(rendered(values), "ConfigMap") if "sendonce.json" in one["data"]]
    board: Object = json.loads(found["data"]["sendonce.json"])
    return board


def test_nothing_is_made_unless_it_is_asked_for() -> None:
    assert [one["kind"] for one in rendered() if one["kind"] in KINDS] == []
    assert not [one for one in by_kind(rendered(), "ConfigMap") if "sendonce.json" in one["data"]]


def test_the_rules_are_those_of_the_file_with_ones_own_runbooks() -> None:
    (rule,) = by_kind(rendered(ON), "PrometheusRule")
    wanted = ALERTS.read_text("utf-8").replace(BASE_URL, OURS)
    assert rule["spec"] == yaml.safe_load(wanted)
    assert rule["metadata"]["labels"]["release"] == "prometheus"


def test_the_dashboard_is_that_of_the_file_with_the_label_of_the_sidecar() -> None:
    (found,) = [one for one in by_kind(rendered(WITH_GATEWAY), "ConfigMap") if "sendonce.json" in one["data"]]
    assert shown(WITH_GATEWAY)["panels"] == dashboard()["panels"]
    assert shown(WITH_GATEWAY)["links"][0]["url"] == OURS
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_where_there_is_no_gateway_nothing_is_watched_of_it() -> None:
    board = shown(ON)
    assert [panel for panel in dashboard()["panels"] if panel not in board["panels"]] == [dashboard()["panels"][-1]]
    assert dashboard()["panels"][-1]["title"] == "Gateway"
    assert {name: board[name] for name in board if name not in {"panels", "links"}} == {
        name: value for name, value in dashboard().items() if name not in {"panels", "links"}
    }
    objects = [one for kind in KINDS for one in by_kind(rendered(ON), kind)]
    assert len(objects) == 3
    assert "gateway" not in json.dumps(objects)


def test_with_a_gateway_there_are_its_alerts_and_its_monitor() -> None:
    objects = rendered(WITH_GATEWAY)
    (rule,) = by_kind(objects, "PrometheusRule")
    wanted = yaml.safe_load(GATEWAY_ALERTS.read_text("utf-8").replace(BASE_URL, OURS))
    assert rule["spec"]["groups"][-1:] == wanted["groups"]
    monitor = named(objects, "PodMonitor", "sendonce-gateway")
    pod = named(objects, "Deployment", "sendonce-gateway")["spec"]["template"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    assert (endpoint["honorLabels"], endpoint["interval"]) == (True, "15s")


def test_the_monitor_of_the_operator_finds_its_pod_and_its_port() -> None:
    (monitor,) = [one for one in monitors() if one["metadata"]["name"].endswith("-operator")]
    (pod,) = [pod for name, pod in pods(rendered(ON)) if name.startswith("Deployment/")]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    assert (endpoint["honorLabels"], endpoint["interval"]) == (True, "15s")


def test_the_monitor_of_the_workers_finds_them_in_all_namespaces() -> None:
    (monitor,) = [one for one in monitors() if one["metadata"]["name"].endswith("-workers")]
    assert monitor["spec"]["namespaceSelector"] == {"any": True}
    wanted = {"app.kubernetes.io/name": "sendonce-worker", "app.kubernetes.io/managed-by": "sendonce-operator"}
    assert monitor["spec"]["selector"]["matchLabels"] == wanted
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["honorLabels"]) == ("health", True)
