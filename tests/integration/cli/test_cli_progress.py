"""What a run decides and shows: pure functions of the campaign's overview."""

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from sendonce_cli.exits import Exit
from sendonce_cli.running.pace import Figures, PaceMeter
from sendonce_cli.running.progress import PlainProgress, duration, picture, plain_line
from sendonce_cli.running.summary import exit_code, next_step
from sendonce_cli.running.supervise import Ended, next_move, wanted_workers
from sendonce_store.standing import Counts, Overview, standing

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
BASE = Overview(
    id=1, namespace="default", send_key="spring", name="spring", category="Marketing", topic=None, priority=1, now=NOW,
    created_at=NOW, started_at=NOW, start_at=None, deadline=None, suspended=False, halt_reason=None, halt_message=None,
    cancelled=False, import_state="done", import_message=None, held=False, rollout_stage="none", rollout_since=None,
    total=100, duplicates=0, rejected=0, unreachable=0, counts=Counts(pending=60, sent=38, failed=2), batches=1,
    leased_batches=1, done_batches=0, due=0, waiting=0, next_due=None, wait_reason=None, wait_code=None, canary_total=0,
    canary_sent=0, canary_failed=0, provider_paused_until=None, paused_provider=None, pause_message=None,
    suspended_provider=None, workers_alive=1, worker_problem=None, ended=None, ended_reason=None, ended_message=None,
    completed_at=None, data_deleted_at=None,
)  # fmt: skip

Campaign = Callable[..., Overview]


@pytest.fixture
def campaign() -> Campaign:
    return lambda **changes: replace(BASE, **changes)


@pytest.mark.parametrize(
    ("changes", "interrupted", "wait", "move"),
    [
        ({}, False, False, None),
        ({}, True, False, Ended.INTERRUPTED),
        ({"ended": "complete"}, True, True, Ended.OVER),
        ({"halt_reason": "CredentialsRejected"}, False, False, Ended.WAITS),
        ({"halt_reason": "CredentialsRejected"}, False, True, None),
        ({"halt_reason": "CredentialsRejected"}, True, True, Ended.INTERRUPTED),
        ({"halt_reason": "CredentialsRejected", "cancelled": True}, False, False, None),
        ({"suspended": True}, False, False, Ended.WAITS),
        ({"rollout_stage": "awaiting"}, False, False, Ended.WAITS),
        ({"rollout_stage": "observing"}, False, False, None),
    ],
)
def test_a_run_goes_on_until_there_is_a_reason_to_stop(
    campaign: Campaign, changes: dict[str, Any], interrupted: bool, wait: bool, move: Ended | None
) -> None:
    assert next_move(campaign(**changes), interrupted=interrupted, wait=wait) is move


def test_no_worker_is_started_while_a_person_is_waited_for(campaign: Campaign) -> None:
    assert wanted_workers(campaign(), 3) == 3
    assert wanted_workers(campaign(halt_reason="CanaryFailed"), 3) == 0
    assert wanted_workers(campaign(halt_reason="CanaryFailed", cancelled=True), 3) == 3


@pytest.mark.parametrize(
    ("ended", "changes", "code"),
    [
        (Ended.OVER, {"ended": "complete", "ended_reason": "AllSent", "counts": Counts(sent=3)}, Exit.OK),
        (
            Ended.OVER,
            {"ended": "complete", "ended_reason": "AllSent", "counts": Counts(sent=3, failed=1)},
            Exit.UNDELIVERED,
        ),
        (
            Ended.OVER,
            {"ended": "complete", "ended_reason": "SomeUndelivered", "counts": Counts(sent=3)},
            Exit.UNDELIVERED,
        ),
        (Ended.OVER, {"ended": "failed", "ended_reason": "Cancelled", "counts": Counts()}, Exit.UNDELIVERED),
        (Ended.WAITS, {}, Exit.WAITS),
        (Ended.INTERRUPTED, {}, Exit.INTERRUPTED),
    ],
)
def test_the_exit_code_says_how_it_ended(campaign: Campaign, ended: Ended, changes: dict[str, Any], code: Exit) -> None:
    assert exit_code(ended, campaign(**changes)) is code


