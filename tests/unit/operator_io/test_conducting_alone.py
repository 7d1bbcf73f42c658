"""The operator moves a campaign without workers only where something but a worker can move it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sendonce_operator.conducting import may_move
from sendonce_store.standing import Counts, Overview

NOW = datetime(2026, 11, 1, 10, tzinfo=UTC)
WAITS = Overview(
    id=1,
    namespace="default",
    send_key="spring",
    name="spring",
    category="Marketing",
    topic=None,
    priority=1,
    now=NOW,
    created_at=NOW - timedelta(hours=1),
    started_at=NOW - timedelta(hours=1),
    start_at=NOW + timedelta(hours=1),
    deadline=NOW + timedelta(hours=2),
    suspended=False,
    halt_reason=None,
    halt_message=None,
    cancelled=False,
    import_state="done",
    import_message=None,
    held=False,
    rollout_stage="none",
    rollout_since=None,
    total=10,
    duplicates=0,
    rejected=0,
    unreachable=0,
    counts=Counts(pending=10),
    batches=1,
    leased_batches=0,
    done_batches=0,
    due=0,
    waiting=10,
    next_due=NOW + timedelta(hours=1),
    wait_reason=None,
    wait_code=None,
    canary_total=0,
    canary_sent=0,
    canary_failed=0,
    provider_paused_until=None,
    paused_provider=None,
    pause_message=None,
    suspended_provider=None,
    workers_alive=0,
    worker_problem=None,
    ended=None,
    ended_reason=None,
    ended_message=None,
    completed_at=None,
    data_deleted_at=None,
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
