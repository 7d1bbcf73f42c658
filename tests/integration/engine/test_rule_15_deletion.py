"""Rule 15: deleting waits for the leases, settles every row, then lets go; a cancel holds for who arrives later."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sendonce_store import actions, deletion, imports, queue

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

import pytest

from sendonce_store.queue import LeaseLostError
from sendonce_store.rows import Result


async def _delete(campaign: Campaign) -> float | None:
    return await deletion.delete(campaign.world.conn, campaign.id)


async def test_deleting_waits_until_the_lease_has_ended(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim(lease=60)
    await campaign.begin(batch)
    wait = await _delete(campaign)
    assert wait is not None
    assert 50 < wait <= 60
    assert await campaign.states() == {"sending": 1, "cancelled": 2}  # nothing new is begun meanwhile
    assert (await campaign.record())["ended"] is None


async def test_a_holder_that_finishes_meanwhile_ends_its_row_by_its_answer(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await _delete(campaign)
    await campaign.end(batch, 1, "sent")
    await campaign.release(batch)
    assert await _delete(campaign) is None
    assert await campaign.states() == {"sent": 1, "cancelled": 2}


async def test_what_a_dead_holder_left_in_sending_becomes_uncertain_and_its_late_write_fails(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.lapse()
    assert await _delete(campaign) is None
    assert await campaign.states() == {"uncertain": 1, "cancelled": 2}
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"]) == ("failed", "Cancelled")
    with pytest.raises(LeaseLostError):
        await campaign.end(batch, 1, "failed", reason="permanent")
    assert await queue.record_evidence(world.conn, batch, campaign.holder(), [Result(1, 1, "sent")]) == 1
    assert await campaign.states() == {"sent": 1, "cancelled": 2}


async def test_a_row_that_may_have_been_accepted_is_not_called_cancelled(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "pending", unknown=True, used=1)
    await campaign.lapse()
    assert await _delete(campaign) is None
    assert await campaign.states() == {"uncertain": 1}


async def test_a_lease_that_is_renewed_in_the_last_moment_is_waited_for(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.lapse()
    other = await world.connect()
    async with asyncio.TaskGroup() as tasks:
        async with other.transaction():
            await queue.renew(other, batch, 60)
            deleting = tasks.create_task(_delete(campaign))
            await world.blocked()
        assert await deleting is not None
    assert await campaign.states() == {"sending": 1}


async def test_deleting_before_the_import_ends_it_and_a_worker_that_comes_late_imports_nothing(world: World) -> None:
    campaign = await world.campaign(None)
    batch = await campaign.claim()
    plan = await imports.prepare(world.conn, campaign.id)
    await campaign.lapse()
    assert await _delete(campaign) is None
    record = await campaign.record()
    assert (record["ended"], record["import_state"]) == ("failed", "failed")
    chunk = plan.chunk([world.person(1)], (), {"line": 1})
    with pytest.raises(LeaseLostError):
        await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)


async def test_deleting_what_has_ended_changes_nothing(world: World) -> None:
    campaign = await world.campaign(0)
    await campaign.conduct()
    before = await campaign.record()
    assert before["ended"] == "complete"
    assert await _delete(campaign) is None
    assert await campaign.record() == before


async def test_who_is_imported_after_a_cancel_arrives_as_cancelled(world: World) -> None:
    campaign = await world.campaign(None)
    batch = await campaign.claim()
    plan = await imports.prepare(world.conn, campaign.id)

    async def commit(line: int) -> None:
        chunk = plan.chunk([world.person(line)], (), {"line": line})
        await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)

    await commit(1)
    assert await actions.cancel(world.conn, campaign.id) == 1
    await commit(2)
    assert await campaign.states() == {"cancelled": 2}
    assert [one["state"] for one in await campaign.batches()] == ["done", "done"]
    assert (await campaign.record())["total"] == 2


async def test_a_cancel_that_meets_a_chunk_leaves_nobody_pending(world: World) -> None:
    campaign = await world.campaign(None)
    batch = await campaign.claim()
    person = await world.connect()
    plan = await imports.prepare(world.conn, campaign.id)
    chunk = plan.chunk([world.person(line) for line in (1, 2)], (), {"line": 2})
    async with asyncio.TaskGroup() as tasks:
        async with world.conn.transaction():
            await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)
            cancelling = tasks.create_task(actions.cancel(person, campaign.id))
            await world.blocked()
        assert await cancelling == 2
    assert await campaign.states() == {"cancelled": 2}
