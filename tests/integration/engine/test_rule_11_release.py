"""Rule 11: a release is decided from the rows under the batch's lock, which a Retry takes as well."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sendonce_store import actions, queue
from sendonce_store.actions import Order, Target

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

RETRY = Order("again", "Retry")


async def _failed(world: World) -> Campaign:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "failed", reason="permanent")
    await campaign.end(batch, 2, "sent")
    await campaign.release(batch)
    return campaign


async def test_a_batch_is_done_when_its_rows_are_and_otherwise_due_with_the_first_of_them(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2, 3))
    await campaign.end(batch, 1, "sent")
    await campaign.end(batch, 2, "pending", delay=300.0)
    await campaign.end(batch, 3, "pending", delay=100.0)
    assert await campaign.release(batch) == "pending"
    (waits,) = await campaign.batches()
    assert waits["claimable_at"] == (await campaign.row(3))["next_attempt_at"]
    await campaign.age(301)
    batch = await campaign.claim()
    await campaign.begin(batch, (2, 3))
    await campaign.end(batch, 2, "sent", seq=2)
    await campaign.end(batch, 3, "sent", seq=2)
    assert await campaign.release(batch) == "done"


async def test_a_row_left_in_sending_keeps_the_batch_open(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    assert await campaign.release(batch) == "pending"
    assert await campaign.try_claim() is not None


async def test_a_retry_reopens_a_batch_that_was_done(world: World) -> None:
    campaign = await _failed(world)
    assert [batch["state"] for batch in await campaign.batches()] == ["done"]
    applied = await actions.apply(world.conn, Target(campaign.id, "default"), RETRY)
    assert (applied.matched, applied.changed) == (1, 1)
    batch = await campaign.claim()
    assert [row.no for row in await queue.due_rows(world.conn, batch)] == [1]


async def test_a_release_that_meets_a_retry_waits_for_it_and_keeps_the_batch_open(world: World) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "failed", reason="permanent")
    await campaign.end(batch, 2, "sent")
    person = await world.connect()
    async with asyncio.TaskGroup() as tasks:
        async with person.transaction():
            await actions.apply(person, Target(campaign.id, "default"), RETRY)
            release = tasks.create_task(campaign.release(batch))
            await world.blocked()
        assert await release == "pending"
    assert await campaign.try_claim("worker-2") is not None
    assert await campaign.states() == {"pending": 1, "sent": 1}


async def test_a_retry_that_meets_a_release_waits_for_it_and_reopens_the_batch(world: World) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "failed", reason="permanent")
    await campaign.end(batch, 2, "sent")
    person, worker = await world.connect(), await world.connect()
    async with asyncio.TaskGroup() as tasks:
        async with worker.transaction():
            assert await queue.release(worker, batch) == "done"
            retry = tasks.create_task(actions.apply(person, Target(campaign.id, "default"), RETRY))
            await world.blocked()
        assert (await retry).changed == 1
    assert [batch["state"] for batch in await campaign.batches()] == ["pending"]
    assert await campaign.try_claim("worker-2") is not None


async def test_a_retry_while_somebody_holds_the_batch_does_not_take_it_away(world: World) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "failed", reason="permanent")
    await actions.apply(world.conn, Target(campaign.id, "default"), RETRY)
    assert await campaign.try_claim("worker-2") is None
    assert {row.no for row in await queue.due_rows(world.conn, batch)} == {1, 2}
