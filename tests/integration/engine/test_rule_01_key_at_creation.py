"""Rule 1: the key is made with the row, and rides on every attempt together with the same bytes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from uuid import UUID

from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import TemporarySendError

if TYPE_CHECKING:
    from tests.integration.engine.conftest import FarEnd, World


def _key(*parts: str) -> UUID:
    return UUID(bytes=hashlib.sha256("\x1f".join(parts).encode()).digest()[:16])


async def test_the_key_is_made_with_the_row_of_store_namespace_send_key_channel_and_address(world: World) -> None:
    campaign = await world.campaign([world.person(1, {"Email": "Mia@example.com"})], sendKey="spring")
    store = (await campaign.query("SELECT id::text FROM sendonce.store"))[0]["id"]
    assert (await campaign.row())["key"] == _key(store, "default", "spring", "Email", "mia@example.com")


async def test_a_fallback_row_gets_its_key_in_the_same_way(world: World) -> None:
    both = {"Email": "mia@example.com", "SMS": "+15005550006"}
    campaign = await world.campaign([world.person(1, both)], channels=["Email", "Email>SMS"])
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "failed", reason="permanent")
    store = (await campaign.query("SELECT id::text FROM sendonce.store"))[0]["id"]
    assert (await campaign.row(channel="SMS"))["key"] == _key(store, "default", "spring", "SMS", "+15005550006")


async def test_each_attempt_carries_the_key_and_the_bytes_of_the_first(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(1)

    async def once_refused(message: Message) -> Accepted:
        if len(far_end.received) < 2:
            raise TemporarySendError("503", "warming up")
        return Accepted(None, "200")

    far_end.answer = once_refused
    for _ in range(2):
        await (await campaign.session(await campaign.claim(), far_end)).run()
        await campaign.query("UPDATE sendonce.deliveries SET first_attempt_at = first_attempt_at - interval '9 s'")
    first, second = far_end.received
    assert first.key == second.key == str((await campaign.row())["key"])
    assert first.content == second.content
    assert abs((first.date - second.date).total_seconds() - 9) < 0.001  # the date of the first attempt, not of each
    assert (await campaign.row())["state"] == "sent"


async def test_other_bytes_are_not_handed_off_under_a_key_that_may_have_been_accepted(world: World) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.turn(batch, results=[])
    await campaign.end(batch, 1, "pending", unknown=True, used=1, outcome="unknown")
    await campaign.end(batch, 2, "pending", used=1, outcome="temporary")
    started = {row.no: (row.state, row.reason) for row in await campaign.begin(batch, (1, 2), digest=b"\x02" * 32)}
    assert started[1] == ("uncertain", "content_changed")
    assert started[2] == ("sending", None)  # refused for certain: nobody has seen the old bytes
