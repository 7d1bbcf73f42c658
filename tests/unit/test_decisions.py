"""What is done for a campaign as a whole, decided from its counts."""

from dataclasses import replace

import pytest

from sendonce_store.decisions import Canary, Facts, Kind, Policy, Step, decide
from sendonce_store.ordering import snake

POLICY = Policy(
    expected_min=None,
    expected_max=None,
    max_rejected_percent=100,
    canary=None,
    breaker_percent=50,
    breaker_min=100,
)
CANARY = Canary(percent=1, min_recipients=100, observe_seconds=900, max_failed_percent=5, automatic=False)
SENDING = Facts(
    import_state="done",
    import_message=None,
    held=False,
    rollout_stage="none",
    stage_seconds=None,
    cancelled=False,
    late=False,
    halt_reason=None,
    ended=None,
    total=1000,
    duplicates=0,
    rejected=0,
    unreachable=0,
    base_failed=0,
    base_final=0,
    pending=900,
    sending=0,
    sent=100,
    failed=0,
    uncertain=0,
    suppressed=0,
    expired=0,
    cancelled_rows=0,
    open_batches=2,
    canary_open=0,
    canary_sent=0,
    canary_failed=0,
)
OVER = replace(SENDING, pending=0, sent=1000, open_batches=0)


def test_a_campaign_that_sends_is_left_alone() -> None:
    assert decide(SENDING, POLICY) is None


def test_complete_when_every_row_is_final() -> None:
    assert decide(OVER, POLICY) == Step(Kind.END, "complete", "AllSent", "1000 sent")


@pytest.mark.parametrize(
    "change",
    [
        {"import_state": "running"},
        {"pending": 1},
        {"sending": 1},
        {"open_batches": 1},
    ],
)
def test_not_complete_while_anything_is_open(change: dict[str, object]) -> None:
    assert decide(replace(OVER, **change), POLICY) is None  # type: ignore[arg-type]


def test_dead_letters_and_unreachable_people_are_said_in_the_end_state() -> None:
    step = decide(replace(OVER, sent=990, failed=6, uncertain=4, unreachable=3), POLICY)
    assert step == Step(Kind.END, "complete", "SomeUndelivered", "990 sent, 10 not, 3 people without an address")


def test_no_recipients_is_an_honest_end() -> None:
    step = decide(replace(OVER, total=0, sent=0, rejected=7), POLICY)
    assert step is not None
    assert (step.kind, step.detail) == (Kind.END, "complete")
    assert step.message == "nothing to send: the source had 7 rows and no recipient among them"


def test_a_failed_import_ends_its_rows_and_then_the_campaign_with_the_sources_words() -> None:
    facts = replace(SENDING, import_state="failed", import_message="spec.recipients.http: 404")
    assert decide(facts, POLICY) == Step(Kind.SETTLE, "cancelled", "import_failed")
    ended = replace(facts, pending=0, cancelled_rows=900, open_batches=0)
    assert decide(ended, POLICY) == Step(Kind.END, "failed", "SourceUnreadable", "spec.recipients.http: 404")


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (replace(POLICY, expected_min=1001), "UnexpectedCount"),
        (replace(POLICY, expected_max=999), "UnexpectedCount"),
    ],
)
def test_a_count_outside_the_expected_range_sends_nothing(policy: Policy, reason: str) -> None:
    held = replace(SENDING, held=True, sent=0, pending=1000)
    assert decide(held, policy) == Step(Kind.SETTLE, "cancelled", snake(reason))
    step = decide(replace(held, pending=0, cancelled_rows=1000, open_batches=0), policy)
    assert step is not None
    assert (step.kind, step.detail, step.reason) == (Kind.END, "failed", reason)
    assert "recipients.expected" in step.message


@pytest.mark.parametrize("total", [1000, 1001, 1600])
def test_a_count_inside_the_expected_range_lets_go(total: int) -> None:
    policy = replace(POLICY, expected_min=1000, expected_max=1600)
    assert decide(replace(SENDING, held=True, total=total), policy) == Step(Kind.RELEASE)


def test_held_rows_wait_for_the_whole_import() -> None:
    assert decide(replace(SENDING, held=True, import_state="running"), POLICY) is None


@pytest.mark.parametrize(("rejected", "refused"), [(20, False), (21, True)])
def test_too_many_refused_rows_send_nothing(rejected: int, refused: bool) -> None:
    facts = replace(SENDING, held=True, total=980, rejected=rejected)
    step = decide(facts, replace(POLICY, max_rejected_percent=2))
    assert step == (Step(Kind.SETTLE, "cancelled", "too_many_rejected") if refused else Step(Kind.RELEASE))


def test_a_cancelled_campaign_ends_as_cancelled_once_its_import_is_over() -> None:
    cancelled = replace(SENDING, cancelled=True)
    assert decide(cancelled, POLICY) == Step(Kind.SETTLE, "cancelled", "cancelled")
    settled = replace(cancelled, pending=0, cancelled_rows=900, open_batches=0)
    assert decide(replace(settled, import_state="running"), POLICY) is None
    assert decide(settled, POLICY) == Step(Kind.END, "failed", "Cancelled", "cancelled by a person")


