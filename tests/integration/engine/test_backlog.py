"""What is open in the queue, told apart by campaign and provider, and which leases nobody takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

import pytest

from sendonce_store import backlog
from sendonce_store.backlog import Line

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World


async def only(world: World) -> Line:
    (found,) = await backlog.read(world.conn)
    return found


async def test_what_is_due_and_what_is_held_is_ready_and_what_waits_is_only_open(world: World) -> None:
    campaign = await world.campaign(3)
    assert ((await only(world)).ready, (await only(world)).open) == (3, 3)
    batch = await campaign.claim()
    assert (await only(world)).ready == 3
    await campaign.release(batch)
    await campaign.query("UPDATE sendonce.batches SET claimable_at = now() + interval '1 h' WHERE state <> 'done'")
    assert ((await only(world)).ready, (await only(world)).open) == (0, 3)


async def test_an_import_has_no_provider(world: World) -> None:
    await world.campaign(None)
    found = await only(world)
    assert (found.place, found.open) == (("", "", ""), 0)


async def held(world: World) -> Campaign:
    """A campaign whose one batch has been held in silence for ten minutes, long past its lease."""
    campaign = await world.campaign(3)
    await campaign.claim()
    await campaign.query("UPDATE sendonce.batches SET heartbeat_at = now() - interval '600 s' WHERE state = 'leased'")
    await campaign.lapse()
    return campaign


async def test_a_lease_that_has_run_out_is_stuck_until_somebody_takes_over(world: World) -> None:
    campaign = await held(world)
    found = await only(world)
    assert (found.stuck, round(found.silent)) == (1, 600)
    await campaign.claim("worker-2")
    found = await only(world)
    assert found.stuck == 0
    assert found.silent < 60


STANDING: dict[str, LiteralString] = {
    "suspended": "UPDATE sendonce.campaigns SET suspended = true",
    "stopped": "UPDATE sendonce.campaigns SET halt_reason = 'FailureThreshold', halt_message = ''",
    "cancelled": "UPDATE sendonce.campaigns SET cancelled_at = now()",
    "not yet": "UPDATE sendonce.campaigns SET start_at = now() + interval '1 h'",
    "paused": "UPDATE sendonce.providers SET paused_until = now() + interval '1 h'",
    "provider suspended": "UPDATE sendonce.providers SET suspended = true",
}


@pytest.mark.parametrize("change", STANDING.values(), ids=STANDING)
async def test_while_nobody_is_wanted_nothing_is_stuck(world: World, change: LiteralString) -> None:
    campaign = await held(world)
    await campaign.query(change)
    found = await only(world)
    assert (found.stuck, found.silent) == (0, 0.0)


async def test_messages_in_flight_are_stuck_whatever_stands_still(world: World) -> None:
    campaign = await world.campaign(3)
    await campaign.begin(await campaign.claim())
    await campaign.query("UPDATE sendonce.campaigns SET suspended = true")
    await campaign.lapse()
    assert (await only(world)).stuck == 1


async def test_what_has_ended_has_no_line(world: World) -> None:
    campaign = await world.campaign(3)
    await campaign.query(
        "UPDATE sendonce.campaigns SET ended = 'failed', ended_reason = 'Cancelled', completed_at = now()"
    )
    assert await backlog.read(world.conn) == []
