"""Rule 14: Retry is for what was surely not sent; what may have been sent needs Resolve, and Resend waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions, queue
from sendonce_store.actions import Order, Selection, Target

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

PATIENCE = 45.0
ALL_STATES = ("pending", "sending", "sent", "failed", "uncertain", "suppressed", "expired", "cancelled")


async def _one_of_each(world: World) -> Campaign:
    """Eight rows, one in each state, in the order of ALL_STATES."""
    campaign = await world.campaign(8)
    batch = await campaign.claim()
    await campaign.begin(batch, (2, 3, 4, 5))
    await campaign.end(batch, 3, "sent")
    await campaign.end(batch, 4, "failed", reason="permanent")
    await campaign.end(batch, 5, "uncertain", reason="unknown_outcome", unknown=True)
    for no, state in ((6, "suppressed"), (7, "expired"), (8, "cancelled")):
        await campaign.query(
            "UPDATE sendonce.deliveries SET state = %(state)s, next_attempt_at = NULL, finished_at = now()"
            " WHERE no = %(no)s",
            no=no,
            state=state,
        )
    return campaign


async def test_retry_takes_what_was_surely_not_sent_and_nothing_else_even_if_asked(world: World) -> None:
    campaign = await _one_of_each(world)
    everything = Order("all", "Retry", Selection(states=ALL_STATES))
    applied = await actions.apply(world.conn, Target(campaign.id, "default"), everything)
    assert applied.changed == 4
    assert [row["state"] for row in await campaign.rows()] == [
        "pending", "sending", "sent", "pending", "uncertain", "pending", "pending", "pending",
    ]  # fmt: skip


@pytest.mark.parametrize("resolve_as", ["sent", "failed", "resend"])
async def test_resolve_takes_uncertain_rows_alone_even_if_asked_for_more(world: World, resolve_as: str) -> None:
    campaign = await _one_of_each(world)
    order = Order("all", "Resolve", Selection(states=ALL_STATES), resolve_as=resolve_as)
    applied = await actions.apply(world.conn, Target(campaign.id, "default"), order)
    assert applied.changed == 1
    states = list(ALL_STATES)
    states[4] = "pending" if resolve_as == "resend" else resolve_as
    assert [row["state"] for row in await campaign.rows()] == states


async def _resend(campaign: Campaign) -> float:
    """Order it; the seconds until it may go out."""
    order = Order("again", "Resolve", Selection(states=("uncertain",)), resolve_as="resend", patience=PATIENCE)
    assert (await actions.apply(campaign.world.conn, Target(campaign.id, "default"), order)).changed == 1
    (due,) = await campaign.query(
        "SELECT extract(epoch FROM next_attempt_at - now())::float8 AS seconds FROM sendonce.deliveries WHERE no = 1"
    )
    return float(due["seconds"])


async def _uncertain(world: World, *, recovered: bool) -> Campaign:
    campaign = await world.campaign(1)
    await world.conn.execute(
        "INSERT INTO sendonce.workers (id, namespace, campaign_id) VALUES ('worker-1', 'default', %s)", [campaign.id]
    )
    batch = await campaign.claim("worker-1")
    await campaign.begin(batch, worker="worker-1")
    reason = "recovered" if recovered else "unknown_outcome"
    await campaign.end(batch, 1, "uncertain", reason=reason, unknown=True)
    await campaign.release(batch)
    return campaign


async def test_a_resend_waits_until_the_attempt_must_be_over(world: World) -> None:
    campaign = await _uncertain(world, recovered=False)
    assert PATIENCE - 5 < await _resend(campaign) <= PATIENCE


async def test_a_resend_long_after_the_attempt_goes_out_at_once(world: World) -> None:
    campaign = await _uncertain(world, recovered=False)
    await campaign.age(PATIENCE)
    assert await _resend(campaign) <= 0


async def test_a_resend_waits_for_a_process_that_vanished_and_may_only_be_frozen(world: World) -> None:
    campaign = await _uncertain(world, recovered=True)
    await campaign.age(PATIENCE)
    assert await _resend(campaign) > PATIENCE  # its last heartbeat was a moment ago


async def test_a_resend_goes_out_once_the_process_is_known_to_be_gone(world: World) -> None:
    campaign = await _uncertain(world, recovered=True)
    await campaign.age(PATIENCE)
    await campaign.query("UPDATE sendonce.workers SET stopped_at = now()")
    assert await _resend(campaign) <= 0


async def test_a_resend_is_for_one_attempt(world: World) -> None:
    campaign = await _uncertain(world, recovered=False)
    await campaign.age(PATIENCE)
    await _resend(campaign)
    batch = await campaign.claim()
    campaign.repeats = type(campaign.repeats)(None, PATIENCE, resend=False, max_attempts=5)
    assert [row.state for row in await campaign.begin(batch)] == ["sending"]
    await campaign.end(batch, 1, "pending", seq=2, used=1)
    assert [row.state for row in await campaign.begin(batch)] == ["uncertain"]


async def test_a_retry_of_what_a_person_called_failed_waits_as_a_resend_does(world: World) -> None:
    campaign = await _uncertain(world, recovered=False)
    target = Target(campaign.id, "default")
    resolve = Order("no", "Resolve", Selection(states=("uncertain",)), resolve_as="failed")
    await actions.apply(world.conn, target, resolve)
    await actions.apply(world.conn, target, Order("after all", "Retry", patience=PATIENCE))
    batch = await campaign.claim()
    assert await queue.due_rows(world.conn, batch) == []
    await campaign.age(PATIENCE)
    assert [row.no for row in await queue.due_rows(world.conn, batch)] == [1]
    assert [row.state for row in await campaign.begin(batch)] == ["sending"]
