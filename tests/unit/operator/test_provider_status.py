"""What a provider's status says, and which changes are told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.operator_cases.health import argocd, kstatus
from tests.operator_cases.provider_states import LATER, SPEC, STATES, looked
from tests.operator_cases.situations import NOW, conditions

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.providers import (
    ProviderSituation,
    provider_events,
    provider_status,
)
from sendonce_store.spec import ProviderStatus


def again(before: ProviderSituation, **changes: Any) -> ProviderSituation:
    seen = ProviderStatus.from_wire(provider_status(before))
    later = replace(before, subject=replace(before.subject, status=seen), now=before.now + timedelta(seconds=10))
    return replace(later, **changes)


def told(asked: ProviderSituation) -> list[tuple[str, str]]:
    new = ProviderStatus.from_wire(provider_status(asked))
    return [(event.type, event.reason) for event in provider_events(asked.subject.status, new)]


@pytest.mark.parametrize(("asked", "ready", "health", "argo"), STATES)
def test_ready_and_what_tools_make_of_it(
    asked: ProviderSituation, ready: tuple[str, str], health: str, argo: str
) -> None:
    wire = provider_status(asked)
    assert conditions(wire)["Ready"] == ready
    assert kstatus(wire, 1) == health
    assert argocd("NotificationProvider", wire)[0] == argo
    assert ("Stalled" in conditions(wire)) == (health == "Failed")


@pytest.mark.parametrize(
    ("code", "reason"), [("429", "RateLimited"), ("4.7.1", "RateLimited"), ("connect_failed", "Outage")]
)
def test_a_pause_throttles_and_is_no_failure(code: str, reason: str) -> None:
    asked = looked(paused_until=LATER, pause_code=code, pause_message="jane@example.com is too fast")
    wire = provider_status(asked)
    assert conditions(wire) == {"Ready": ("True", "Configured"), "Throttled": ("True", reason)}
    assert wire["pausedUntil"] == "2026-12-04T09:05:00Z"
    assert wire["lastError"] == {
        "code": code,
        "message": "j***@example.com is too fast",
        "time": "2026-12-04T09:00:00Z",
    }


def test_a_pause_that_is_over_leaves_its_error() -> None:
    paused = looked(paused_until=LATER, pause_code="429", pause_message="slow down")
    over = provider_status(again(paused, now=LATER))
    assert "pausedUntil" not in over
    assert conditions(over)["Throttled"] == ("False", "NotThrottled")
    assert over["lastError"]["time"] == "2026-12-04T09:00:00Z"


def test_the_pause_stands_while_the_store_is_away() -> None:
    paused = looked(paused_until=LATER, pause_code="429", pause_message="slow down")
    away = provider_status(again(paused, refusal=refusal.store_unavailable("x"), paused_until=None))
    assert away["pausedUntil"] == "2026-12-04T09:05:00Z"
    assert conditions(away)["Throttled"] == ("True", "RateLimited")


def test_a_second_look_at_the_same_changes_nothing() -> None:
    for asked, *_ in STATES:
        assert provider_status(again(asked)) == provider_status(asked)
        assert told(again(asked)) == []


def test_changes_that_are_told() -> None:
    suspended = SPEC.model_copy(update={"suspend": True})
    assert told(looked()) == [("Normal", "Accepted")]
    assert told(again(looked(), spec=suspended)) == [("Normal", "Suspended")]
    assert told(again(looked(spec=suspended), spec=SPEC)) == [("Normal", "Resumed")]
    assert told(again(looked(), rejected="535: no")) == [("Warning", "Stalled")]
    assert told(again(looked(), paused_until=LATER, pause_code="429")) == [("Warning", "ProviderPaused")]
    assert told(again(looked(), paused_until=NOW + timedelta(seconds=40), pause_code="429")) == []
