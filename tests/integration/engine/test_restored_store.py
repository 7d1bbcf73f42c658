"""A store that came back from a backup: what it has forgotten is not done again blindly.

Each test begins with the rows as the backup has them; what was sent since then stands in no row of it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.integration.engine.stream_cases import enqueue, standing, take_in

from sendonce_store import actions, imports, queue
from sendonce_store.actions import Order, Selection, Target
from sendonce_store.queue import LeaseLostError
from sendonce_store.restoring import RestoreError, restored
from sendonce_worker.providers.errors import UnknownOutcomeError

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World

    from sendonce_worker.providers.base import Accepted, Message


async def _send(campaign: Campaign, far_end: FarEnd, key_window: float | None) -> None:
    """A worker sends what is due."""
    campaign.repeats = replace(campaign.repeats, key_window=key_window)
    far_end.key_window = key_window
    batch = await campaign.claim("worker-after")
    await (await campaign.session(batch, far_end, worker="worker-after")).run()


async def test_with_keys_everybody_gets_the_same_key_again_within_the_window(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)
    keys = {str(row["key"]) for row in await campaign.rows()}
    done = await restored(world.conn)
    assert [(one.send_key, one.deliveries, one.importing) for one in done.campaigns] == [("spring", 3, False)]
    await _send(campaign, far_end, 86_400)
    assert {message.key for message in far_end.received} == keys
    assert all(message.maybe_accepted for message in far_end.received)
    assert await campaign.states() == {"sent": 3}


async def test_past_the_window_since_the_backup_nothing_goes_out(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)
    await restored(world.conn, datetime.now(UTC) - timedelta(seconds=86_390))
    await _send(campaign, far_end, 86_400)
    assert far_end.received == []
    assert await campaign.states() == {"uncertain": 3}
    assert {row["reason"] for row in await campaign.rows()} == {"key_window_passed"}


async def test_without_keys_nothing_goes_out_until_a_person_says_so(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)
    await restored(world.conn)
    await _send(campaign, far_end, None)
    assert far_end.received == []
    assert await campaign.states() == {"uncertain": 3}
    order = Order("again", "Resolve", Selection(states=("uncertain",)), "resend", patience=0)
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    await _send(campaign, far_end, None)
    assert await campaign.states() == {"sent": 3}


async def test_a_cancel_does_not_say_that_nobody_was_sent_to(world: World) -> None:
    campaign = await world.campaign(3)
    await restored(world.conn)
    await actions.cancel(world.conn, campaign.id)
    assert await campaign.states() == {"uncertain": 3}


async def test_what_was_on_its_way_is_settled_as_after_any_lost_worker(world: World) -> None:
    campaign = await world.campaign(3)
    campaign.repeats = replace(campaign.repeats, key_window=None)
    batch = await campaign.claim()
    await campaign.begin(batch, (1,))
    await restored(world.conn)
    await campaign.claim("worker-after")
    assert [row["state"] for row in await campaign.rows()] == ["uncertain", "pending", "pending"]


async def test_a_worker_from_before_can_write_nothing(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await restored(world.conn)
    with pytest.raises(LeaseLostError):
        await campaign.begin(batch, (1,))


async def test_an_ordered_resend_may_have_been_carried_out(world: World, far_end: FarEnd) -> None:
    async def no_answer(message: Message) -> Accepted:
        raise UnknownOutcomeError("timeout", f"no answer for {message.to}")

    campaign, far_end.answer = await world.campaign(1), no_answer
    await _send(campaign, far_end, None)
    order = Order("again", "Resolve", Selection(states=("uncertain",)), "resend", patience=0)
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    assert await campaign.states() == {"pending": 1}
    await restored(world.conn)
    await _send(campaign, far_end, None)
    assert len(far_end.received) == 1
    assert await campaign.states() == {"uncertain": 1}


@pytest.mark.parametrize("cancelled", [False, True])
async def test_people_whom_the_import_has_yet_to_bring_are_in_doubt_too(world: World, cancelled: bool) -> None:
    campaign = await world.campaign(None)
    batch = await campaign.claim()
    plan = await imports.prepare(world.hands, campaign.id)
    people = [world.person(line) for line in range(1, 5)]
    await imports.commit_chunk(world.hands, batch, campaign.holder(), plan.chunk(people[:2], (), {"line": 2}), 60)
    done = await restored(world.conn)
    assert [(one.deliveries, one.importing) for one in done.campaigns] == [(2, True)]
    if cancelled:
        await actions.cancel(world.conn, campaign.id)
    again = await campaign.claim("worker-after")
    while again.kind != "import":
        again = await campaign.claim("worker-after")
    await imports.commit_chunk(world.hands, again, campaign.holder(), plan.chunk(people[2:], (), {"line": 4}), 60)
    rows = await campaign.rows()
    assert [row["maybe_accepted"] for row in rows] == [True] * 4
    assert {row["key_first_used_at"] for row in rows} == {done.point}
    assert await campaign.states() == ({"uncertain": 4} if cancelled else {"pending": 4})


async def test_what_has_ended_stays_as_it_is(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(2)
    await _send(campaign, far_end, 86_400)
    await campaign.conduct()
    before = await campaign.rows()
    assert (await restored(world.conn)).campaigns == []
    assert await campaign.rows() == before


async def test_it_may_be_broken_off_and_called_again(world: World) -> None:
    campaign = await world.campaign(3)
    first = await restored(world.conn)
    before = await campaign.rows()
    second = await restored(world.conn, first.point)
    assert [one.deliveries for one in second.campaigns] == [0]
    assert await campaign.rows() == before


async def test_the_point_is_the_latest_time_that_the_store_knows_of(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await queue.renew(world.hands, batch, 60)
    (heartbeat,) = [one["heartbeat_at"] for one in await campaign.batches()]
    assert (await restored(world.conn)).point == heartbeat


async def test_a_later_point_is_refused_as_it_would_stretch_the_key_window(world: World) -> None:
    await world.campaign(1)
    with pytest.raises(RestoreError, match=r"later than .*leave it out, or give the time of the backup"):
        await restored(world.conn, datetime.now(UTC) + timedelta(hours=1))


async def test_numbers_given_out_in_the_lost_time_are_not_given_out_again(world: World) -> None:
    before = await world.campaign(1, name="before")
    await restored(world.conn)
    after = await world.campaign(1, name="after")
    assert after.id > before.id + 1_000_000_000
    assert (await after.batches())[0]["id"] > (await before.batches())[0]["id"] + 1_000_000_000


async def test_each_doubt_is_noted_beside_the_attempts(world: World) -> None:
    campaign = await world.campaign(2)
    await restored(world.conn)
    assert [(one["outcome"], one["seq"]) for one in await campaign.attempts()] == [("restored", 1)] * 2


@pytest.mark.parametrize("cancelled", [False, True])
async def test_people_who_were_in_the_inbox_are_in_doubt_and_those_who_come_later_are_not(
    world: World, cancelled: bool
) -> None:
    campaign = await standing(world)
    await enqueue(world.conn, "order-1")
    done = await restored(world.conn)
    await enqueue(world.conn, "order-2")
    if cancelled:
        await actions.cancel(world.conn, campaign.id)
    assert await take_in(campaign) == 2
    rows = {row["occasion"]: row for row in await campaign.rows()}
    assert [rows[key]["maybe_accepted"] for key in ("order-1", "order-2")] == [True, False]
    assert rows["order-1"]["key_first_used_at"] == done.point
    states = [rows[key]["state"] for key in ("order-1", "order-2")]
    assert states == (["uncertain", "cancelled"] if cancelled else ["pending", "pending"])
