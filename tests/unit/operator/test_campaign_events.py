"""Which changes of a campaign are told, and that nothing is told twice."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.operator_cases.situations import COMPLETE, IDLE, NOW, WORKING, after, sending, situation, spec

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.events import LONGEST_MESSAGE, Event, transitions
from sendonce_operator.decisions.facts import Adoption, Mode, PodTrouble, Refusal, Situation, Workforce
from sendonce_operator.decisions.progress import Progress
from sendonce_operator.decisions.status import status
from sendonce_store.spec import CampaignStatus
from sendonce_store.standing import Counts

FRESH = sending(**IDLE | {"counts": Counts()}, import_state="pending")
IMPORTED = sending(**IDLE | {"counts": Counts(pending=700)}, rejected=0)
HALTED = {"halt_reason": "FailureThreshold", "halt_message": "51 of 100 deliveries failed"}
HOUR = NOW + timedelta(hours=1)


def told(asked: Situation) -> list[Event]:
    return transitions(asked, CampaignStatus.from_wire(status(asked)))


def reasons(asked: Situation) -> list[tuple[str, str]]:
    return [(event.type, event.reason) for event in told(asked)]


def changed(before: Situation, **changes: Any) -> list[tuple[str, str]]:
    """What is told of a change, after which a look at the same tells nothing."""
    change = after(before, **changes)
    found = reasons(change)
    assert reasons(after(change)) == []
    return found


def test_a_new_campaign_is_accepted_and_warned_of_a_missing_deadline() -> None:
    assert reasons(situation(FRESH)) == [("Normal", "Accepted"), ("Warning", "NoDeadline")]
    dated = spec(schedule={"deadline": "2027-01-01T00:00:00Z"})
    assert reasons(situation(FRESH, spec=dated)) == [("Normal", "Accepted")]
    assert reasons(situation(FRESH, spec=spec(category="Transactional"))) == [("Normal", "Accepted")]


def test_an_adopted_campaign_is_adopted() -> None:
    assert reasons(situation(FRESH, adoption=Adoption.CONTINUED))[0] == ("Normal", "Adopted")
    done = situation(sending(**COMPLETE), adoption=Adoption.ALREADY_SENT)
    assert reasons(done) == [("Normal", "Adopted")]
    assert "had ended before this one came" in told(done)[0].message


def test_a_refusal_is_told_once_and_its_cure_too() -> None:
    wrong = Refusal("InvalidSpec", "spec.retry.maxAttempts: must be at least 1", stalled=True)
    refused = situation(None, refusal=wrong)
    assert told(refused) == [Event("Warning", "Refused", "InvalidSpec: spec.retry.maxAttempts: must be at least 1")]
    assert reasons(after(refused)) == []
    assert changed(refused, overview=FRESH, refusal=None)[0] == ("Normal", "Accepted")
    other = Refusal("ProviderNotFound", "why", stalled=True)
    assert changed(refused, refusal=other) == [("Warning", "Refused")]


def test_what_passes_by_itself_is_not_told() -> None:
    assert reasons(situation(None, refusal=refusal.starting())) == []
    assert changed(situation(), overview=None, refusal=refusal.store_unavailable("x")) == []


def test_import_start_and_end() -> None:
    first = situation(FRESH)
    assert changed(first, overview=IMPORTED) == [("Normal", "Imported")]
    assert changed(first, overview=replace(IMPORTED, rejected=5)) == [
        ("Normal", "Imported"),
        ("Warning", "RowsRejected"),
    ]
    imported = situation(IMPORTED)
    assert changed(imported, overview=sending()) == [("Normal", "Started")]
    assert changed(situation(), overview=sending(**COMPLETE)) == [("Normal", "Completed")]


@pytest.mark.parametrize(
    ("reason", "event"), [("Cancelled", ("Normal", "Cancelled")), ("SourceUnreadable", ("Warning", "Failed"))]
)
def test_how_a_campaign_failed(reason: str, event: tuple[str, str]) -> None:
    ended = sending(**COMPLETE | {"ended": "failed", "ended_reason": reason})
    assert changed(situation(), overview=ended) == [event]


def test_the_canary() -> None:
    canary = {"canary_total": 100, "canary_sent": 98, "canary_failed": 2}
    first = situation(sending(**IDLE, **canary, rollout_stage="canary"))
    observing = after(first, overview=sending(**IDLE, **canary, rollout_stage="observing"))
    assert told(observing) == [Event("Normal", "CanaryDone", "98 of 100 sent, 2 failed")]
    awaiting = after(observing, overview=sending(**IDLE, **canary, rollout_stage="awaiting"))
    assert reasons(awaiting) == []
    promoted = sending(**IDLE, **canary, rollout_stage="promoted")
    assert changed(awaiting, overview=promoted) == [("Normal", "Promoted")]


def test_suspend_and_resume() -> None:
    suspended = after(situation(), spec=spec(suspend=True))
    assert reasons(suspended) == [("Normal", "Suspended")]
    assert changed(suspended, spec=spec()) == [("Normal", "Resumed")]
    assert changed(suspended, overview=sending(**COMPLETE)) == [("Normal", "Completed")]
    assert changed(situation(), mode=Mode.STANDBY) == [("Normal", "Suspended")]


@pytest.mark.parametrize("reason", ["FailureThreshold", "CanaryFailed"])
def test_the_breaker_and_its_release(reason: str) -> None:
    halted = after(situation(), overview=sending(**HALTED | {"halt_reason": reason}))
    assert reasons(halted) == [("Warning", reason)]
    assert changed(halted, overview=sending()) == [("Normal", "Resumed")]


def test_what_needs_a_person_is_told_with_its_reason() -> None:
    halted = after(situation(), overview=sending(**HALTED | {"halt_reason": "CredentialsRejected"}))
    assert told(halted)[0].message.startswith("CredentialsRejected: 51 of 100")
    trouble = PodTrouble("ErrImagePull", "why", NOW - timedelta(minutes=1))
    idle = sending(workers_alive=0)
    assert changed(situation(idle), workforce=Workforce(1, 0, trouble)) == [("Warning", "Stalled")]


def test_a_pause_is_told_when_it_is_long() -> None:
    long = sending(**IDLE, provider_paused_until=HOUR, paused_provider="smtp")
    assert changed(situation(), overview=long) == [("Warning", "ProviderPaused")]
    short = replace(long, provider_paused_until=NOW + timedelta(seconds=30))
    assert changed(situation(), overview=short) == []
    killed = sending(**IDLE, suspended_provider="smtp")
    assert changed(situation(), overview=killed) == [("Warning", "ProviderPaused")]


def test_a_deadline_that_will_not_be_kept() -> None:
    dated = sending(deadline=NOW + timedelta(minutes=10))
    quick, slow = Progress(NOW, 300, 100.0, NOW), Progress(NOW, 300, 0.1, NOW)
    first = situation(dated, progress=quick)
    assert changed(first, progress=slow) == [("Warning", "DeadlineAtRisk")]


def test_a_message_fits_into_an_event() -> None:
    wrong = Refusal("InvalidSpec", "x" * 5000, stalled=True)
    assert len(told(situation(None, refusal=wrong))[0].message.encode()) <= LONGEST_MESSAGE


def test_no_address_is_told() -> None:
    halted = sending(halt_reason="CredentialsRejected", halt_message="smtp: 535 jane@example.com")
    assert "j***@example.com" in told(after(situation(), overview=halted, workforce=WORKING))[0].message
