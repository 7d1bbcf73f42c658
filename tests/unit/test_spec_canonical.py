"""The canonical form and the content hash."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_store.spec import NotificationCampaign, Template, canonical_json, content_hash

SMS: dict[str, Any] = {"channel": "SMS", "providerRef": {"name": "p"}, "template": {"text": "t"}}
LINE: dict[str, Any] = {"channel": "Line", "providerRef": {"name": "p"}, "template": {"text": "t"}}
SPEC: dict[str, Any] = {
    "category": "Marketing",
    "recipients": {"configMapKeyRef": {"name": "r", "key": "r.csv"}, "format": "CSV"},
    "messages": [SMS, LINE],
}


def hash_of(name: str = "c", **spec: Any) -> str:
    return content_hash(NotificationCampaign.from_wire({"metadata": {"name": name}, "spec": SPEC | spec}))


def test_the_hash_of_a_given_content_never_changes() -> None:
    # a stored hash is compared for ever: if this fails, the version in front of it must change
    assert hash_of() == "v1:598e8585e2b2af8139a197e1a7f3b607dd9e3939c0b98bfa09bd6755484ebff0"


@pytest.mark.parametrize(
    "change",
    [
        {"category": "Transactional"},
        {"topic": "news"},
        {"recipients": SPEC["recipients"] | {"expected": {"min": 1}}},
        {"messages": [SMS, LINE | {"template": {"text": "u"}}]},
        {"messages": [SMS]},
        {"messages": [SMS, LINE | {"after": {"channel": "SMS"}}]},
        {"rollout": {"canary": {}}},
    ],
)
def test_another_content_has_another_hash(change: dict[str, Any]) -> None:
    assert hash_of(**change) != hash_of()


@pytest.mark.parametrize(
    "change",
    [
        {"priority": "High", "suspend": True, "cancel": True, "sendKey": "x"},
        {"schedule": {"deadline": "2027-01-01T00:00:00Z"}},
        {"retry": {"factor": 2}, "workers": {"max": 1}, "failurePolicy": {"action": "Continue"}},
        {"messages": [LINE, SMS]},
        {"messages": [SMS | {"providerRef": {"kind": "NotificationProvider", "name": "p"}}, LINE]},
        {"recipients": SPEC["recipients"] | {"compression": "None", "maxRejectedPercent": 100}},
    ],
    ids=["switches", "schedule", "policies", "order of messages", "default written out", "defaults of recipients"],
)
def test_the_same_content_has_the_same_hash(change: dict[str, Any]) -> None:
    assert hash_of(**change) == hash_of()


def test_the_name_is_no_content() -> None:
    assert hash_of("a") == hash_of("b")


def test_the_canonical_form_is_sorted_compact_utf_8_with_the_names_of_the_wire() -> None:
    template = Template(text="こんにちは", reply_to="a@example.com")
    assert (
        canonical_json(template)
        == '{"attachments":[],"headers":{},"inlineCSS":false,"replyTo":"a@example.com",'
        '"text":"こんにちは","variants":[]}'.encode()
    )
