"""Rule 3: each write of a worker first locks the batch row by id and lease token, in the same transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from sendonce_store import imports, queue
from sendonce_store.connection import Connection
from sendonce_store.queue import LeaseLostError
from sendonce_store.rows import Batch, Result
from sendonce_worker.providers.base import Message
from sendonce_worker.sending.clock import Lease, Moment

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World

Write = Callable[["Campaign", Connection, Batch], Awaitable[object]]


async def _results(campaign: Campaign, conn: Connection, batch: Batch) -> object:
    return await campaign.turn(batch, conn=conn, results=[Result(1, 1, "sent")])


async def _group(campaign: Campaign, conn: Connection, batch: Batch) -> object:
    return await campaign.turn(batch, conn=conn, group=[(2, b"x" * 32)])


async def _renewal(campaign: Campaign, conn: Connection, batch: Batch) -> object:
    return await campaign.turn(batch, conn=conn, lease=60.0)


async def _release(campaign: Campaign, conn: Connection, batch: Batch) -> object:
    return await queue.release(conn, batch)


async def _reread(campaign: Campaign, conn: Connection, batch: Batch) -> object:
    return await queue.reread(conn, batch, [1])


WRITES: dict[str, Write] = {
    "results": _results, "group": _group, "renewal": _renewal, "release": _release, "reread": _reread,
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
async def test_after_a_takeover_the_old_holder_writes_nothing(world: World, write: Write) -> None:
    campaign = await world.campaign(3)
    lost = await campaign.claim("worker-1")
    await campaign.begin(lost)
    await campaign.lapse()
    await campaign.claim("worker-2")
    before = (await campaign.rows(), await campaign.batches())
    with pytest.raises(LeaseLostError):
        await write(campaign, world.conn, lost)
    assert (await campaign.rows(), await campaign.batches()) == before


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
async def test_a_write_that_meets_a_takeover_waits_for_it_and_then_writes_nothing(world: World, write: Write) -> None:
    campaign = await world.campaign(3)
    lost = await campaign.claim("worker-1")
    await campaign.begin(lost)
    await campaign.lapse()
    other = await world.connect()
    async with asyncio.TaskGroup() as tasks:
        async with other.transaction():  # worker 2 claims, and its commit takes a while
            await campaign.claim("worker-2", conn=other)
            late = tasks.create_task(_lost(write(campaign, world.conn, lost)))
            await world.blocked()
        assert await late
    assert {row["worker"] for row in await campaign.batches()} == {"worker-2"}
    assert await campaign.states() == {"pending": 3}


async def _lost(write: Awaitable[object]) -> bool:
    try:
        await write
    except LeaseLostError:
        return True
    return False


async def test_nobody_claims_a_batch_in_the_middle_of_its_holders_turn(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim("worker-1")
    await campaign.lapse()
    other = await world.connect()
    async with other.transaction():
        await other.execute("SELECT sendonce.hold_lease(%s, %s)", [batch.id, batch.token])
        assert await campaign.try_claim("worker-2") is None
    assert await campaign.try_claim("worker-2") is not None


async def test_an_import_that_was_taken_over_writes_nothing(world: World) -> None:
    campaign = await world.campaign(None)
    lost = await campaign.claim("worker-1")
    plan = await imports.prepare(world.conn, campaign.id)
    await campaign.lapse()
    other = await campaign.claim("worker-2")
    chunk = plan.chunk([world.person(1)], (), {"line": 1})
    holder = campaign.holder("worker-1")
    with pytest.raises(LeaseLostError):
        await imports.commit_chunk(world.conn, lost, holder, chunk, 60)
    with pytest.raises(LeaseLostError):
        await imports.finish(world.conn, lost, holder)
    with pytest.raises(LeaseLostError):
        await imports.spool(world.conn, lost, holder, [{"email": "a@example.com"}], 1)
    with pytest.raises(LeaseLostError):
        await imports.save_cursor(world.conn, lost, {"line": 9}, 60)
    with pytest.raises(LeaseLostError):
        await imports.postpone(world.conn, lost, holder, 1.0, "later")
    assert await campaign.rows() == []
    assert (await campaign.record())["import_state"] == "pending"
    await imports.commit_chunk(world.conn, other, campaign.holder("worker-2"), chunk, 60)
    assert await campaign.states() == {"pending": 1}


async def test_a_session_that_lost_its_lease_stops_handing_off_at_once(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    connected = asyncio.Event()

    async def connect(message: Message) -> None:
        # the first goes out at once; the others are still connecting when the lease goes away
        if message.to != "user1@example.com":
            await connected.wait()

    far_end.before = connect
    lease = Lease(60.0, 1.0, Moment.now())
    session = await campaign.session(batch, far_end, lease=lease)
    taken = asyncio.create_task(session.run())
    await far_end.has_received(1)
    await campaign.query("UPDATE sendonce.batches SET lease_token = %(token)s WHERE state = 'leased'", token=uuid4())
    await world.eventually(lambda: lease.lost)  # the answer of the first can't be written any more
    connected.set()
    await taken
    assert dict(far_end.people) == {"user1@example.com": 1}
