"""The console in the chart: off by default, understood by the program, and with no more rights than it uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.chart.matrix import ADDRESS, DIGEST, MATRIX
from tests.chart.rendering import by_kind, helm, named, rendered
from tools.chart.__main__ import CHART

from sendonce_console.settings import ConsoleSettings, read_settings
from sendonce_store.program_dsn import address_with_login

CONSOLE = "sendonce-console"
ON = MATRIX["console"]
OTHERS = MATRIX["console with Secrets of others"]
GUARDED = MATRIX["console of a try-out, with its network policy"]


def settings_of(values: dict[str, Any], folder: Path) -> ConsoleSettings:
    """The settings as the program reads them, with its Secrets as files."""
    objects = rendered(values)
    (container,) = named(objects, "Deployment", CONSOLE)["spec"]["template"]["spec"]["containers"]
    secrets = {"password": "p" * 40, "key": "k" * 64, "dsn": "postgresql://c@db.example/sendonce"}
    env = {}
    for variable in container["env"]:
        file = Path(variable.get("value", ""))
        if file.parts[:2] == ("/", "etc"):
            mounted = folder / file.name
            mounted.write_text(secrets[file.name], "utf-8")
            env[variable["name"]] = str(mounted)
        else:
            env[variable["name"]] = variable["value"]
    return read_settings(env)


def test_it_is_off_by_default() -> None:
    assert not [one for one in rendered() if "console" in one["metadata"]["name"]]


def test_the_program_understands_its_settings(tmp_path: Path) -> None:
    settings = settings_of(ON, tmp_path)
    assert settings.dsn == address_with_login("console", ADDRESS, "p" * 40)
    assert settings.key == b"k" * 64
    assert settings.levers
    assert (settings.port, settings.ops_port) == (8080, 9090)
    others = settings_of(OTHERS, tmp_path)
    assert others.dsn == "postgresql://c@db.example/sendonce"
    assert not others.levers
    secrets = {
        volume["name"]: volume["secret"]
        for volume in named(rendered(OTHERS), "Deployment", CONSOLE)["spec"]["template"]["spec"]["volumes"]
        if "secret" in volume
    }
    assert secrets["store"] == {"secretName": "console-login", "items": [{"key": "url", "path": "dsn"}]}
    assert secrets["key"] == {"secretName": "console-key", "items": [{"key": "seal", "path": "key"}]}
    assert not [one for one in by_kind(rendered(OTHERS), "Secret") if one["metadata"]["name"] == CONSOLE]


def test_it_asks_who_may_and_pulls_levers_only_where_that_is_wished() -> None:
    reviews = [
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]
    levers = [
        {"apiGroups": ["sendonce.dev"], "resources": ["notificationactions"], "verbs": ["get", "create"]},
        {"apiGroups": ["sendonce.dev"], "resources": ["notificationcampaigns"], "verbs": ["get", "patch"]},
    ]
    assert named(rendered(ON), "ClusterRole", CONSOLE)["rules"] == reviews + levers
    assert named(rendered(OTHERS), "ClusterRole", CONSOLE)["rules"] == reviews


def test_its_login_is_made_after_the_schema() -> None:
    objects = rendered(ON)
    job = named(objects, "Job", "sendonce-console-login")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["tenant", "console", "--password-file", "/etc/sendonce-login/password"]
    password = named(objects, "Secret", CONSOLE)["stringData"]["password"]
    assert len(password) == 40


def test_without_a_way_to_its_login_the_chart_says_so() -> None:
    done = helm("template", "sendonce", str(CHART), "--set", "console.enabled=true")
    assert done.returncode != 0
    assert "console.database.existingSecret: make the console's login" in done.stderr


def test_the_ingress_leads_to_it_by_https() -> None:
    objects = rendered(OTHERS)
    (ingress,) = by_kind(objects, "Ingress")
    assert ingress["spec"]["tls"] == [{"hosts": ["console.example.com"], "secretName": "tls"}]
    (container,) = named(objects, "Deployment", CONSOLE)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"sendonce-console@{DIGEST}"
    assert by_kind(rendered(ON), "Ingress") == []


def test_metrics_are_for_operators_and_not_for_the_public() -> None:
    objects = rendered(ON)
    pod = named(objects, "Deployment", CONSOLE)["spec"]["template"]
    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    assert ports == {"http": 8080, "metrics": 9090}
    service = named(objects, "Service", CONSOLE)["spec"]
    assert [port["targetPort"] for port in service["ports"]] == ["http"]
    monitor = named(objects, "PodMonitor", CONSOLE)["spec"]
    assert monitor["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert [(one["port"], one["honorLabels"]) for one in monitor["podMetricsEndpoints"]] == [("metrics", True)]
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == "9090"
    people, scrapes = named(rendered(GUARDED), "NetworkPolicy", CONSOLE)["spec"]["ingress"]
    assert (people["ports"], people["from"]) == ([{"protocol": "TCP", "port": 8080}], [{"podSelector": {}}])
    assert scrapes["ports"] == [{"protocol": "TCP", "port": 9090}]
    assert scrapes["from"] == [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]


def test_there_is_no_monitor_of_a_console_that_is_off() -> None:
    monitors = by_kind(rendered({"monitoring": {"podMonitor": {"enabled": True}}}), "PodMonitor")
    assert CONSOLE not in [one["metadata"]["name"] for one in monitors]


def test_a_database_that_is_away_takes_no_pod_out_of_service() -> None:
    """The pages say what is away."""
    (container,) = named(rendered(ON), "Deployment", CONSOLE)["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
