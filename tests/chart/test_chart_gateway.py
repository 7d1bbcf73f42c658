"""The gateway's part of the chart: off by default, and what it is made of where it is on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.chart.matrix import ADDRESS, GATEWAY, MATRIX
from tests.chart.rendering import by_kind, environment, named, rendered, template

from sendonce_gateway.settings import GatewaySettings, read_settings
from sendonce_operator.settings import read_settings as read_operator_settings
from sendonce_store.program_dsn import address_with_login

NAME = "sendonce-gateway"
FULL, LEAST = MATRIX["gateway"], MATRIX["gateway, as little as can be"]
PORT, OPS = 8080, 9090
DSN, PASSWORD = "postgresql://g@db.example/sendonce", "p" * 40


def deployment(values: dict[str, Any]) -> dict[str, Any]:
    return named(rendered(values), "Deployment", NAME)


def settings(values: dict[str, Any], folder: Path) -> GatewaySettings:
    """The settings as the program reads them, with its login as a file."""
    container = deployment(values)["spec"]["template"]["spec"]["containers"][0]
    given = {one["name"]: one["value"] for one in container["env"]}
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "store"]
    for name, text in (("SENDONCE_DSN_FILE", DSN), ("SENDONCE_GATEWAY_PASSWORD_FILE", PASSWORD)):
        if name in given:
            file = Path(given[name])
            assert str(file.parent) == mount["mountPath"]
            (folder / file.name).write_text(text, "utf-8")
            given[name] = str(folder / file.name)
    if "SENDONCE_GATEWAY_TEXTS" in given:
        (file,) = [folder / name for name in texts(values)]
        file.write_text(texts(values)[file.name], "utf-8")
        given["SENDONCE_GATEWAY_TEXTS"] = str(file)
    return read_settings(given)


def texts(values: dict[str, Any]) -> dict[str, str]:
    """The files of the ConfigMap that is mounted for texts."""
    found: dict[str, str] = named(rendered(values), "ConfigMap", f"{NAME}-texts")["data"]
    return found


def test_there_is_none_unless_it_is_asked_for() -> None:
    for values in ({}, MATRIX["a gateway elsewhere"]):
        objects = rendered(values)
        assert [one for one in objects if one["metadata"]["name"] == NAME] == []
        assert by_kind(objects, "Ingress") == []


def test_it_understands_its_settings(tmp_path: Path) -> None:
    found = settings(FULL, tmp_path)
    assert (found.public_url, found.proxies, found.port, found.ops_port) == (GATEWAY, 1, PORT, OPS)
    assert (str(found.receipts_dir), found.store_connections) == ("/etc/sendonce-receipts", 4)
    least = settings(LEAST, tmp_path)
    assert (least.public_url, least.receipts_dir) == ("https://example.com:8443/notify", None)
    grace = deployment(LEAST)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert 0 < least.grace < grace


def test_workers_are_told_where_links_lead_also_where_the_gateway_is_elsewhere() -> None:
    for values in (FULL, MATRIX["a gateway elsewhere"]):
        found = environment(rendered(values))
        given = {name: value for name, value in found.items() if name != "SENDONCE_DSN_FILE"}
        assert read_operator_settings({**given, "SENDONCE_DSN": "x"}).defaults.gateway_url == GATEWAY
    assert "SENDONCE_GATEWAY_URL" not in environment(rendered())


def test_its_login_is_that_of_a_secret_or_one_that_the_chart_makes(tmp_path: Path) -> None:
    assert settings(FULL, tmp_path).dsn == DSN
    assert settings(LEAST, tmp_path).dsn == address_with_login("gateway", ADDRESS, PASSWORD)
    assert not [one for one in rendered(FULL) if one["kind"] in {"Job", "Secret"} and NAME in one["metadata"]["name"]]
    objects = rendered(LEAST)
    assert len(named(objects, "Secret", NAME)["stringData"]["password"]) == 40
    (volume,) = deployment(LEAST)["spec"]["template"]["spec"]["volumes"]
    assert volume["secret"] == {"secretName": NAME, "items": [{"key": "password", "path": "password"}]}
    job = named(objects, "Job", f"{NAME}-login-1")
    assert "annotations" not in job["metadata"], "a hook after the install would wait for Pods that wait for it"
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == ["gateway", "login", "--password-file", "/etc/sendonce-login/password"]
    assert pod["volumes"][-1]["secret"]["secretName"] == NAME


def test_pages_have_the_words_of_the_values_and_begin_anew_with_others(tmp_path: Path) -> None:
    words = settings(FULL, tmp_path).languages.spoken("de, en;q=0.5")
    assert (words.marketing, words.called("news")) == ("our letters", "News & more")
    assert settings(LEAST, tmp_path).languages.spoken("en").marketing == "news and offers"
    pod = deployment(FULL)["spec"]["template"]
    assert {"name": "texts", "configMap": {"name": f"{NAME}-texts"}} in pod["spec"]["volumes"]
    others = {"gateway": {**FULL["gateway"], "texts": {"en": {"marketing": "letters"}}}}
    marks = [
        deployment(one)["spec"]["template"]["metadata"]["annotations"]["sendonce.dev/texts"] for one in (FULL, others)
    ]
    assert marks[0] != marks[1]


def test_its_login_is_made_behind_the_network_policy_of_jobs() -> None:
    objects = rendered(MATRIX["gateway of a try-out, with its network policy"])
    policy = named(objects, "NetworkPolicy", "sendonce")["spec"]["podSelector"]
    (component,) = [one["values"] for one in policy["matchExpressions"]]
    labels = named(objects, "Job", f"{NAME}-login-1")["spec"]["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/component"] in component
    assert policy["matchLabels"].items() <= labels.items()


def test_it_has_its_own_login_and_no_token_of_the_cluster() -> None:
    pod = deployment(FULL)["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    secrets = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
    assert secrets == {"store": "gateway-login", "receipts": "receipts"}


def test_several_take_turns_when_nodes_are_drained_or_the_chart_is_upgraded() -> None:
    found = deployment({"gateway": {"enabled": True, "publicUrl": GATEWAY}, "store": {"address": ADDRESS}})["spec"]
    assert found["replicas"] == 2
    assert found["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    (spread,) = found["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"] == found["selector"]["matchLabels"]
    budget = named(rendered(FULL), "PodDisruptionBudget", NAME)
    assert budget["spec"]["selector"] == found["selector"]


def test_the_public_reaches_the_public_port_alone() -> None:
    objects = rendered(FULL)
    pod = deployment(FULL)["spec"]["template"]
    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    assert ports == {"http": PORT, "metrics": OPS}
    service = named(objects, "Service", NAME)["spec"]
    assert [(port["port"], port["targetPort"]) for port in service["ports"]] == [(80, "http")]
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    ingress = named(objects, "Ingress", NAME)["spec"]
    assert ingress["tls"] == [{"hosts": ["notify.example.com"], "secretName": "notify-tls"}]
    (rule,) = ingress["rules"]
    assert rule["host"] == "notify.example.com"
    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": NAME, "port": {"name": "http"}}


def test_the_network_lets_in_who_may_come_and_out_to_the_database() -> None:
    policy = named(rendered(FULL), "NetworkPolicy", NAME)["spec"]
    public, metrics = policy["ingress"]
    assert public["ports"] == [{"protocol": "TCP", "port": PORT}]
    assert public["from"] == [{"namespaceSelector": {"matchLabels": {"team": "ingress"}}}]
    assert metrics["ports"] == [{"protocol": "TCP", "port": OPS}]
    out = [port["port"] for rule in policy["egress"] for port in rule["ports"]]
    assert out == [53, 53, 5432, 443]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"enabled": True}, "gateway.publicUrl: must say where people reach the gateway"),
        (
            {"enabled": True, "publicUrl": GATEWAY},
            "gateway.database.existingSecret: make the gateway's login with `sendonce gateway login`",
        ),
        ({"database": {"existingSecret": "A b"}}, "/gateway/database/existingSecret"),
        ({"enabled": True, "publicUrl": "http://notify.example.com"}, "publicUrl"),
        ({"enabled": True, "publicUrl": "notify.example.com"}, "publicUrl"),
        ({"enabled": True, "publicUrl": "https://a.example.com/?x"}, "publicUrl"),
        (
            {
                "enabled": True,
                "publicUrl": "https://a.example.com/base",
                "database": {"existingSecret": "login"},
                "ingress": {"enabled": True},
            },
            "gateway.publicUrl has the path /base, which an Ingress does not take off",
        ),
        ({"replicas": -1}, "replicas"),
        ({"texts": {"german": {}}}, "/gateway/texts"),
        ({"texts": {"de": {"saveButton": 1}}}, "/gateway/texts/de/saveButton"),
        ({"service": {"type": "External"}}, "type"),
    ],
)
def test_wrong_values_are_refused_with_their_name(values: dict[str, Any], words: str) -> None:
    done = template({"gateway": values})
    assert done.returncode != 0
    assert words in done.stderr
