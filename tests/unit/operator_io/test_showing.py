"""When a status is made, and when it is written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.operator_io.conftest import CAMPAIGN_BODY, Recorder
from tests.unit.operator_io.test_conducting_alone import WAITS

from sendonce_operator import showing
from sendonce_operator.active import in_turn
from sendonce_operator.decisions.facts import Situation
from sendonce_operator.decisions.status import status
from sendonce_operator.objects import Campaign
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_store.standing import Counts, Overview

LONG_AGO = float("-inf")


def after(sent: int) -> Overview:
    return replace(WAITS, counts=Counts(pending=10 - sent, sent=sent))


@pytest.fixture
def tracked(campaign: Campaign) -> Tracked:
    return Tracked(campaign.subject.uid, campaign_id=1)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Situation]:
    """Return what statuses were made from."""
    asked: list[Situation] = []

    def noting(situation: Situation) -> dict[str, Any]:
        asked.append(situation)
        return status(situation)

    monkeypatch.setattr(showing, "status", noting)
    return asked


async def test_a_change_is_shown_at_once_after_a_quiet_time_and_else_after_the_interval(
    runtime: Runtime, campaign: Campaign, tracked: Tracked, cluster: Recorder
) -> None:
    await showing.show(runtime, campaign.key, tracked, after(1))
    assert cluster.status["deliveries"]["sent"] == 1
    await showing.show(runtime, campaign.key, tracked, after(2))
    assert cluster.status["deliveries"]["sent"] == 1
    # three looks have passed, and the fourth is a little early
    tracked.patched_at -= runtime.settings.status_interval - 0.1
    await showing.show(runtime, campaign.key, tracked, after(3))
    assert cluster.status["deliveries"]["sent"] == 3


def test_whose_status_was_written_longest_ago_comes_first(runtime: Runtime, campaign: Campaign) -> None:
    for name, patched_at in (("late", 7.0), ("early", 3.0), ("never", LONG_AGO)):
        body = {**CAMPAIGN_BODY, "metadata": {**CAMPAIGN_BODY["metadata"], "name": name, "uid": name}}
        noted = runtime.watched.note(campaign.key.kind, body)
        assert noted is not None
        runtime.track(noted).patched_at = patched_at
    assert [key.name for key in in_turn(runtime)] == ["never", "early", "late"]


async def test_what_was_read_too_long_ago_waits_for_the_next_look(
    runtime: Runtime, campaign: Campaign, tracked: Tracked, cluster: Recorder
) -> None:
    await showing.show(runtime, campaign.key, tracked, after(1))
    tracked.patched_at = LONG_AGO
    runtime.read_at = asyncio.get_running_loop().time() - runtime.settings.tick - 0.1
    await showing.show(runtime, campaign.key, tracked, after(2))
    assert cluster.status["deliveries"]["sent"] == 1
    runtime.read_at = asyncio.get_running_loop().time()
    await showing.show(runtime, campaign.key, tracked, after(3))
    assert cluster.status["deliveries"]["sent"] == 3


async def test_a_status_that_stands_in_the_object_is_not_made_again_with_every_look(
    runtime: Runtime, campaign: Campaign, tracked: Tracked, cluster: Recorder, made: list[Situation]
) -> None:
    for sent in (1, 1, 1, 1, 2):
        tracked.patched_at = LONG_AGO
        overview = replace(after(sent), now=WAITS.now.replace(second=len(made)))
        await showing.show(runtime, campaign.key, tracked, overview)
    assert len(made) == 3  # one that was written, one that was found the same, one that was written again
    assert cluster.status["deliveries"]["sent"] == 2


async def test_what_time_alone_changes_is_looked_for_now_and_then(
    runtime: Runtime, campaign: Campaign, tracked: Tracked, made: list[Situation]
) -> None:
    for _ in range(3):
        tracked.patched_at = tracked.shown_at = LONG_AGO
        await showing.show(runtime, campaign.key, tracked, after(1))
    assert len(made) == 3
