"""What each value of the chart may be: paths or last names in, fragments of JSON Schema (draft 7) out. Pure.

What is not here has the type of its default.
"""

from typing import Any

from tools.chart.comments import Value

Schema = dict[str, Any]

DNS_NAME = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
NAME_OR_NOTHING = r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$"
STRINGS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
ANYTHING: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
AMOUNTS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "number"]}}


def choice(*names: str) -> Schema:
    """Return the shape of one of these."""
    return {"type": "string", "enum": list(names)}


def whole(low: int, high: int) -> Schema:
    """Return the shape of an integer within bounds."""
    return {"type": "integer", "minimum": low, "maximum": high}


def text(pattern: str) -> Schema:
    """Return the shape of a string."""
    return {"type": "string", "pattern": pattern}


def closed(**properties: Schema) -> Schema:
    """Return the shape of an object with these fields and no other."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


PULL_SECRETS: Schema = {"type": "array", "items": {**closed(name=text(DNS_NAME)), "required": ["name"]}}
VARIABLES: Schema = {
    "type": "array",
    "items": {
        **closed(name={"type": "string", "minLength": 1}, value={"type": "string"}, valueFrom=ANYTHING),
        "required": ["name"],
    },
}

BY_LAST_NAME: dict[str, Schema] = {
    "affinity": ANYTHING,
    "annotations": STRINGS,
    "className": text(NAME_OR_NOTHING),
    "commonAnnotations": STRINGS,
    "commonLabels": STRINGS,
    "databasePort": whole(1, 65_535),
    "digest": text(r"^(sha256:[a-f0-9]{64})?$"),
    "env": STRINGS,
    "existingSecret": text(DNS_NAME),
    "extraEgress": OBJECTS,
    "extraEnv": VARIABLES,
    "fullnameOverride": text(NAME_OR_NOTHING),
    "gatewayFrom": OBJECTS,
    "imagePullSecrets": PULL_SECRETS,
    "key": text(r"^[-._a-zA-Z0-9]{1,253}$"),
    "labels": STRINGS,
    "logLevel": choice("DEBUG", "INFO", "WARNING", "ERROR"),
    "metricsFrom": OBJECTS,
    "nameOverride": text(NAME_OR_NOTHING),
    "nodeSelector": STRINGS,
    "podAnnotations": STRINGS,
    "podLabels": STRINGS,
    "priorityClassName": text(NAME_OR_NOTHING),
    "pullPolicy": choice("IfNotPresent", "Always", "Never"),
    "pullSecrets": PULL_SECRETS,
    "repository": {"type": "string", "minLength": 1},
    "resources": closed(requests=AMOUNTS, limits=AMOUNTS, claims=OBJECTS),
    "secretKey": text(r"^[-._a-zA-Z0-9]{1,253}$"),
    "serviceAccountName": text(NAME_OR_NOTHING),
    "size": text(r"^[0-9]+(\.[0-9]+)?[kMGTPE]?i?$"),
    "tag": text(r"^([a-zA-Z0-9_][-.a-zA-Z0-9_]{0,127})?$"),
    "terminationGracePeriodSeconds": whole(5, 3600),
    "tolerations": OBJECTS,
    "topologySpreadConstraints": OBJECTS,
    "user": whole(0, 2**31 - 1),
    "workerNamespaces": {"type": "array", "items": text(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")},
}
BY_PATH: dict[str, Schema] = {
    "console.audience": text(r"^\S{1,253}$"),
    "console.connections": whole(1, 200),
    "console.database.existingSecret": text(NAME_OR_NOTHING),
    "console.ingress.host": text(DNS_NAME),
    "console.ingress.tlsSecret": text(NAME_OR_NOTHING),
    "console.key.existingSecret": text(NAME_OR_NOTHING),
    "console.networkPolicyFrom": OBJECTS,
    "console.proxyHops": whole(0, 10),
    "console.replicas": whole(0, 100),
    "console.service.port": whole(1, 65_535),
    "console.sessionSeconds": whole(60, 86_400),
    "gateway.database.existingSecret": text(NAME_OR_NOTHING),
    "gateway.ingress.tlsSecret": text(NAME_OR_NOTHING),
    "gateway.podDisruptionBudget.maxUnavailable": {
        "anyOf": [whole(1, 100), text(r"^[1-9][0-9]?%$|^100%$")],
    },
    "gateway.proxies": whole(0, 10),
    # RFC 8058 asks for https; what else is wrong with it, the programs say
    "gateway.publicUrl": text(r"^(https://[^\s/?#@\"'<>&]+(/[^\s?#\"'<>&]*)?)?$"),
    "gateway.receiptsSecret": text(NAME_OR_NOTHING),
    "gateway.replicas": whole(0, 100),
    "gateway.service.port": whole(1, 65_535),
    "gateway.service.type": choice("ClusterIP", "NodePort", "LoadBalancer"),
    # which texts there are, the gateway says
    "gateway.texts": {
        **closed(),
        "patternProperties": {
            r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$": {
                "type": "object",
                "properties": {"topics": STRINGS},
                "additionalProperties": {"type": "string"},
            },
        },
    },
    "migrations.activeDeadlineSeconds": whole(10, 86_400),
    "migrations.backoffLimit": whole(0, 20),
    "mode": choice("Normal", "Standby"),
    "monitoring.podMonitor.interval": text(r"^([0-9]+(ms|[smh]))+$"),
    "monitoring.prometheusRule.runbookBaseUrl": text(r"^https?://\S+[^/\s]$"),
    "operator.podDisruptionBudget.maxUnavailable": {
        "anyOf": [whole(1, 100), text(r"^[1-9][0-9]?%$|^100%$")],
    },
    "postgresql.user": whole(1, 2**31 - 1),
    "store.address": text(r"^(postgres(ql)?://[^@\s]+/\S+)?$"),
    "tests.people": whole(1, 10_000),
    "tests.timeoutSeconds": whole(10, 3600),
    "uninstall.policy": choice("Refuse", "Wait", "Leave"),
    "uninstall.timeoutSeconds": whole(0, 86_400),
    "workers.caConfigMap.name": text(NAME_OR_NOTHING),
    "workers.max": whole(1, 10_000),
    "workers.storeSecret.name": text(DNS_NAME),
}
_TYPES = {bool: "boolean", int: "integer", str: "string"}


def shape(value: Value) -> Schema:
    """Return what a value may be; KeyError for one whose shape has to be named here."""
    if value.name in BY_PATH:
        return BY_PATH[value.name]
    if value.path[-1] in BY_LAST_NAME:
        return BY_LAST_NAME[value.path[-1]]
    return {"type": _TYPES[type(value.default)]}
