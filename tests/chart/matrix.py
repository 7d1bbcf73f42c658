"""Values that between them turn every part of the chart on and off. Plain data."""

from __future__ import annotations

from typing import Any

DIGEST = "sha256:" + "a1" * 32
ADDRESS = "postgresql://db.example:5432/sendonce"
GATEWAY = "https://notify.example.com"
PLACEMENT: dict[str, Any] = {
    "podLabels": {"team": "platform"},
    "podAnnotations": {"mesh": "off"},
    "nodeSelector": {"pool": "batch"},
    "tolerations": [{"key": "batch", "operator": "Exists"}],
    "priorityClassName": "high",
}
SPREAD: dict[str, Any] = {
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
}

MATRIX: dict[str, dict[str, Any]] = {
    "defaults": {},
    "standby": {"mode": "Standby"},
    "logins by the operator": {"store": {"address": ADDRESS}},
    "images by digest from a registry": {
        "image": {"registry": "registry.example.com/platform/", "pullSecrets": [{"name": "registry"}]},
        **{part: {"image": {"digest": DIGEST}} for part in ("operator", "workers", "cli")},
        "gateway": {"enabled": True, "publicUrl": GATEWAY, "image": {"digest": DIGEST}},
        "store": {"address": ADDRESS},
    },
    "every placement": {
        "commonLabels": {"cost": "a"},
        "commonAnnotations": {"owner": "b"},
        "operator": {**PLACEMENT, **SPREAD, "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:1"}]},
        "workers": {**PLACEMENT, **SPREAD, "imagePullSecrets": [{"name": "registry"}], "env": {"A": "b"}},
        "cli": {**PLACEMENT, "extraEnv": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
    },
    "try-out": {"postgresql": {"enabled": True}},
    "try-out without a volume": {
        "postgresql": {"enabled": True, "storage": {"persistent": False}, "image": {"digest": DIGEST}},
    },
    "network policies": {
        "networkPolicy": {
            "enabled": True,
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}],
            "extraEgress": [{"ports": [{"protocol": "TCP", "port": 3128}]}],
            "workerNamespaces": ["shop", "bank"],
        },
        "postgresql": {"enabled": True},
    },
    "monitoring": {
        "monitoring": {
            "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "prometheusRule": {"enabled": True},
            "dashboard": {"enabled": True},
            "scrapeAnnotations": True,
        },
    },
    "gateway": {
        "gateway": {
            "enabled": True,
            "publicUrl": GATEWAY,
            "database": {"existingSecret": "gateway-login", "secretKey": "url"},
            "receiptsSecret": "receipts",
            "texts": {"en": {"marketing": "our letters", "topics": {"news": "News & more"}}},
            "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "notify-tls", "annotations": {"a": "b"}},
            "service": {"annotations": {"c": "d"}},
            **PLACEMENT,
            **SPREAD,
            "extraEnv": [{"name": "SENDONCE_GATEWAY_CONNECTIONS", "value": "4"}],
        },
        "networkPolicy": {
            "enabled": True,
            "gatewayFrom": [{"namespaceSelector": {"matchLabels": {"team": "ingress"}}}],
        },
        "monitoring": {"podMonitor": {"enabled": True}, "scrapeAnnotations": True},
    },
    "gateway, as little as can be": {
        "gateway": {
            "enabled": True,
            "publicUrl": "https://example.com:8443/notify",
            "replicas": 1,
            "user": 0,
            "podDisruptionBudget": {"enabled": False},
        },
        "store": {"address": ADDRESS},
    },
    "gateway of a try-out, with its network policy": {
        "gateway": {"enabled": True, "publicUrl": GATEWAY},
        "networkPolicy": {"enabled": True},
        "postgresql": {"enabled": True},
    },
    "a gateway elsewhere": {"gateway": {"publicUrl": GATEWAY}},
    "console": {
        "console": {"enabled": True},
        "store": {"address": ADDRESS},
        "monitoring": {"podMonitor": {"enabled": True}, "scrapeAnnotations": True},
    },
    "console of a try-out, with its network policy": {
        "console": {"enabled": True, "networkPolicyFrom": [{"podSelector": {}}]},
        "networkPolicy": {
            "enabled": True,
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}],
        },
        "postgresql": {"enabled": True},
    },
    "console with Secrets of others": {
        "console": {
            **PLACEMENT,
            **SPREAD,
            "enabled": True,
            "levers": False,
            "replicas": 2,
            "image": {"digest": DIGEST},
            "database": {"existingSecret": "console-login", "secretKey": "url"},
            "key": {"existingSecret": "console-key", "secretKey": "seal"},
            "ingress": {"enabled": True, "className": "nginx", "host": "console.example.com", "tlsSecret": "tls"},
            "serviceAccount": {"create": False, "name": "console"},
            "extraEnv": [{"name": "A", "value": "b"}],
        },
    },
    "roles and Argo CD": {
        "rbac": {"editor": {"aggregateToEdit": True, "aggregateToAdmin": True}},
        "argocd": {"healthConfigMap": True},
    },
    "as little as can be": {
        "crds": {"create": False},
        "migrations": {"enabled": False},
        "tests": {"enabled": False},
        "rbac": {"create": False, **{role: {"create": False} for role in ("viewer", "editor", "recipients")}},
        "operator": {"serviceAccount": {"create": False}, "podDisruptionBudget": {"enabled": False}},
    },
    "users by the cluster": {part: {"user": 0} for part in ("operator", "workers", "cli")},
    "other names": {
        "fullnameOverride": "notifier",
        "workers": {"storeSecret": {"name": "login", "key": "url"}, "caConfigMap": {"name": "authorities"}},
    },
}
