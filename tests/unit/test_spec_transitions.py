"""What may not be changed in a stored object."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_store.spec import (
    TRANSITIONS,
    NotificationAction,
    NotificationCampaign,
    NotificationProvider,
    field_name,
    refused_changes,
)

SPEC: dict[str, Any] = {
    "category": "Marketing",
    "recipients": {"configMapKeyRef": {"name": "r", "key": "r.csv"}, "format": "CSV"},
    "messages": [{"channel": "SMS", "providerRef": {"name": "p"}, "template": {"text": "t"}}],
}
STARTED = {"observedGeneration": 1, "startTime": "2026-12-01T00:00:00Z"}


def campaign(status: dict[str, Any] | None = None, **spec: Any) -> NotificationCampaign:
    return NotificationCampaign.from_wire({"metadata": {"name": "c"}, "spec": SPEC | spec, "status": status or {}})


def provider(**spec: Any) -> NotificationProvider:
    return NotificationProvider.from_wire({"metadata": {"name": "p"}, "spec": spec})


def action(**spec: Any) -> NotificationAction:
    return NotificationAction.from_wire({"metadata": {"name": "a"}, "spec": {"campaignRef": {"name": "c"}} | spec})


CONTENT = [
    ("category", {"category": "Transactional"}),
    ("topic", {"topic": "news"}),
    ("recipients", {"recipients": SPEC["recipients"] | {"format": "NDJSON"}}),
    ("messages", {"messages": [SPEC["messages"][0] | {"template": {"text": "u"}}]}),
    ("rollout", {"rollout": {"canary": {}}}),
]


@pytest.mark.parametrize(("field", "change"), CONTENT)
def test_the_content_is_frozen_once_the_campaign_has_started_and_not_before(field: str, change: dict[str, Any]) -> None:
    assert refused_changes(campaign(), campaign(**change)) == []
    refused = refused_changes(campaign(STARTED), campaign(**change))
    assert [field_name(path) for path, _ in refused] == [f"spec.{field}"]
    assert "another sendKey" in refused[0][1]


def test_the_rest_of_a_started_campaign_stays_mutable() -> None:
    changed = campaign(
        priority="High",
        suspend=True,
        cancel=True,
        retry={"factor": 2},
        workers={"max": 2},
        schedule={"deadline": "2027-01-01T00:00:00Z"},
    )
    assert refused_changes(campaign(STARTED), changed) == []


def test_the_send_key_never_changes() -> None:
    assert [p for p, _ in refused_changes(campaign(), campaign(sendKey="x"))] == [("spec", "sendKey")]
    assert refused_changes(campaign(sendKey="x"), campaign(sendKey="x")) == []


def test_a_cancelled_campaign_stays_cancelled() -> None:
    assert [p for p, _ in refused_changes(campaign(cancel=True), campaign())] == [("spec", "cancel")]
    assert refused_changes(campaign(), campaign(cancel=True)) == []


def test_the_type_of_a_provider_never_changes() -> None:
    smtp = provider(type="SMTP", smtp={"host": "smtp.example.com"})
    http = provider(type="HTTP", http={"url": "https://example.com"})
    assert [p for p, _ in refused_changes(smtp, http)] == [("spec", "type")]
    assert refused_changes(smtp, provider(type="SMTP", smtp={"host": "mx.example.com"})) == []


def test_an_action_never_changes() -> None:
    assert [p for p, _ in refused_changes(action(type="Retry"), action(type="Resume"))] == [("spec",)]
    assert refused_changes(action(type="Retry"), action(type="Retry")) == []


def test_every_kind_has_its_rules() -> None:
    assert {kind.__name__: [rule.name for rule in rules] for kind, rules in TRANSITIONS.items()} == {
        "NotificationCampaign": ["send-key-stays", "cancel-stays", "content-is-frozen-once-started"],
        "NotificationProvider": ["provider-type-stays"],
        "ClusterNotificationProvider": ["provider-type-stays"],
        "NotificationAction": ["action-stays"],
    }
