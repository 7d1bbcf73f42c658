"""Who was not reached over the first channel goes on over the next: once, in the transaction that ended the first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions
from sendonce_store.actions import Applied, Order, Selection, Target
from sendonce_store.consent import Suppression, suppress
from sendonce_store.rows import Batch, Result, Unsent

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

CHANNELS = ["Email", "Email>SMS"]


def _both(world: World, *lines: int) -> list[object]:
    return [world.person(line, {"Email": f"user{line}@example.com", "SMS": f"+1500555{line:04}"}) for line in lines]


async def _campaign(world: World, people: int = 2, **wishes: object) -> tuple[Campaign, Batch]:
    campaign = await world.campaign(_both(world, *range(1, people + 1)), channels=CHANNELS, **wishes)  # type: ignore[arg-type]
    return campaign, await campaign.claim()


async def _failed(campaign: Campaign, batch: Batch) -> None:
    await campaign.begin(batch)
    await campaign.end(batch, 1, "failed", reason="permanent")


async def _unrenderable(campaign: Campaign, batch: Batch) -> None:
    await campaign.turn(batch, unsent=[Unsent(1, "failed", "render_error")])


async def _suppressed(campaign: Campaign, batch: Batch) -> None:
    await suppress(campaign.world.conn, "default", [Suppression("Email", "user1@example.com", "bounced")])
    await campaign.begin(batch)


async def _expired(campaign: Campaign, batch: Batch) -> None:
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now() - interval '1 s'")
    await campaign.begin(batch)


ENDS: dict[str, Callable[[Campaign, Batch], Awaitable[None]]] = {
    "failed": _failed, "render error": _unrenderable, "suppressed": _suppressed, "expired": _expired,
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
async def test_who_was_not_reached_goes_on_over_the_next_channel(
    world: World, end: Callable[[Campaign, Batch], Awaitable[None]]
) -> None:
    campaign, batch = await _campaign(world)
    await end(campaign, batch)
    (row,) = await campaign.rows("SMS")
    assert (row["state"], row["address"], row["recipient_no"]) == ("pending", "+15005550001", 1)
    following = next(one for one in await campaign.batches() if one["channel"] == "SMS")
    assert (following["fallback_of"], following["pending"]) == (batch.id, 1)
    claimed = await campaign.claim("worker-2")
    assert (claimed.id, claimed.channel) == (following["id"], "SMS")


@pytest.mark.parametrize(
    "result",
    [
        Result(1, 1, "sent"),
        Result(1, 1, "pending", delay=0.0),
        Result(1, 1, "uncertain", reason="unknown_outcome", unknown=True),
    ],
    ids=lambda result: result.state,
)
async def test_who_was_or_may_have_been_reached_does_not(world: World, result: Result) -> None:
    campaign, batch = await _campaign(world)
    await campaign.begin(batch)
    await campaign.turn(batch, results=[result])
    assert await campaign.rows("SMS") == []


async def test_who_has_no_address_for_the_first_channel_begins_with_the_next(world: World) -> None:
    people = [world.person(1, {"SMS": "+15005550001"}), *_both(world, 2), world.person(3, {})]
    campaign = await world.campaign(people, channels=CHANNELS)  # type: ignore[arg-type]
    assert [row["recipient_no"] for row in await campaign.rows("Email")] == [2]
    assert [row["recipient_no"] for row in await campaign.rows("SMS")] == [1]
    record = await campaign.record()
    assert (record["total"], record["unreachable"]) == (3, 1)


async def test_the_rows_of_a_batch_share_one_fallback_batch(world: World) -> None:
    campaign, batch = await _campaign(world, people=4)
    await campaign.begin(batch, (1, 2, 3, 4))
    for no in (1, 2, 3):
        await campaign.end(batch, no, "failed", reason="permanent")
    following = [one for one in await campaign.batches() if one["channel"] == "SMS"]
    assert [(one["pending"], one["state"]) for one in following] == [(3, "pending")]
    assert [row["no"] for row in await campaign.rows("SMS")] == [1, 2, 3]


async def test_a_fallback_batch_that_was_done_is_opened_again_for_the_next(world: World) -> None:
    campaign, batch = await _campaign(world)
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "failed", reason="permanent")
    sms = await campaign.claim("worker-2")
    await campaign.begin(sms)
    await campaign.end(sms, 1, "sent")
    assert await campaign.release(sms) == "done"
    await campaign.end(batch, 2, "failed", reason="permanent")
    again = await campaign.claim("worker-2")
    assert again.id == sms.id
    assert await campaign.states("SMS") == {"sent": 1, "pending": 1}


async def test_nobody_falls_back_twice(world: World) -> None:
    campaign, batch = await _campaign(world)
    await _failed(campaign, batch)
    target = Target(campaign.id, "default")
    await campaign.query(
        "UPDATE sendonce.deliveries SET state = 'failed', reason = 'permanent', next_attempt_at = NULL,"
        " finished_at = now() WHERE channel = 'SMS'"
    )
    await actions.apply(world.conn, target, Order("again", "Retry", Selection(channels=["Email"])))
    await campaign.begin(batch)
    await campaign.end(batch, 1, "failed", seq=2, reason="permanent")
    assert len(await campaign.rows("SMS")) == 1


@pytest.mark.parametrize(
    ("state", "retried"), [("pending", 0), ("sent", 0), ("uncertain", 0), ("failed", 1), ("cancelled", 1)]
)
async def test_a_retry_leaves_out_whom_the_fallback_reached_or_still_may(
    world: World, state: str, retried: int
) -> None:
    campaign, batch = await _campaign(world)
    await _failed(campaign, batch)
    if state != "pending":
        await campaign.query(
            "UPDATE sendonce.deliveries SET state = %(state)s, next_attempt_at = NULL, finished_at = now(),"
            " attempt_seq = 1, reason = 'permanent', maybe_accepted = (%(state)s = 'uncertain') WHERE channel = 'SMS'",
            state=state,
        )
    order = Order("again", "Retry", Selection(states=("failed",), channels=["Email"]))
    applied = await actions.apply(world.conn, Target(campaign.id, "default"), order)
    assert applied.changed == retried


async def test_a_retry_that_changes_nothing_leaves_a_campaign_ended(world: World) -> None:
    campaign, batch = await _campaign(world, people=1)
    await _failed(campaign, batch)
    await campaign.release(batch)
    sms = await campaign.claim()
    await campaign.begin(sms)
    await campaign.end(sms, 1, "sent")
    await campaign.release(sms)
    await campaign.conduct()
    before = await campaign.record()
    assert before["ended"] == "complete"
    applied = await actions.apply(world.conn, Target(campaign.id, "default"), Order("again", "Retry"))
    assert (applied.matched, applied.changed) == (1, 0)
    assert await campaign.record() == before
    assert {one["state"] for one in await campaign.batches()} == {"done"}


async def test_resolved_as_failed_goes_on_over_the_fallback(world: World) -> None:
    campaign, batch = await _campaign(world)
    await campaign.begin(batch)
    await campaign.end(batch, 1, "uncertain", reason="unknown_outcome", unknown=True)
    order = Order("no", "Resolve", Selection(states=("uncertain",)), resolve_as="failed")
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    assert await campaign.states("SMS") == {"pending": 1}


async def test_what_expires_at_the_deadline_goes_on_over_the_fallback_and_a_cancel_does_not(world: World) -> None:
    campaign, _ = await _campaign(world)
    await actions.cancel(world.conn, campaign.id)
    assert await campaign.rows("SMS") == []
    other, _ = await _campaign(world, name="autumn")
    await other.query("UPDATE sendonce.campaigns SET deadline = now() - interval '1 s' WHERE id = %(id)s")
    await other.conduct()
    assert await other.states("Email") == {"expired": 2}
    assert set(await other.states("SMS")) <= {"pending", "expired"}
    assert len(await other.rows("SMS")) == 2


async def _order(campaign: Campaign, order: Order) -> Applied:
    return await actions.apply(campaign.world.conn, Target(campaign.id, "default"), order)


async def _ended_over_both(world: World, people: int) -> Campaign:
    """Everybody failed by mail; SMS, which came next, has ended as odd lines sent, even lines failed."""
    campaign = await world.campaign(None, channels=["Email", "Email>SMS"])
    both = [{"Email": f"user{line}@example.com", "SMS": f"+1500555{line:04}"} for line in range(1, people + 1)]
    await campaign.imports([world.person(line, one) for line, one in enumerate(both, 1)])
    every = range(1, people + 1)
    for wanted in ("Email", "SMS"):
        batch = await campaign.claim()
        await campaign.begin(batch, every)
        for no in every:
            state = "sent" if wanted == "SMS" and no % 2 else "failed"
            await campaign.end(batch, no, state, reason=None if state == "sent" else "permanent")
        await campaign.release(batch)
    return campaign


async def test_a_limit_counts_what_is_retried_and_not_what_is_passed_over(world: World) -> None:
    campaign = await _ended_over_both(world, people=8)
    applied = await _order(campaign, Order("two", "Retry", Selection(["failed"], channels=["Email"], limit=2)))
    assert [row["recipient_no"] for row in await campaign.rows() if row["state"] == "pending"] == [2, 4]
    skipped = "2 skipped: another channel reached the person, or still may"
    assert (applied.matched, applied.changed, applied.message) == (4, 2, f"2 of 4 deliveries changed, {skipped}")
    rest = await _order(campaign, Order("rest", "Retry", Selection(["failed"], channels=["Email"], limit=10)))
    assert (rest.matched, rest.changed) == (6, 2)


async def test_a_retry_of_all_channels_opens_one_of_those_that_stand_in_for_each_other(world: World) -> None:
    campaign = await _ended_over_both(world, people=2)
    applied = await _order(campaign, Order("again", "Retry"))
    assert await campaign.states("Email") == {"failed": 1, "pending": 1}
    assert await campaign.states("SMS") == {"sent": 1, "failed": 1}
    assert (applied.matched, applied.changed) == (3, 1)


async def test_two_orders_do_not_open_two_channels_of_one_person(world: World) -> None:
    campaign = await _ended_over_both(world, people=2)
    other, target = await world.connect(), Target(campaign.id, "default")
    async with other.transaction():
        await actions.apply(other, target, Order("mail", "Retry", Selection(channels=["Email"])))
        waiting = asyncio.create_task(_order(campaign, Order("text", "Retry", Selection(channels=["SMS"]))))
        await world.blocked()
    assert (await waiting).changed == 0
    assert (await campaign.states("Email")).get("pending") == 1


async def test_a_cancel_is_not_taken_back_by_a_row_that_is_passed_over(world: World) -> None:
    campaign = await _ended_over_both(world, people=2)
    await campaign.query(
        "UPDATE sendonce.deliveries SET state = 'cancelled', reason = 'cancelled' WHERE channel = 'Email' AND no = 1"
    )
    await campaign.query("UPDATE sendonce.campaigns SET cancelled_at = now()")
    applied = await _order(campaign, Order("again", "Retry", Selection(channels=["Email"])))
    assert (applied.matched, applied.changed) == (2, 1)
    assert (await campaign.record())["cancelled_at"] is not None