@pytest.mark.parametrize(
    ("ended", "changes", "words"),
    [
        (Ended.INTERRUPTED, {}, "stopped with 60 deliveries to go: run the same command again to continue"),
        (
            Ended.WAITS,
            {"halt_reason": "CredentialsRejected"},
            "`sendonce resume spring` and run the same command again",
        ),
        (Ended.WAITS, {"suspended": True}, "`sendonce resume spring`"),
        (Ended.WAITS, {"rollout_stage": "awaiting"}, "`sendonce promote spring`"),
        (Ended.OVER, {}, "`sendonce retry spring`"),
        (Ended.OVER, {"namespace": "shop"}, "`sendonce retry -n shop spring`"),
        (Ended.OVER, {"counts": Counts(sent=1), "rejected": 3}, "`sendonce rejects spring`"),
    ],
)
def test_people_are_told_what_to_do_next(campaign: Campaign, ended: Ended, changes: dict[str, Any], words: str) -> None:
    assert words in next_step(ended, campaign(**changes))


def test_the_pace_is_that_of_the_last_ten_seconds(campaign: Campaign) -> None:
    meter = PaceMeter()

    def at(seconds: float, sent: int) -> Figures:
        return meter.take(campaign(counts=Counts(pending=1000 - sent, sent=sent)), seconds)

    assert at(0, 0) == Figures(0.0, None)
    assert at(5, 500) == Figures(100.0, 5.0)
    for second in range(6, 21):
        at(second, 500 + second - 5)
    assert at(21, 516).per_second == pytest.approx(1.0, abs=0.1)


def test_the_time_left_is_not_said_before_all_recipients_are_known(campaign: Campaign) -> None:
    meter = PaceMeter()
    meter.take(campaign(counts=Counts(pending=100)), 0)
    found = meter.take(campaign(counts=Counts(pending=50, sent=50), import_state="running"), 5)
    assert found == Figures(10.0, None)


def test_what_waits_for_its_own_time_takes_at_least_until_then(campaign: Campaign) -> None:
    meter = PaceMeter()
    meter.take(campaign(counts=Counts(pending=100)), 0)
    waits = {"leased_batches": 0, "waiting": 50, "next_due": NOW + timedelta(minutes=10)}
    assert meter.take(campaign(counts=Counts(pending=50, sent=50), **waits), 5).seconds_left == 600.0


def test_a_line_for_pipes_says_it_all(campaign: Campaign) -> None:
    line = plain_line(campaign(), standing(campaign()), Figures(12.4, 5.0), 2)
    assert line == "spring  Sending  40/100  12/s  about 5 s left  sent=38 failed=2 pending=60  2 workers"
    paused = campaign(
        leased_batches=0,
        provider_paused_until=NOW + timedelta(seconds=9),
        paused_provider="smtp",
        pause_message="421 slow",
    )
    line = plain_line(paused, standing(paused), Figures(0, None), 1)
    assert line == (
        "spring  ProviderPaused  40/100  sent=38 failed=2 pending=60  1 worker  "
        "smtp until 2026-11-29T12:00:09Z: 421 slow"
    )


def shown(campaign: Overview) -> str:
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as captured:
        console.print(picture(campaign, standing(campaign), Figures(12.4, 90.0), 2))
    return captured.get()


def test_the_picture_shows_every_state_that_occurs(campaign: Campaign) -> None:
    drawn = shown(campaign(counts=Counts(pending=10, sent=1_000_000, failed=1, uncertain=1)))
    headline, bar, legend = drawn.splitlines()
    assert headline == "spring  Sending  1,000,002 of 1,000,012 · 12/s · about 90 s left · 2 workers"
    assert len(bar) == 60
    assert legend.split() == ["sent", "1,000,000", "uncertain", "1", "failed", "1", "pending", "10"]


def test_the_picture_tells_why_nothing_moves(campaign: Campaign) -> None:
    drawn = shown(campaign(halt_reason="CredentialsRejected", halt_message="535 no"))
    assert "CredentialsRejected" in drawn
    assert "535 no" in drawn
    waiting = campaign(waiting=7, next_due=NOW + timedelta(minutes=1), due=5)
    assert "7 wait for another attempt" in shown(waiting)
    assert "Importing" in shown(campaign(counts=Counts(), import_state="running"))


def test_plain_progress_prints_at_intervals_and_when_the_word_changes(campaign: Campaign) -> None:
    stream = io.StringIO()
    progress = PlainProgress(Console(file=stream, width=200), every=3600)
    progress.show(campaign(), 1)
    progress.show(campaign(counts=Counts(pending=1, sent=99)), 1)
    progress.show(campaign(suspended=True), 1)
    progress.say("by the way")
    assert [line.split("  ")[:2] for line in stream.getvalue().splitlines()] == [
        ["spring", "Sending"],
        ["spring", "Suspended"],
        ["by the way"],
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (99, "99 s"), (100, "2 min"), (5000, "83 min"), (11_100, "3 h 5 min")]
)
def test_a_duration_is_as_exact_as_people_need(seconds: float, words: str) -> None:
    assert duration(seconds) == words
