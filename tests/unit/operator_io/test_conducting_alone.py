"""The operator moves a campaign without workers only where something but a worker can move it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.operator_cases.situations import NOW, sending

from sendonce_operator.conducting import may_move
from sendonce_store.standing import Counts, Overview

WAITS = sending(
    start_at=NOW + timedelta(hours=1),
    deadline=NOW + timedelta(hours=2),
    counts=Counts(pending=10),
    leased_batches=0,
    due=0,
    waiting=10,
    next_due=NOW + timedelta(hours=1),
    workers_alive=0,
)


def test_a_campaign_that_waits_for_its_time_is_left_alone() -> None:
    assert not may_move(WAITS)
    assert not may_move(replace(WAITS, import_state="running"))
    assert not may_move(replace(WAITS, rollout_stage="awaiting"))
    assert not may_move(replace(WAITS, rollout_stage="promoted"))


@pytest.mark.parametrize(
    "moved",
    [
        replace(WAITS, cancelled=True),
        replace(WAITS, deadline=NOW),
        replace(WAITS, deadline=NOW, import_state="running"),
        replace(WAITS, import_state="failed"),
        replace(WAITS, held=True),
        replace(WAITS, rollout_stage="importing"),
        replace(WAITS, rollout_stage="canary"),
        replace(WAITS, rollout_stage="observing"),
        replace(WAITS, counts=Counts(sent=10)),
        replace(WAITS, counts=Counts()),
    ],
)
def test_a_campaign_that_time_or_a_person_moves_is_looked_at(moved: Overview) -> None:
    assert may_move(moved)
