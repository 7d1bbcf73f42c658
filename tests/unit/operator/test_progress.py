"""How fast a campaign goes, since when nothing moves, and when its object is deleted."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.operator_cases.situations import COMPLETE, CREATED, IDLE, NOW, SUBJECT, after, sending, situation, spec

from sendonce_operator.decisions.lifetime import delete_at
from sendonce_operator.decisions.progress import Progress, follow
from sendonce_store.spec import CampaignStatus
from sendonce_store.standing import Counts, Overview


def at(seconds: float, sent: int, **changes: object) -> Overview:
    return sending(now=NOW + timedelta(seconds=seconds), counts=Counts(pending=1000 - sent, sent=sent), **changes)


def followed(*looks: Overview) -> Progress:
    progress = follow(None, looks[0])
    for look in looks[1:]:
        progress = follow(progress, look)
    return progress


def test_no_rate_before_anything_ended() -> None:
    assert followed(at(0, 100)).per_second is None
    assert followed(at(0, 100), at(10, 100)).per_second is None


def test_the_rate_is_what_was_seen() -> None:
    assert followed(at(0, 100), at(10, 150)).per_second == 5.0


def test_the_rate_follows_slowly() -> None:
    rate = followed(at(0, 100), at(10, 150), at(20, 150)).per_second
    assert rate is not None
    assert 4 < rate < 5
    long = followed(at(0, 100), at(10, 150), at(610, 150)).per_second
    assert long is not None
    assert long < 0.1


def test_a_wait_does_not_make_it_slow() -> None:
    waiting = at(610, 150, **{name: value for name, value in IDLE.items() if name != "counts"})
    assert followed(at(0, 100), at(10, 150), waiting).per_second == 5.0


def test_two_looks_at_one_moment_are_one() -> None:
    assert followed(at(0, 100), at(10, 150), at(10, 150)).per_second == 5.0


def test_a_standstill_counts_from_the_last_move() -> None:
    assert followed(at(0, 100), at(10, 150), at(60, 150)).moved_at == NOW + timedelta(seconds=10)


@pytest.mark.parametrize(
    "why",
    [
        {"suspended": True},
        {"halt_reason": "x", "halt_message": "x"},
        {"provider_paused_until": NOW + timedelta(hours=1)},
        {"suspended_provider": "smtp"},
        {"start_at": NOW + timedelta(hours=1)},
        {"leased_batches": 0, "due": 0},
        {"ended": "complete"},
    ],
)
def test_what_can_not_move_does_not_stand_still(why: dict[str, object]) -> None:
    assert followed(at(0, 100), at(60, 100, **why)).moved_at == NOW + timedelta(seconds=60)


# --- ttl -------------------------------------------------------------------------------------------------------------
TTL = spec(ttlSecondsAfterFinished=3600)


def test_the_time_counts_from_the_end() -> None:
    done = after(situation(sending(**COMPLETE), spec=TTL))
    assert delete_at(done) == NOW - timedelta(minutes=5, seconds=1) + timedelta(hours=1)
    assert delete_at(replace(done, overview=None)) == delete_at(done)


def test_an_object_that_came_after_the_end_lives_as_long_from_its_creation() -> None:
    young = replace(SUBJECT, created_at=NOW)
    done = after(situation(sending(**COMPLETE), spec=TTL, subject=young))
    assert delete_at(done) == NOW + timedelta(hours=1)


def test_without_a_ttl_or_an_end_it_stays() -> None:
    assert delete_at(after(situation(sending(**COMPLETE)))) is None
    assert delete_at(after(situation(spec=TTL))) is None
    assert delete_at(situation(spec=None)) is None
    ended = CampaignStatus(observed_generation=1, completion_time=CREATED)
    reopened = situation(spec=TTL, subject=replace(SUBJECT, status=ended))
    assert delete_at(reopened) is None
