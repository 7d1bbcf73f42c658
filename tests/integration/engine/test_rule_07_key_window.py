"""Rule 7: a repeat after an unknown outcome goes out only while the far end surely knows its key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions
from sendonce_store.actions import Order, Selection, Target

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

WINDOW, PATIENCE = 600.0, 32.0
# seconds since the key was first used, and whether a repeat may go out: it must end within the window
AGES = [(0.0, True), (WINDOW - PATIENCE - 10, True), (WINDOW - PATIENCE + 1, False), (WINDOW + 1, False)]


async def _windowed(world: World) -> Campaign:
    campaign = await world.campaign(1)
    campaign.repeats = replace(campaign.repeats, key_window=WINDOW, patience=PATIENCE)
    return campaign


async def test_the_first_use_of_a_key_is_kept_in_the_databases_time(world: World) -> None:
    campaign = await _windowed(world)
    batch = await campaign.claim()
    assert (await campaign.row())["key_first_used_at"] is None
    await campaign.begin(batch)
    first = (await campaign.row())["key_first_used_at"]
    assert first == (await campaign.row())["last_attempt_at"]
    await campaign.end(batch, 1, "pending", unknown=True, used=1)
    await campaign.begin(batch)
    assert (await campaign.row())["key_first_used_at"] == first


@pytest.mark.parametrize(("age", "safe"), AGES)
async def test_a_repeat_goes_out_only_if_it_ends_within_the_window(world: World, age: float, safe: bool) -> None:
    campaign = await _windowed(world)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "pending", unknown=True, used=1)
    await campaign.age(age)
    (row,) = await campaign.begin(batch)
    assert (row.state, row.reason) == (("sending", None) if safe else ("uncertain", "key_window_passed"))


@pytest.mark.parametrize(("age", "safe"), AGES)
async def test_what_a_dead_worker_left_is_repeated_only_within_the_window(world: World, age: float, safe: bool) -> None:
    campaign = await _windowed(world)
    await campaign.begin(await campaign.claim("worker-1"))
    await campaign.age(age)
    await campaign.lapse()
    await campaign.claim("worker-2")
    assert (await campaign.row())["state"] == ("pending" if safe else "uncertain")


async def test_refused_for_certain_it_may_be_repeated_at_any_time_under_a_fresh_window(world: World) -> None:
    campaign = await _windowed(world)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "pending", used=1)
    await campaign.age(WINDOW + 1)
    assert [row.state for row in await campaign.begin(batch)] == ["sending"]
    row = await campaign.row()
    assert row["key_first_used_at"] == row["last_attempt_at"]


async def test_a_person_may_order_the_repeat_that_the_window_forbids_once(world: World) -> None:
    campaign = await _windowed(world)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "pending", unknown=True, used=1)
    await campaign.age(WINDOW + 1)
    await campaign.begin(batch)
    resend = Order("again", "Resolve", Selection(states=("uncertain",)), resolve_as="resend", patience=PATIENCE)
    await actions.apply(world.conn, Target(campaign.id, "default"), resend)
    await campaign.age(PATIENCE)
    assert [row.state for row in await campaign.begin(batch)] == ["sending"]
    await campaign.end(batch, 1, "pending", seq=2, unknown=True, used=1)
    await campaign.age(WINDOW + 1)
    assert [row.state for row in await campaign.begin(batch)] == ["uncertain"]
