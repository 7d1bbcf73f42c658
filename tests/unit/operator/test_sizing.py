"""How many workers a campaign wants."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operator_cases.situations import COMPLETE, DEFAULTS, IDLE, NOW, sending, spec

from sendonce_operator.decisions.facts import Defaults, Mode, Pace, ProviderFacts
from sendonce_operator.decisions.size import replicas
from sendonce_store.spec import CampaignSpec
from sendonce_store.standing import Counts, Overview

FREE = ProviderFacts("smtp", "NotificationProvider")
STANDBY = replace(DEFAULTS, mode=Mode.STANDBY)


def paced(*limits: tuple[int, int], **changes: Any) -> ProviderFacts:
    return replace(FREE, limits=tuple(Pace(*limit) for limit in limits), **changes)


def big(**changes: Any) -> Overview:
    """A million deliveries, all due."""
    base = {"counts": Counts(pending=1_000_000), "due": 1_000_000, "leased_batches": 0}
    return sending(**(base | changes))


def wanted(
    overview: Overview,
    *providers: ProviderFacts,
    current: int = 0,
    defaults: Defaults = DEFAULTS,
    asked: CampaignSpec | None = None,
) -> int:
    return replicas(overview, asked or spec(), providers or (FREE,), defaults, current)


def test_work_for_many_gets_as_many_as_the_spec_allows() -> None:
    assert wanted(big()) == 10
    assert wanted(big(), asked=spec(workers={"max": 3})) == 3
    assert wanted(big(), asked=spec(workers={"max": 1000})) == DEFAULTS.max_workers


def test_work_for_one_gets_one() -> None:
    assert wanted(big(counts=Counts(pending=1), due=1)) == 1
    assert wanted(big(counts=Counts(pending=7000), due=7000)) == 1


def test_more_work_gets_more_workers() -> None:
    assert [wanted(big(counts=Counts(pending=n), due=n)) for n in (8_000, 16_000, 40_000)] == [2, 3, 6]


def test_a_worker_with_little_in_flight_is_worth_less() -> None:
    few = spec(workers={"concurrency": 8})
    assert wanted(big(counts=Counts(pending=7000), due=7000), asked=few) == 8
    assert wanted(big(counts=Counts(pending=7000), due=7000), replace(FREE, max_in_flight=8)) == 8


def test_never_more_workers_than_batches() -> None:
    one = spec(workers={"concurrency": 1})
    assert wanted(big(counts=Counts(pending=900), due=900), asked=one) == 2
    assert wanted(big(counts=Counts(pending=900), due=0, leased_batches=2), asked=one) == 2


@pytest.mark.parametrize(
    ("providers", "workers"),
    [
        ([paced((10, 1))], 1),
        ([paced((60, 60))], 1),
        ([paced((200, 1))], 4),
        ([paced((200, 1), (1000, 100))], 1),
        ([paced((200, 1), timeout_seconds=1)], 4),
        ([paced((200, 1)), paced((200, 1))], 4),
        ([paced((200, 1)), paced((200, 1), name="other")], 8),
        ([paced((10, 1)), replace(FREE, name="other")], 10),
        ([paced((200, 1), max_in_flight=1000)], 4),
        ([paced((200, 1), max_in_flight=40)], 5),
    ],
)
def test_never_more_than_the_pace_can_use(providers: list[ProviderFacts], workers: int) -> None:
    assert wanted(big(), *providers) == workers


NOTHING: dict[str, Any] = {
    "complete": COMPLETE,
    "failed": COMPLETE | {"ended": "failed"},
    "ended, whatever its rows say": {"ended": "failed"},
    "suspended": {"suspended": True},
    "halted": {"halt_reason": "FailureThreshold", "halt_message": "m"},
    "awaiting promotion": {"rollout_stage": "awaiting"},
    "cancelled": {"cancelled": True},
    "starts later": {"start_at": NOW + timedelta(minutes=2)},
    "canary is observed": IDLE | {"rollout_stage": "observing"},
    "quiet hours": IDLE | {"waiting": 700, "next_due": NOW + timedelta(minutes=10)},
    "nothing is due": IDLE,
}


@pytest.mark.parametrize("state", NOTHING)
@pytest.mark.parametrize("current", [0, 5])
def test_none_when_nothing_can_be_done(state: str, current: int) -> None:
    overview = big(**NOTHING[state])
    soon = overview.start_at is not None  # in two minutes: who is there may wait
    assert wanted(overview, current=current) == (1 if soon and current else 0)


def test_none_when_the_spec_or_the_operator_says_so() -> None:
    assert wanted(big(), asked=spec(suspend=True), current=5) == 0
    assert wanted(big(), asked=spec(cancel=True), current=5) == 0
    assert wanted(big(import_state="running"), defaults=STANDBY, current=5) == 0


@pytest.mark.parametrize("change", [{"suspended": True}, {"cancelled": True}, {"rollout_stage": "awaiting"}])
def test_what_a_worker_left_in_flight_is_settled_by_another(change: dict[str, Any]) -> None:
    assert wanted(big(counts=Counts(pending=5, sending=5), **change), current=5) == 1


def test_one_imports_whatever_the_hour() -> None:
    importing = big(counts=Counts(), due=0, import_state="pending")
    assert wanted(importing) == 1
    assert wanted(replace(importing, start_at=NOW + timedelta(days=1))) == 1
    assert wanted(replace(importing, cancelled=True)) == 1
    assert wanted(importing, replace(FREE, suspended=True)) == 1
    assert wanted(replace(importing, suspended=True)) == 0


def test_others_send_what_is_imported_already() -> None:
    assert wanted(big(import_state="running")) == 10
    held = big(import_state="running", due=0, held=True)
    assert wanted(held) == 1


def test_workers_are_there_when_their_work_begins() -> None:
    assert wanted(big(start_at=NOW + timedelta(seconds=60))) == 1
    assert wanted(big(start_at=NOW + timedelta(seconds=61))) == 0
    assert wanted(sending(**IDLE, waiting=700, next_due=NOW + timedelta(seconds=60))) == 1


def test_a_provider_that_stands_still_needs_nobody() -> None:
    suspended, later = replace(FREE, suspended=True), replace(FREE, paused_until=NOW + timedelta(minutes=10))
    soon = replace(FREE, paused_until=NOW + timedelta(seconds=30))
    assert wanted(big(), suspended, current=5) == 0
    assert wanted(big(), later, current=5) == 0
    assert wanted(big(), suspended, later, current=5) == 0
    assert wanted(big(), soon, current=0) == 1
    others_done = sending(**IDLE)  # the rest is the suspended one's, and is not due
    assert wanted(others_done, replace(FREE, name="b"), suspended, current=5) == 0
    assert wanted(big(), replace(later, name="a"), replace(FREE, name="b")) == 10
    assert wanted(big(), replace(FREE, paused_until=NOW - timedelta(seconds=1))) == 10


# --- steadiness ------------------------------------------------------------------------------------------------------
def test_fewer_only_when_half_would_do() -> None:
    assert [wanted(big(counts=Counts(pending=n), due=n), current=10) for n in (50_000, 38_401, 38_400)] == [10, 10, 5]


def test_a_lower_limit_counts_at_once() -> None:
    assert wanted(big(), current=10, asked=spec(workers={"max": 8})) == 8
    assert wanted(big(), paced((500, 1)), current=10) == 8


def test_one_stays_for_what_comes_due_before_long() -> None:
    def waits(seconds: int) -> Overview:
        return sending(**IDLE, waiting=700, next_due=NOW + timedelta(seconds=seconds))

    assert [wanted(waits(n), current=5) for n in (30, 120, 300, 301)] == [1, 1, 1, 0]
    assert [wanted(waits(n), current=0) for n in (30, 120, 300, 301)] == [1, 0, 0, 0]


@given(st.integers(0, 2_000_000), st.integers(0, 50), st.integers(0, 60), st.integers(1, 2000), st.integers(1, 100_000))
def test_the_number_settles_at_once_and_keeps_to_its_bounds(
    due: int, leased: int, current: int, rate: int, period: int
) -> None:
    overview = sending(counts=Counts(pending=due + 500 * leased), due=due, leased_batches=leased)
    provider = paced((rate, period))
    first = wanted(overview, provider, current=current)
    assert 0 <= first <= 10
    assert wanted(overview, provider, current=first) == first
    assert (first == 0) == (due == 0 and leased == 0)


def test_an_open_stream_keeps_one_worker_whatever_is_due() -> None:
    idle = {"counts": Counts(sent=300), "leased_batches": 0, "due": 0}
    stream = sending(**idle, import_state="running", stream=True)
    assert (wanted(stream), wanted(stream, current=4)) == (1, 1)
    assert wanted(replace(stream, suspended=True), current=1) == 0
    assert wanted(replace(stream, closed=True), current=1) == 1  # until its inbox is known to be empty
    assert wanted(replace(stream, closed=True, import_state="done"), current=1) == 0
