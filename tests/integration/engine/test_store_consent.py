"""Consent is looked at when a message is handed off, not when its recipient was imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sendonce_store.consent import OptOut, Suppression, opt_in, opt_out, suppress
from sendonce_store.queue import due_rows
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import TemporarySendError

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World

FIRST = "user1@example.com"


async def _begun(campaign: Campaign) -> list[tuple[str, str | None]]:
    started = await campaign.begin(await campaign.claim(), (1, 2))
    return [(row.state, row.reason) for row in sorted(started, key=lambda row: row.no)]


@pytest.mark.parametrize("category", ["Marketing", "Transactional"])
@pytest.mark.parametrize("reason", ["bounced", "complained", "blocked"])
async def test_a_suppression_holds_for_every_category(world: World, category: str, reason: str) -> None:
    campaign = await world.campaign(2, category=category)
    await suppress(world.conn, "default", [Suppression("Email", FIRST, reason)])
    assert await _begun(campaign) == [("suppressed", "suppression_list"), ("sending", None)]


@pytest.mark.parametrize(
    ("category", "topic", "wish", "holds"),
    [
        ("Marketing", None, ("Marketing", ""), True),
        ("Marketing", "news", ("Marketing", ""), True),
        ("Marketing", "news", ("Marketing", "news"), True),
        ("Marketing", "news", ("Marketing", "offers"), False),
        ("Marketing", None, ("Marketing", "news"), False),
        ("Transactional", None, ("Marketing", ""), False),
        ("Transactional", None, ("Transactional", ""), True),
    ],
)
async def test_an_opt_out_holds_for_its_category_and_topic(
    world: World, category: str, topic: str | None, wish: tuple[str, str], holds: bool
) -> None:
    wishes: dict[str, Any] = {"topic": topic} if topic else {}
    campaign = await world.campaign(2, category=category, **wishes)
    await opt_out(world.conn, "default", [OptOut("Email", FIRST, *wish)])
    expected = ("suppressed", "opted_out") if holds else ("sending", None)
    assert await _begun(campaign) == [expected, ("sending", None)]


@pytest.mark.parametrize("tenant", [True, False], ids=["a namespace's login", "the owner, who sees all rows"])
@pytest.mark.parametrize(("namespace", "channel"), [("other", "Email"), ("default", "SMS")])
async def test_a_wish_is_of_one_namespace_and_one_channel(
    world: World, namespace: str, channel: str, tenant: bool
) -> None:
    campaign = await world.campaign(2)
    await suppress(world.conn, namespace, [Suppression(channel, FIRST, "blocked")])
    await opt_out(world.conn, namespace, [OptOut(channel, FIRST, "Marketing")])
    batch = await campaign.claim()
    conn = world.hands if tenant else world.conn
    outcome = await campaign.turn(batch, conn=conn, group=[(1, b"d" * 32), (2, b"d" * 32)])
    assert [(row.state, row.reason) for row in outcome.started] == [("sending", None), ("sending", None)]


async def test_an_opt_out_that_comes_after_the_rows_were_read_still_holds(world: World) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    assert len(await due_rows(world.conn, batch)) == 2
    await opt_out(world.conn, "default", [OptOut("Email", FIRST, "Marketing")])
    assert [row.state for row in await campaign.begin(batch)] == ["suppressed"]


async def test_an_opt_out_that_was_taken_back_no_longer_holds(world: World) -> None:
    campaign = await world.campaign(2)
    wish = [OptOut("Email", FIRST, "Marketing")]
    await opt_out(world.conn, "default", wish)
    await opt_in(world.conn, "default", wish)
    assert await _begun(campaign) == [("sending", None), ("sending", None)]


async def test_who_opts_out_between_two_attempts_gets_no_second_one(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(1)

    async def refuse_and_opt_out(message: Message) -> Accepted:
        await opt_out(world.conn, "default", [OptOut("Email", FIRST, "Marketing")])
        raise TemporarySendError("421", "busy")

    far_end.answer = refuse_and_opt_out
    for _ in range(2):
        await (await campaign.session(await campaign.claim(), far_end)).run()
    assert len(far_end.received) == 1
    assert (await campaign.row())["state"] == "suppressed"
