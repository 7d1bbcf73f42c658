"""What may not be changed in a stored object."""

from __future__ import annotations

import pytest
from tests.spec_cases.changes import CHANGES, Change

from sendonce_store.spec import TRANSITIONS, field_name, refused_changes


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.kind.__name__}: {change.deed}")
def test_a_change_is_refused_in_the_fields_that_must_stay_and_only_there(change: Change) -> None:
    old = change.kind.from_wire(change.old | {"status": change.status})
    refused = refused_changes(old, change.kind.from_wire(change.new))
    assert tuple(field_name(path) for path, _ in refused) == change.refused


def test_a_refusal_says_what_to_do_instead() -> None:
    said = {rule.name: rule.message for rules in TRANSITIONS.values() for rule in rules}
    assert {name for name, message in said.items() if "make a" not in message} == set()


def test_every_kind_has_its_rules() -> None:
    assert {kind.__name__: [rule.name for rule in rules] for kind, rules in TRANSITIONS.items()} == {
        "NotificationCampaign": [
            "send-key-stays",
            "cancel-stays",
            "close-stays",
            "category-is-frozen-once-started",
            "topic-is-frozen-once-started",
            "recipients-is-frozen-once-started",
            "messages-is-frozen-once-started",
            "rollout-is-frozen-once-started",
        ],
        "NotificationProvider": ["provider-type-stays"],
        "ClusterNotificationProvider": ["provider-type-stays"],
        "NotificationAction": ["action-stays"],
    }


def test_every_rule_over_a_change_refuses_one() -> None:
    rules = {(kind, rule.field) for kind, rules in TRANSITIONS.items() for rule in rules}
    refused = {(change.kind, name) for change in CHANGES for name in change.refused}
    assert {(kind, field if field.startswith("spec") else f"spec.{field}") for kind, field in rules} == refused
