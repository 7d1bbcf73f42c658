"""What an action's status says, the order that it gives, and which changes are told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.operator_cases.action_states import ACTION, APPLIED, STATES, looked
from tests.operator_cases.health import argocd, kstatus
from tests.operator_cases.situations import COMPLETE, NOW, SENDING, conditions

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.actions import (
    ActionSituation,
    action_events,
    action_status,
    applied_event,
    early,
    is_over,
    requester,
)
from sendonce_operator.decisions.facts import Refusal
from sendonce_store.actions import Applied
from sendonce_store.spec import ActionSpec, ActionStatus


def again(before: ActionSituation, **changes: Any) -> ActionSituation:
    seen = ActionStatus.from_wire(action_status(before))
    later = replace(before, subject=replace(before.subject, status=seen), now=before.now + timedelta(seconds=10))
    return replace(later, **changes)


def told(asked: ActionSituation) -> list[tuple[str, str]]:
    new = ActionStatus.from_wire(action_status(asked))
    return [(event.type, event.reason) for event in action_events(asked.subject.status, new)]


@pytest.mark.parametrize(("asked", "expected", "health", "argo"), STATES)
def test_conditions_and_what_tools_make_of_them(
    asked: ActionSituation, expected: dict[str, str], health: str, argo: str
) -> None:
    wire = action_status(asked)
    assert {name: state for name, (state, _) in conditions(wire).items()} == expected
    assert kstatus(wire, 1) == health
    assert argocd("NotificationAction", wire)[0] == argo
    assert told(again(asked)) == []


def test_what_it_did_and_when() -> None:
    begun = again(looked(), applied=APPLIED)
    wire = action_status(begun)
    assert (wire["matched"], wire["changed"]) == (12, 10)
    assert (wire["startTime"], wire["completionTime"]) == ("2026-12-04T09:00:00Z", "2026-12-04T09:00:10Z")


def test_what_waits_has_not_begun() -> None:
    waiting = looked(refusal=refusal.missing(ACTION, "x", NOW, "CampaignNotFound"))
    assert "startTime" not in action_status(waiting)


def test_an_end_stays_as_it_is() -> None:
    done = looked(applied=APPLIED)
    wire = action_status(done)
    assert is_over(ActionStatus.from_wire(wire))
    assert action_status(again(done, applied=Applied(0, 0, "", again=True))) == wire
    assert not is_over(None)
    assert not is_over(ActionStatus.from_wire(action_status(looked())))


def test_changes_that_are_told() -> None:
    assert told(looked()) == []
    assert told(again(looked(), applied=APPLIED)) == [("Normal", "ActionApplied")]
    assert told(again(looked(), refused="x")) == [("Warning", "Failed")]
    assert told(looked(refusal=Refusal("CampaignNotFound", "x", stalled=True))) == [("Warning", "Stalled")]


def test_who_ordered_it_is_who_the_console_says() -> None:
    assert requester(ACTION) is None
    asked = replace(ACTION, annotations={"sendonce.dev/requested-by": " mia@example.com "})
    assert requester(asked) == "mia@example.com"


def test_the_campaign_is_told_too() -> None:
    spec = ActionSpec.from_wire({"type": "Retry", "campaignRef": {"name": "spring"}})
    assert applied_event("spring-retry-1", spec, APPLIED.message).message == (
        "Retry spring-retry-1: 10 of 12 deliveries changed"
    )


STAGES = {"importing": True, "canary": True, "observing": False, "awaiting": False, "promoted": False, "none": False}


@pytest.mark.parametrize(("stage", "waits"), STAGES.items())
def test_a_promote_that_comes_early_waits_until_the_canary_has_been_sent(stage: str, waits: bool) -> None:
    promote = ActionSpec.from_wire({"campaignRef": {"name": "spring"}, "type": "Promote"})
    found = early(promote, replace(SENDING, rollout_stage=stage))
    assert (found is not None and found.reason == "WaitingForCanary" and not found.stalled) == waits
    retry = ActionSpec.from_wire({"campaignRef": {"name": "spring"}, "type": "Retry"})
    assert early(retry, replace(SENDING, rollout_stage=stage)) is None


def test_a_promote_does_not_wait_for_a_canary_that_failed_or_a_campaign_that_has_ended() -> None:
    promote = ActionSpec.from_wire({"campaignRef": {"name": "spring"}, "type": "Promote"})
    assert early(promote, replace(SENDING, rollout_stage="canary", halt_reason="CanaryFailed")) is None
    assert early(promote, replace(SENDING, **COMPLETE, rollout_stage="importing")) is None
    waits = early(promote, None)
    assert waits is not None
    assert waits.reason == "Starting"
