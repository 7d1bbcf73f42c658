"""The gateway's part of the chart: off by default, and what it is made of where it is on."""

from __future__ import annotations

from typing import Any

import pytest
from tests.chart.matrix import GATEWAY, MATRIX
from tests.chart.rendering import by_kind, environment, named, rendered, template

from sendonce_gateway.settings import GatewaySettings, read_settings
from sendonce_operator.settings import read_settings as read_operator_settings

NAME = "sendonce-gateway"
FULL, LEAST = MATRIX["gateway"], MATRIX["gateway, as little as can be"]
PORT, OPS = 8080, 9090


def deployment(values: dict[str, Any]) -> dict[str, Any]:
    return named(rendered(values), "Deployment", NAME)


def settings(values: dict[str, Any]) -> GatewaySettings:
    container = deployment(values)["spec"]["template"]["spec"]["containers"][0]
    given = {one["name"]: one["value"] for one in container["env"]}
    assert given.pop("SENDONCE_DSN_FILE") == "/etc/sendonce-store/dsn"
    return read_settings({**given, "SENDONCE_DSN": "x"})


def test_there_is_none_unless_it_is_asked_for() -> None:
    for values in ({}, MATRIX["a gateway elsewhere"]):
        objects = rendered(values)
        assert [one for one in objects if one["metadata"]["name"] == NAME] == []
        assert by_kind(objects, "Ingress") == []


def test_it_understands_its_settings() -> None:
    found = settings(FULL)
    assert (found.public_url, found.proxies, found.port, found.ops_port) == (GATEWAY, 1, PORT, OPS)
    assert (str(found.receipts_dir), found.store_connections) == ("/etc/sendonce-receipts", 4)
    least = settings(LEAST)
    assert (least.public_url, least.receipts_dir) == ("https://example.com:8443/notify", None)
    grace = deployment(LEAST)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert 0 < least.grace < grace


def test_workers_are_told_where_links_lead_also_where_the_gateway_is_elsewhere() -> None:
    for values in (FULL, MATRIX["a gateway elsewhere"]):
        found = environment(rendered(values))
        given = {name: value for name, value in found.items() if name != "SENDONCE_DSN_FILE"}
        assert read_operator_settings({**given, "SENDONCE_DSN": "x"}).defaults.gateway_url == GATEWAY
    assert "SENDONCE_GATEWAY_URL" not in environment(rendered())


def test_it_has_its_own_login_and_no_token_of_the_cluster() -> None:
    pod = deployment(FULL)["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    secrets = {volume["name"]: volume["secret"]["secretName"] for volume in pod["volumes"]}
    assert secrets == {"store": "sendonce-gateway", "receipts": "receipts"}


def test_several_take_turns_when_nodes_are_drained_or_the_chart_is_upgraded() -> None:
    found = deployment({"gateway": {"enabled": True, "publicUrl": GATEWAY}})["spec"]
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
        ({"enabled": True, "publicUrl": "http://notify.example.com"}, "publicUrl"),
        ({"enabled": True, "publicUrl": "notify.example.com"}, "publicUrl"),
        ({"enabled": True, "publicUrl": "https://a.example.com/?x"}, "publicUrl"),
        (
            {"enabled": True, "publicUrl": "https://a.example.com/base", "ingress": {"enabled": True}},
            "gateway.publicUrl has the path /base, which an Ingress does not take off",
        ),
        ({"replicas": -1}, "replicas"),
        ({"service": {"type": "External"}}, "type"),
    ],
)
def test_wrong_values_are_refused_with_their_name(values: dict[str, Any], words: str) -> None:
    done = template({"gateway": values})
    assert done.returncode != 0
    assert words in done.stderr
