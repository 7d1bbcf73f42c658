"""Pace, time left and deadlines: what ended lately in, what the pages say out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.operator_cases.situations import SENDING, sending

from sendonce_console.views.pace import pace_of
from sendonce_store.console_campaigns import Recent
from sendonce_store.standing import Counts

LATELY = [Recent(1, 7, 600, 60.0), Recent(1, 8, 100, 10.0), Recent(2, 7, 9_999, 1.0)]


def test_the_pace_is_that_of_all_its_providers_and_of_no_other_campaign() -> None:
    pace = pace_of(SENDING, LATELY)
    assert pace is not None
    assert pace.per_second == 20.0
    # 600 pending and 100 sending
    assert pace.left(SENDING.now) == pytest.approx(35)


def test_a_pause_and_a_later_start_count_into_the_end() -> None:
    later = SENDING.now + timedelta(minutes=5)
    for change in ("provider_paused_until", "start_at"):
        pace = pace_of(sending(**{change: later}), LATELY)
        assert pace is not None
        assert pace.left(SENDING.now) == pytest.approx(335)


def test_what_waits_for_a_person_or_its_list_has_no_end() -> None:
    for change in (
        {"suspended": True}, {"halt_reason": "FailureThreshold"}, {"cancelled": True}, {"import_state": "running"},
        {"rollout_stage": "awaiting"}, {"suspended_provider": "smtp"}, {"counts": Counts(sent=10)},
    ):  # fmt: skip
        pace = pace_of(sending(**change), LATELY)
        assert pace is not None
        assert pace.ends is None, change
    assert pace_of(replace(SENDING, ended="complete"), LATELY) is None


def test_a_deadline_is_at_risk_when_the_end_is_behind_it_or_nothing_moves_shortly_before() -> None:
    soon, late = SENDING.now + timedelta(seconds=30), SENDING.now + timedelta(hours=3)
    for deadline, recent, at_risk in ((soon, LATELY, True), (late, LATELY, False), (late, [], False), (soon, [], True)):
        pace = pace_of(replace(SENDING, deadline=deadline), recent)
        assert pace is not None
        assert pace.at_risk is at_risk
    done = pace_of(replace(SENDING, deadline=soon, counts=Counts(sent=10)), [])
    assert done is not None
    assert not done.at_risk
