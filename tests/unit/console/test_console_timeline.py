"""What happened to a campaign, told by what it left behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.operator_cases.situations import COMPLETE, SENDING, sending, spec

from sendonce_console.views.deadletters import order_view
from sendonce_console.views.timeline import timeline
from sendonce_store.console_campaigns import Record
from sendonce_store.console_deadletters import PlacedOrder
from sendonce_store.console_story import Disturbance, Import, Story
from sendonce_store.ledger import WorkerLine

NOW = SENDING.now
RECORD = Record(1, "argocd-controller", None, "v1:x", spec())
BEGUN = Story(Import(NOW - timedelta(minutes=50), NOW - timedelta(minutes=40), "done"), (), {}, ())


def minutes(ago: float) -> timedelta:
    return timedelta(minutes=ago)


def disturbed(outcome: str, ago: float, count: int = 1, message: str = "") -> Disturbance:
    at = NOW - minutes(ago)
    return Disturbance(at, outcome, at, at + timedelta(seconds=20), count, 1, "w1", "429", message)


def titles(*, people: bool = True, story: Story = BEGUN, campaign: object = SENDING) -> list[str]:
    return [one.title for one in timeline(campaign, RECORD, story, (), people=people)]  # type: ignore[arg-type]


def test_the_newest_is_first_and_who_applied_it_last() -> None:
    found = timeline(SENDING, RECORD, BEGUN, (), people=True)
    assert [one.title for one in found][-1] == "Applied"
    assert found[-1].detail == "by argocd-controller"
    assert [one.at for one in found] == sorted((one.at for one in found), reverse=True)
    imported = next(one for one in found if one.title == "Imported")
    assert imported.detail.startswith("1,000 people; 3 duplicates and 2 refused rows left out; 1 without")


def test_a_worker_that_died_is_told_twice_by_its_silence_and_by_what_was_taken_over() -> None:
    gone = WorkerLine("w1", NOW - minutes(30), NOW - minutes(10), None, None, 600.0)
    well = WorkerLine("w2", NOW - minutes(20), NOW, None, None, 1.0)
    left = WorkerLine("w3", NOW - minutes(20), NOW - minutes(2), NOW - minutes(1), None, 120.0)
    story = replace(BEGUN, workers=(gone, well, left), disturbances=(disturbed("recovered", 9, 17),))
    found = titles(story=story)
    for title, times in (
        ("A worker fell silent", 1),
        ("A worker died; another took over", 1),
        ("A worker started", 3),
        ("A worker stopped", 1),
    ):
        assert found.count(title) == times


def test_what_goes_on_for_minutes_is_one_pause() -> None:
    story = replace(BEGUN, disturbances=tuple(disturbed("rate_limited", ago, 5) for ago in (10, 9, 8, 3)))
    found = [one for one in timeline(SENDING, RECORD, story, (), people=True) if one.title == "Paused by the provider"]
    assert [one.detail for one in found] == ["It asked to slow down, 5 times.", "It asked to slow down, 15 times."]


def test_the_far_ends_words_are_masked_for_who_may_not_see_people() -> None:
    story = replace(BEGUN, disturbances=(disturbed("account", 3, message="no credit to write to rob@example.com"),))
    said = [
        one.said for people in (True, False) for one in timeline(SENDING, RECORD, story, (), people=people) if one.said
    ]
    assert said == ["no credit to write to rob@example.com", "no credit to write to r***@example.com"]


def test_the_end_and_peoples_orders_are_told() -> None:
    at = NOW - minutes(2)
    order = PlacedOrder("retry-1", "Retry", {"requestedBy": "mia", "states": ["failed"]}, 5, 4, "4 of 5", at, at)
    found = timeline(sending(**COMPLETE), RECORD, BEGUN, [order_view(order)], people=True)
    assert [one.title for one in found][:2] == ["Tried again", "Finished"]
    assert "by mia" in found[0].detail
    cancelled = sending(**{**COMPLETE, "ended": "failed", "ended_reason": "Cancelled"})
    assert "Cancelled" in titles(campaign=cancelled)
