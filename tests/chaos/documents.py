"""The YAML that a run applies: the providers and the campaign of a scenario.

In: a scenario and the far end's ports. Out: text, as a person would write it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.chaos.evidence import PATHS
from tests.chaos.scenario import TIMEOUT, Scenario

NAMESPACE, NAME = "chaos", "campaign"
LIST_MAP, LIST_KEY = "people", "people.csv"


def documents(scenario: Scenario, ports: Mapping[str, int]) -> str:
    """All documents; JSON is YAML."""
    channels = ["Email"] if scenario.sms == "none" else ["Email", "SMS"]
    parts = [_provider(scenario, channel, ports) for channel in channels]
    return "\n---\n".join(json.dumps(part) for part in [*parts, _campaign(scenario, channels)])


def _provider(scenario: Scenario, channel: str, ports: Mapping[str, int]) -> dict[str, Any]:
    spec: dict[str, Any] = {"timeoutSeconds": TIMEOUT}
    if scenario.kind == "smtp" and channel == "Email":
        spec |= {"type": "SMTP", "smtp": {"host": "127.0.0.1", "port": ports["smtp"], "tls": "None"}}
    else:
        http: dict[str, Any] = {
            "url": f"http://127.0.0.1:{ports['http']}{PATHS[channel]}",
            "messageIdPath": "id",
            "errorRules": [{"status": 503, "as": "Transient"}],
        }
        if scenario.key_window is not None:
            http |= {"idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": int(scenario.key_window)}
        spec |= {"type": "HTTP", "http": http}
    return _document("NotificationProvider", channel.lower(), spec)


def _campaign(scenario: Scenario, channels: list[str]) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "category": "Marketing",
        "recipients": {"configMapKeyRef": {"name": LIST_MAP, "key": LIST_KEY}, "format": "CSV"},
        "messages": [_message(scenario, channel) for channel in channels],
        "retry": {"maxAttempts": scenario.max_attempts, "initialDelaySeconds": 1, "factor": 2, "maxDelaySeconds": 2},
        "uncertainPolicy": "Resend" if scenario.resend else "Hold",
        "failurePolicy": {"action": "Continue"},
    }
    if scenario.canary != "none":
        canary = {"percent": 10, "minRecipients": 20, "observeSeconds": 1, "maxFailedPercent": 100}
        spec["rollout"] = {"canary": canary | {"promotion": scenario.canary.title()}}
    return _document("NotificationCampaign", NAME, spec)


def _message(scenario: Scenario, channel: str) -> dict[str, Any]:
    template = {"text": "Hello {{ name }}"}
    if channel == "Email":
        template |= {"from": "sender@example.com", "subject": "For {{ name }}"}
    message: dict[str, Any] = {"channel": channel, "providerRef": {"name": channel.lower()}, "template": template}
    if channel == "SMS" and scenario.sms == "after":
        message["after"] = {"channel": "Email"}
    return message


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "sendonce.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
