"""What else a campaign's status says: counters, times, errors, workers; and what it keeps when nothing can be read."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.operator_cases.situations import (
    COMPLETE,
    CREATED,
    IDLE,
    NOW,
    SENDING,
    SUBJECT,
    after,
    conditions,
    sending,
    situation,
    spec,
)

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import (
    LEDGER_ANNOTATION,
    Adoption,
    FarEndError,
    Pace,
    PodTrouble,
    ProviderFacts,
    Refusal,
    Workforce,
)
from sendonce_operator.decisions.progress import Progress
from sendonce_operator.decisions.status import MOST_BYTES, size, status
from sendonce_store.spec import CampaignStatus, ReceiptCounts
from sendonce_store.standing import Counts, Reports

AWAY = refusal.store_unavailable("no route to host")


def test_counters_are_those_of_the_ledger_and_add_up() -> None:
    wire = status(situation(sending(counts=Counts(1, 2, 3, 4, 5, 6, 7, 8))))
    assert wire["deliveries"].pop("total") == sum(wire["deliveries"].values()) == 36
    assert wire["deliveries"] == {
        "pending": 1,
        "sending": 2,
        "sent": 3,
        "failed": 4,
        "uncertain": 5,
        "suppressed": 6,
        "expired": 7,
        "cancelled": 8,
    }
    assert wire["recipients"] == {"total": 1000, "duplicates": 3, "rejected": 2, "unreachable": 1}


def test_times_are_whole_seconds() -> None:
    wire = status(situation(sending(**COMPLETE)))
    assert (wire["startTime"], wire["completionTime"]) == ("2026-12-04T08:00:05Z", "2026-12-04T08:54:59Z")


def test_the_start_that_froze_the_content_stays() -> None:
    old = CampaignStatus(observed_generation=1, start_time=CREATED)
    wire = status(situation(subject=replace(SUBJECT, status=old)))
    assert wire["startTime"] == "2026-12-04T08:00:00Z"


def test_rollout_tells_the_canary() -> None:
    canary = {"canary_total": 100, "canary_sent": 98, "canary_failed": 2}
    wire = status(situation(sending(**IDLE, **canary, rollout_stage="observing", rollout_since=NOW)))
    assert wire["rollout"] == {
        "stage": "Observing",
        "canary": {"total": 100, "sent": 98, "failed": 2},
        "since": "2026-12-04T09:00:00Z",
    }
    assert "rollout" not in status(situation())


def test_workers_are_those_of_the_cluster() -> None:
    assert status(situation(workforce=Workforce(3, 2)))["workers"] == {"desired": 3, "ready": 2}
    assert status(after(situation(workforce=Workforce(3, 2)), workforce=None))["workers"] == {"desired": 3, "ready": 2}


def test_receipts_are_those_of_the_ledger_and_stay_while_it_is_away() -> None:
    assert status(situation(sending(reports=Reports(7, 1))))["receipts"] == {"delivered": 7, "bounced": 1}
    assert "receipts" not in status(situation())
    old = CampaignStatus(observed_generation=1, receipts=ReceiptCounts(delivered=7, bounced=1))
    away = situation(None, subject=replace(SUBJECT, status=old), refusal=AWAY)
    assert status(away)["receipts"] == {"delivered": 7, "bounced": 1}


# --- conditions in time ----------------------------------------------------------------------------------------------
def test_a_transition_time_moves_only_when_the_status_flips() -> None:
    first = situation(sending(**IDLE, waiting=700, next_due=NOW + timedelta(hours=1), wait_reason="quiet_hours"))
    same = {c["type"]: c["lastTransitionTime"] for c in status(after(first, overview=SENDING))["conditions"]}
    assert set(same.values()) == {"2026-12-04T09:00:00Z"}
    flipped = {c["type"]: c["lastTransitionTime"] for c in status(after(first, refusal=AWAY))["conditions"]}
    assert {name for name, when in flipped.items() if when == "2026-12-04T09:00:10Z"} == {"Ready", "Reconciling"}


def test_conditions_speak_of_the_generation_that_was_judged() -> None:
    wire = status(situation(subject=replace(SUBJECT, generation=4)))
    assert wire["observedGeneration"] == 4
    assert {condition["observedGeneration"] for condition in wire["conditions"]} == {4}


def test_a_second_look_at_the_same_changes_nothing() -> None:
    first = situation(errors=(FarEndError("550", "permanent", 10, "no"),))
    assert status(after(first)) == status(first)


def test_a_retry_of_a_finished_campaign_opens_it_again() -> None:
    reopened = after(situation(sending(**COMPLETE)), overview=SENDING)
    wire = status(reopened)
    assert "completionTime" not in wire
    assert conditions(wire)["Complete"] == ("False", "Retrying")
    assert conditions(status(after(reopened)))["Complete"] == ("False", "Retrying")
    assert conditions(status(after(reopened, overview=sending(**COMPLETE))))["Complete"] == ("True", "SomeUndelivered")


# --- nothing can be read ---------------------------------------------------------------------------------------------
def test_what_was_known_stands_while_the_store_is_away() -> None:
    first = situation(errors=(FarEndError("550", "permanent", 10, "no"),))
    away = status(after(first, overview=None, refusal=AWAY))
    assert conditions(away)["Ready"] == ("Unknown", "StoreUnavailable")
    assert conditions(away)["Accepted"] == ("True", "Accepted")
    assert conditions(away)["Imported"] == ("True", "Imported")
    before = status(first)
    for name in ("deliveries", "recipients", "startTime", "topErrors", "workers"):
        assert away[name] == before[name]


@pytest.mark.parametrize(
    "passing",
    [AWAY, refusal.starting(), refusal.missing(SUBJECT, "x", NOW), Refusal("LedgerMissing", "m", stalled=True)],
)
def test_an_end_is_not_taken_back_by_what_passes(passing: Refusal) -> None:
    first = situation(sending(**COMPLETE))
    assert status(after(first, overview=None, refusal=passing)) == status(first)


def test_an_end_does_not_hide_a_spec_that_became_wrong() -> None:
    wrong = Refusal("InvalidSpec", "spec.retry: wrong", stalled=True)
    wire = status(after(situation(sending(**COMPLETE)), overview=None, refusal=wrong))
    assert conditions(wire)["Accepted"] == ("False", "InvalidSpec")
    assert conditions(wire)["Complete"] == ("True", "SomeUndelivered")


def test_counts_of_a_row_that_is_not_ours_are_not_shown() -> None:
    conflict = refusal.send_key_conflict("spring", "other content")
    assert "deliveries" not in status(after(situation(), overview=None, refusal=conflict))


def test_an_object_without_its_record_needs_a_person() -> None:
    restored = replace(SUBJECT, annotations={LEDGER_ANNOTATION: "other"})
    missing = refusal.ledger_missing(restored, "mine", "spring")
    assert missing is not None
    wire = status(situation(None, subject=restored, refusal=missing))
    assert conditions(wire)["Stalled"] == ("True", "LedgerMissing")


def test_what_was_cancelled_before_says_how_to_send_anew() -> None:
    ended = sending(**COMPLETE | {"ended": "failed", "ended_reason": "Cancelled", "ended_message": "deleted"})
    wire = status(situation(ended, adoption=Adoption.ALREADY_SENT))
    assert (
        wire["conditions"][0]["message"] == "deleted (before this object came); to send anew, give it another sendKey"
    )


# --- errors ----------------------------------------------------------------------------------------------------------
def test_the_five_most_frequent_errors_by_code() -> None:
    errors = [FarEndError(f"4.{n}", "x", n, f"m{n}") for n in range(1, 8)] + [FarEndError("4.1", "y", 9, "again")]
    found = status(situation(errors=tuple(errors)))["topErrors"]
    assert [(error["code"], error["count"]) for error in found] == [
        ("4.1", 10),
        ("4.7", 7),
        ("4.6", 6),
        ("4.5", 5),
        ("4.4", 4),
    ]
    assert found[0]["message"] == "again"


def test_an_error_without_a_code_goes_by_its_reason() -> None:
    found = status(situation(errors=(FarEndError(None, "render_error", 1, None),)))["topErrors"]
    assert found == [{"code": "render_error", "count": 1, "message": ""}]


def test_errors_that_were_not_read_again_stay() -> None:
    first = situation(errors=(FarEndError("550", None, 1, "no"),))
    assert status(after(first, errors=None))["topErrors"] == status(first)["topErrors"]
    assert status(after(first, errors=()))["topErrors"] == []


def test_no_address_gets_into_the_status() -> None:
    address = "jane.doe@example.com"
    words = f"550 <{address}> unknown, call +819012345678"
    halted = sending(halt_reason="CredentialsRejected", halt_message=f"Email over smtp: 535: {words}")
    paused = sending(
        **IDLE, provider_paused_until=NOW + timedelta(hours=1), paused_provider="smtp", pause_message=words
    )
    trouble = PodTrouble("CrashLoopBackOff", words, NOW - timedelta(minutes=1), 1)
    for asked in (
        situation(halted),
        situation(paused),
        situation(sending(import_state="running", counts=Counts(), import_message=words)),
        situation(sending(**COMPLETE | {"ended_message": words})),
        situation(sending(worker_problem=words)),
        situation(sending(workers_alive=0), workforce=Workforce(1, 0, trouble)),
        situation(None, refusal=Refusal("InvalidSpec", words, stalled=True)),
        situation(errors=(FarEndError("550", None, 1, words),)),
    ):
        text = str(status(asked))
        assert "j***@example.com" in text
        assert address not in text
        assert "9012345678" not in text


def test_the_size_is_that_of_what_the_api_server_stores() -> None:
    assert size({"a": "<会"}) == len(b'{"a":"') + len("\\u003c") + 3 + len('"}')


def test_a_status_stays_small_whatever_is_said() -> None:
    words = '<&"\\' * 2000 + "会" * 2000
    errors = tuple(FarEndError(f"{n}" * 100, None, n, words) for n in range(1, 9))
    for asked in (
        situation(None, refusal=Refusal("InvalidSpec", words, stalled=True), errors=errors),
        situation(sending(**COMPLETE | {"ended": "failed", "ended_message": words}), errors=errors),
        situation(sending(halt_reason="CredentialsRejected", halt_message=words), errors=errors),
    ):
        wire = status(asked)
        assert size(wire) <= MOST_BYTES
        CampaignStatus.from_wire(wire)


# --- the end ---------------------------------------------------------------------------------------------------------
RATE = Progress(NOW, 300, 7.0, NOW)


def test_the_estimate_is_a_whole_minute_from_the_rate_that_was_seen() -> None:
    assert status(situation(progress=RATE))["estimatedCompletionTime"] == "2026-12-04T09:02:00Z"


def test_the_estimate_stands_while_the_new_one_is_close() -> None:
    first = situation(sending(counts=Counts(pending=70_000)), progress=RATE)
    assert status(first)["estimatedCompletionTime"] == "2026-12-04T11:47:00Z"
    slower = replace(RATE, per_second=6.7)
    assert status(after(first, progress=slower))["estimatedCompletionTime"] == "2026-12-04T11:47:00Z"
    much = replace(RATE, per_second=3.5)
    assert status(after(first, progress=much))["estimatedCompletionTime"] == "2026-12-04T14:34:00Z"


def test_before_anything_was_seen_the_pace_gives_the_estimate() -> None:
    provider = ProviderFacts("smtp", "NotificationProvider", (Pace(70, 10), Pace(1_000_000, 86_400)))
    wire = status(situation(providers=(provider,)))
    assert wire["estimatedCompletionTime"] == "2026-12-04T09:02:00Z"


def test_a_provider_without_limits_gives_no_pace() -> None:
    paced = ProviderFacts("smtp", "NotificationProvider", (Pace(7, 1),))
    free = ProviderFacts("other", "NotificationProvider")
    assert "estimatedCompletionTime" not in status(situation(providers=(paced, free)))
    assert "estimatedCompletionTime" in status(situation(providers=(paced, paced)))


def test_what_begins_later_ends_later() -> None:
    waits = sending(**IDLE, waiting=700, next_due=NOW + timedelta(hours=3), wait_reason="quiet_hours")
    assert status(situation(waits, progress=RATE))["estimatedCompletionTime"] == "2026-12-04T12:02:00Z"


@pytest.mark.parametrize(
    "asked",
    [
        situation(sending(import_state="running"), progress=RATE),
        situation(sending(halt_reason="FailureThreshold", halt_message="m"), progress=RATE),
        situation(spec=spec(suspend=True), progress=RATE),
        situation(sending(rollout_stage="observing"), progress=RATE),
        situation(sending(**COMPLETE), progress=RATE),
        situation(sending(cancelled=True), progress=RATE),
        situation(refusal=AWAY, progress=RATE),
        situation(progress=replace(RATE, per_second=0.0)),
        situation(progress=replace(RATE, per_second=1e-9)),
        situation(),
    ],
)
def test_no_estimate_where_none_can_be_made(asked: object) -> None:
    assert "estimatedCompletionTime" not in status(asked)  # type: ignore[arg-type]