def test_what_is_in_flight_at_a_cancel_is_waited_for() -> None:
    assert decide(replace(SENDING, cancelled=True, pending=0, sending=3), POLICY) is None


def test_after_the_deadline_what_was_not_handed_off_expires() -> None:
    assert decide(replace(SENDING, late=True), POLICY) == Step(Kind.SETTLE, "expired", "deadline")


def test_a_deadline_before_the_import_is_over_is_a_failure_with_its_reason() -> None:
    late = replace(SENDING, late=True, import_state="running", pending=0, open_batches=0)
    step = decide(late, POLICY)
    assert step is not None
    assert (step.detail, step.reason) == ("failed", "DeadlineBeforeImport")


@pytest.mark.parametrize(("failed", "trips"), [(50, False), (51, True)])
def test_the_breaker_trips_above_its_share(failed: int, trips: bool) -> None:
    step = decide(replace(SENDING, sent=100 - failed, failed=failed), POLICY)
    assert (step is not None) == trips
    if step is not None:
        assert (step.kind, step.reason) == (Kind.HALT, "FailureThreshold")


def test_the_breaker_waits_for_enough_deliveries() -> None:
    assert decide(replace(SENDING, sent=0, failed=99), POLICY) is None


def test_the_breaker_counts_from_the_last_resume() -> None:
    facts = replace(SENDING, sent=149, failed=151, base_failed=100, base_final=100)
    assert decide(facts, POLICY) is None
    step = decide(replace(facts, base_failed=0, base_final=0), POLICY)
    assert step is not None
    assert step.kind is Kind.HALT


def test_no_breaker_under_continue() -> None:
    facts = replace(SENDING, sent=0, failed=900, pending=100)
    assert decide(facts, replace(POLICY, breaker_percent=None)) is None


@pytest.mark.parametrize(("total", "people"), [(1000, 100), (50_000, 500), (50_001, 501), (60, 60)])
def test_the_canary_is_a_share_with_a_least_number(total: int, people: int) -> None:
    facts = replace(SENDING, rollout_stage="importing", total=total, sent=0)
    assert decide(facts, replace(POLICY, canary=CANARY)) == Step(Kind.START_CANARY, people=people)


def test_a_canary_starts_only_after_the_whole_import() -> None:
    facts = replace(SENDING, rollout_stage="importing", import_state="running")
    assert decide(facts, replace(POLICY, canary=CANARY)) is None


def _canary(**change: object) -> Facts:
    canary = replace(SENDING, rollout_stage="canary", pending=900, sent=100, canary_sent=100)
    return replace(canary, **change)  # type: ignore[arg-type]


def test_an_observed_canary_waits_for_a_person_or_goes_on_by_itself() -> None:
    policy = replace(POLICY, canary=CANARY)
    assert decide(_canary(canary_open=1), policy) is None
    assert decide(_canary(), policy) == Step(Kind.STAGE, "observing")
    observing = _canary(rollout_stage="observing", stage_seconds=899.0)
    assert decide(observing, policy) is None
    seen = replace(observing, stage_seconds=900.0)
    assert decide(seen, policy) == Step(Kind.STAGE, "awaiting")
    assert decide(seen, replace(policy, canary=replace(CANARY, automatic=True))) == Step(Kind.PROMOTE)
    assert decide(replace(seen, rollout_stage="awaiting"), policy) is None


@pytest.mark.parametrize("stage", ["canary", "observing"])
def test_a_failing_canary_stops_the_campaign(stage: str) -> None:
    facts = _canary(rollout_stage=stage, stage_seconds=1.0, canary_sent=94, canary_failed=6, sent=94, failed=6)
    step = decide(facts, replace(POLICY, canary=CANARY))
    assert step is not None
    assert (step.kind, step.reason) == (Kind.HALT, "CanaryFailed")


def test_nothing_moves_while_a_person_is_awaited() -> None:
    facts = _canary(halt_reason="CanaryFailed", canary_failed=50)
    assert decide(facts, replace(POLICY, canary=CANARY)) is None


STREAM = replace(OVER, import_state="running", stream=True)


@pytest.mark.parametrize("change", [{"closed": True}, {"cancelled": True}, {"late": True}])
def test_a_stream_has_all_its_recipients_once_nobody_can_be_added_and_nobody_waits(change: dict[str, bool]) -> None:
    assert decide(STREAM, POLICY) is None
    over = replace(STREAM, **change)  # type: ignore[arg-type]
    assert decide(over, POLICY) == Step(Kind.DRAIN)
    assert decide(replace(over, inbox=True), POLICY) is None
    assert decide(replace(over, import_state="done"), POLICY) != Step(Kind.DRAIN)


def test_a_stream_that_can_not_end_yet_is_still_stopped_by_the_breaker() -> None:
    failing = replace(STREAM, closed=True, sent=100, failed=900)
    assert decide(failing, POLICY) == Step(
        Kind.HALT,
        reason="FailureThreshold",
        message="900 of 1000 deliveries failed, at most 50 % allowed (failurePolicy)",
    )
