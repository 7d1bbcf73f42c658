"""Schedules in which a campaign once hung, or told its end wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store import actions
from sendonce_store.actions import Order, Selection, Target

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World


async def test_a_holder_that_dies_before_it_sent_anything_does_not_keep_a_cancel_from_ending(world: World) -> None:
    campaign = await world.campaign(3)
    await campaign.claim("dead")
    await actions.cancel(world.conn, campaign.id)
    await campaign.lapse()
    batch = await campaign.claim("worker-2")
    assert await campaign.release(batch) == "done"
    await campaign.conduct()
    assert (await campaign.record())["ended_reason"] == "Cancelled"


async def test_a_fallback_that_nobody_has_an_address_for_does_not_keep_a_cancel_from_ending(world: World) -> None:
    campaign = await world.campaign(2, channels=["Email", "Email>SMS"])
    batch = await campaign.claim()
    await campaign.begin(batch, [1, 2])
    for no in (1, 2):
        await campaign.end(batch, no, "failed", outcome="permanent", reason="permanent")
    await campaign.release(batch)
    await actions.cancel(world.conn, campaign.id)
    while (left := await campaign.try_claim("worker-2")) is not None:
        await campaign.release(left)
    await campaign.conduct()
    assert (await campaign.record())["ended"] is not None


async def test_the_end_says_what_is_true_after_a_person_resolved_what_was_uncertain(world: World) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, [1, 2])
    await campaign.end(batch, 1, "sent")
    await campaign.end(batch, 2, "uncertain", unknown=True, reason="unknown_outcome")
    await campaign.release(batch)
    await campaign.conduct()
    assert (await campaign.record())["ended_reason"] == "SomeUndelivered"
    order = Order("it-arrived", "Resolve", Selection(states=("uncertain",)), resolve_as="sent")
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    record = await campaign.record()
    assert (record["ended_reason"], record["ended_message"]) == ("AllSent", "2 sent")
