"""Rule 9: the lease counts from before it was asked for, and is looked at again right before the first byte."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.sending.clock import Lease, Moment, boot_clock
from sendonce_worker.sending.plan import lease_length, patience

if TYPE_CHECKING:
    from tests.integration.engine.conftest import FarEnd, World


@pytest.mark.parametrize("timeout", [1.0, 30.0, 600.0])
@pytest.mark.parametrize("heartbeat", [0.05, 5.0])
def test_a_hand_off_that_was_cleared_ends_within_the_lease(timeout: float, heartbeat: float) -> None:
    lease = Lease(lease_length(timeout, heartbeat), patience(timeout), Moment.now())
    lease.clearance()  # with a fresh lease there is time
    assert lease.patience > timeout  # what has been cleared is over, time-out and all, before anybody may claim
    assert lease.length - lease.patience > 2.9 * heartbeat  # and a heartbeat or two may fail meanwhile


def test_the_lease_counts_on_a_clock_that_goes_on_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = 3600.0
    clocks = {time.CLOCK_MONOTONIC: 1000.0, time.CLOCK_BOOTTIME: 1000.0 + slept}
    monkeypatch.setattr(time, "clock_gettime", clocks.__getitem__)
    assert boot_clock() == 1000.0 + slept


async def test_a_message_whose_connection_took_too_long_does_not_go_out(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(1)
    lease = Lease(0.6, 0.5, Moment.now())

    async def connect(message: Message) -> None:
        await world.eventually(lambda: lease.remaining() < lease.patience)

    far_end.before = connect
    await (await campaign.session(await campaign.claim(), far_end, lease=lease, heartbeat=60)).run()
    assert far_end.received == []
    row = await campaign.row()
    assert (row["state"], row["tries"], row["maybe_accepted"]) == ("pending", 0, False)
    assert await campaign.try_claim("worker-2") is not None  # given back, not left to its lease


async def test_a_process_that_stood_still_hands_off_nothing_when_it_wakes(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(2)
    lease = Lease(0.5, 0.1, Moment.now())

    async def stand_still(message: Message) -> None:
        time.sleep(0.6)  # noqa: ASYNC251 - the whole loop stands still, as under SIGSTOP

    far_end.before = stand_still
    await (await campaign.session(await campaign.claim(), far_end, lease=lease, heartbeat=60)).run()
    assert far_end.received == []
    assert await campaign.states() == {"pending": 2}


async def test_the_lease_is_renewed_while_the_far_end_takes_its_time(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(1)
    go_on = asyncio.Event()

    async def slow(message: Message) -> Accepted:
        await go_on.wait()
        return Accepted(None, "200")

    far_end.answer = slow
    batch = await campaign.claim(lease=60)
    sending = asyncio.create_task((await campaign.session(batch, far_end, heartbeat=0.05)).run())
    await far_end.has_received(1)
    (before,) = await campaign.batches()

    async def beaten() -> bool:
        return bool((await campaign.batches())[0]["heartbeat_at"] > before["heartbeat_at"])

    await world.eventually(beaten)
    (after,) = await campaign.batches()
    assert after["claimable_at"] > before["claimable_at"]
    assert after["leased_at"] == before["leased_at"]
    go_on.set()
    await sending


async def test_a_renewal_whose_answer_was_slow_counts_from_before_it_was_asked_for(
    world: World, far_end: FarEnd
) -> None:
    campaign = await world.campaign(1)
    go_on = asyncio.Event()

    async def slow(message: Message) -> Accepted:
        await go_on.wait()
        return Accepted(None, "200")

    far_end.answer = slow
    batch = await campaign.claim()
    lease = Lease(60.0, 1.0, Moment.now())
    other = await world.connect()
    sending = asyncio.create_task((await campaign.session(batch, far_end, lease=lease, heartbeat=0.3)).run())
    await far_end.has_received(1)
    async with other.transaction():
        await other.execute("SELECT FROM sendonce.batches WHERE id = %s FOR UPDATE", [batch.id])
        await world.blocked()  # the renewal has been asked for
        before, renewed = boot_clock(), lease.renewed_at
    await world.eventually(lambda: lease.renewed_at != renewed)
    assert lease.renewed_at < before
    go_on.set()
    await sending
