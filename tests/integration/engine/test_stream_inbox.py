"""What a worker makes of the inbox of a standing campaign, and how such a campaign ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.integration.engine.stream_cases import ADA, enqueue, standing, take_in

from sendonce_store import actions, imports, ledger, stream
from sendonce_store.people import deliveries_of
from sendonce_store.queries import load
from sendonce_store.retention import delete_data
from sendonce_store.standing import standing as stands

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World


async def _inbox(campaign: Campaign) -> stream.Inbox:
    return stream.Inbox(await imports.prepare(campaign.world.hands, campaign.id))


async def _send_all(campaign: Campaign, far_end: FarEnd) -> None:
    while (batch := await campaign.try_claim()) is not None:
        await (await campaign.session(batch, far_end)).run()


async def test_each_occasion_is_sent_once_also_to_one_person(world: World, far_end: FarEnd) -> None:
    campaign = await standing(world)
    for key in ("order-1", "order-2", "order-1"):
        await enqueue(world.conn, key)
    assert (await take_in(campaign), await take_in(campaign)) == (2, 0)
    await _send_all(campaign, far_end)
    assert far_end.people == {"Ada@example.com": 2}
    assert len({message.key for message in far_end.received}) == 2
    rows = await campaign.rows()
    assert [(row["address"], row["occasion"], row["state"]) for row in rows] == [
        ("ada@example.com", "order-1", "sent"),
        ("ada@example.com", "order-2", "sent"),
    ]
    (one,) = await deliveries_of(world.conn, campaign.id, rows[0]["recipient_no"])
    assert one.key == str(rows[0]["key"])


async def test_a_refused_recipient_is_listed_with_its_reason_and_holds_nobody_up(world: World) -> None:
    campaign = await standing(world)
    number = await enqueue(world.conn, "order-1", {"email": "not an address"})
    await enqueue(world.conn, "order-2")
    assert await take_in(campaign) == 2
    (refused,) = await ledger.rejects(world.conn, campaign.id)
    assert (refused.line, refused.field, refused.excerpt) == (number, "email", "not an address")
    record = await campaign.record()
    assert (record["total"], record["rejected"], record["duplicates"]) == (1, 1, 0)
    assert await campaign.states() == {"pending": 1}


@pytest.mark.parametrize("value", ["1e5000", "[" * 2000 + "]" * 2000], ids=["digits", "depth"])
async def test_what_is_json_to_the_store_and_not_to_a_worker_holds_nobody_up(world: World, value: str) -> None:
    campaign = await standing(world)
    recipient = '{"email": "ada@example.com", "x": ' + value + "}"
    cursor = await world.conn.execute(
        "SELECT sendonce.enqueue('default', 'spring', 'bad', %s::jsonb) AS no", [recipient]
    )
    (row,) = await cursor.fetchall()
    await enqueue(world.conn, "good")
    assert await take_in(campaign) == 2
    (refused,) = await ledger.rejects(world.conn, campaign.id)
    assert (refused.line, refused.reason.split(",")[0]) == (row["no"], "is nested too deeply")
    assert await campaign.states() == {"pending": 1}


async def test_a_batch_is_filled_up_but_never_while_somebody_holds_it(world: World, far_end: FarEnd) -> None:
    campaign = await standing(world)
    inbox = await _inbox(campaign)
    await enqueue(world.conn, "order-1")
    await take_in(campaign, inbox)
    await _send_all(campaign, far_end)
    await enqueue(world.conn, "order-2")
    await take_in(campaign, inbox)
    (batch,) = await campaign.batches()
    assert (batch["state"], batch["sent"], batch["pending"]) == ("pending", 1, 1)
    held = await campaign.claim()
    await enqueue(world.conn, "order-3")
    await take_in(campaign, inbox)
    assert [one["pending"] for one in await campaign.batches()] == [1, 1]
    await campaign.release(held)
    await enqueue(world.conn, "order-4")
    await take_in(campaign, inbox)
    assert sorted(one["pending"] for one in await campaign.batches()) == [1, 2]
    await _send_all(campaign, far_end)
    assert await campaign.states() == {"sent": 4}


async def test_a_full_batch_gets_no_more(world: World) -> None:
    campaign = await standing(world)
    inbox = await _inbox(campaign)
    await campaign.query(
        "SELECT sendonce.enqueue('default', 'spring', 'k' || n, jsonb_build_object('email', n || '@example.com'))"
        " FROM generate_series(1, 750) n"
    )
    assert [await take_in(campaign, inbox) for _ in range(4)] == [250, 250, 250, 0]
    assert [batch["pending"] for batch in await campaign.batches()] == [500, 250]


async def test_several_workers_take_from_one_inbox_and_nobody_is_taken_twice(world: World) -> None:
    campaign = await standing(world)
    await enqueue(world.conn, "order-1")
    await enqueue(world.conn, "order-2")
    other = await world.connect()
    async with other.transaction():
        await other.execute("SELECT FROM sendonce.inbox WHERE key = 'order-1' FOR UPDATE")
        assert await take_in(campaign) == 1
    assert await take_in(campaign) == 1
    assert [row["occasion"] for row in await campaign.rows()] == ["order-2", "order-1"]


async def test_who_commits_late_is_not_missed(world: World) -> None:
    campaign = await standing(world)
    late = await world.connect()
    async with late.transaction():
        await enqueue(late, "order-1")
        await enqueue(world.conn, "order-2")
        assert await take_in(campaign) == 1
    assert await take_in(campaign) == 1
    assert await campaign.states() == {"pending": 2}


async def test_the_next_channel_is_for_the_same_occasion(world: World) -> None:
    campaign = await standing(world, channels=["Email", "Email>SMS"])
    person = ADA | {"phone": "+15005550006"}
    for key in ("order-1", "order-2"):
        await enqueue(world.conn, key, person)
    await take_in(campaign)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    for no in (1, 2):
        await campaign.end(batch, no, "failed", reason="permanent")
    rows = await campaign.rows("SMS")
    assert [row["occasion"] for row in rows] == ["order-1", "order-2"]
    assert len({row["key"] for row in rows}) == 2
    await campaign.release(batch)
    # one person's first message is on its way again over SMS: a Retry must not send it by mail as well
    await campaign.query("UPDATE sendonce.deliveries SET state = 'failed', reason = 'permanent', finished_at = now(),"
                         " next_attempt_at = NULL WHERE channel = 'SMS' AND occasion = 'order-1'")  # fmt: skip
    order = actions.Order("again", "Retry", actions.Selection(channels=["Email"]))
    applied = await actions.apply(world.conn, actions.Target(campaign.id, "default"), order)
    assert (applied.matched, applied.changed) == (2, 1)


async def test_an_open_stream_never_completes_and_says_that_it_is_open(world: World, far_end: FarEnd) -> None:
    campaign = await standing(world)
    assert await campaign.conduct() == []
    await enqueue(world.conn, "order-1")
    await take_in(campaign)
    await _send_all(campaign, far_end)
    assert await campaign.conduct() == []
    overview = await ledger.overview(world.conn, "default", campaign.id)
    assert overview is not None
    await campaign.query("INSERT INTO sendonce.workers (id, namespace, campaign_id) VALUES ('w', 'default', %(id)s)")
    overview = await ledger.overview(world.conn, "default", campaign.id)
    assert overview is not None
    assert (stands(overview).reason, stands(overview).message) == ("Streaming", "open: 1 of 1 deliveries have ended")


async def test_a_closed_stream_ends_with_the_last_delivery_and_waits_for_open_transactions(
    world: World, far_end: FarEnd
) -> None:
    campaign = await standing(world)
    app = await world.connect()
    async with app.transaction():
        await enqueue(app, "order-1")
        assert await actions.close(world.conn, campaign.id)
        assert await campaign.conduct() == []
    assert await campaign.conduct() == []  # it is committed now, and nobody has taken it yet
    await take_in(campaign)
    assert [step.kind.value for step in await campaign.conduct()] == ["drain"]
    await _send_all(campaign, far_end)
    assert [step.kind.value for step in await campaign.conduct()] == ["end"]
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"], record["total"]) == ("complete", "AllSent", 1)
    assert not await actions.close(world.conn, campaign.id)


async def test_the_end_asks_again_under_its_lock(world: World) -> None:
    campaign = await standing(world)
    await enqueue(world.conn, "order-1")  # just after the counts were read
    async with world.hands.transaction():
        cursor = await world.hands.execute(load("stream")["finish"], {"campaign": campaign.id})
        assert await cursor.fetchone() is None
    await enqueue(world.conn, "order-2")


async def test_who_is_taken_in_after_a_cancel_is_cancelled(world: World) -> None:
    campaign = await standing(world)
    await enqueue(world.conn, "order-1")
    await actions.cancel(world.conn, campaign.id)
    assert await campaign.conduct() == []
    await take_in(campaign)
    assert await campaign.states() == {"cancelled": 1}
    assert [step.kind.value for step in await campaign.conduct()] == ["drain", "end"]
    assert (await campaign.record())["ended_reason"] == "Cancelled"


async def test_a_deadline_closes_a_stream_and_is_no_failure(world: World) -> None:
    campaign = await standing(world)
    await enqueue(world.conn, "order-1")
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now()")
    await take_in(campaign)
    steps = [step.kind.value for step in await campaign.conduct()]
    assert steps == ["settle", "drain", "end"]
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"]) == ("complete", "SomeUndelivered")
    assert await campaign.states() == {"expired": 1}


async def test_the_inbox_goes_with_the_campaigns_data(world: World) -> None:
    campaign = await standing(world)
    await enqueue(world.conn, "order-1")
    await take_in(campaign)
    await actions.close(world.conn, campaign.id)
    await actions.cancel(world.conn, campaign.id)
    await campaign.conduct()
    await delete_data(world.conn, campaign.id, step=1)
    assert await campaign.query("SELECT FROM sendonce.inbox") == []
