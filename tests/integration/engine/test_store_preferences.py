"""People who say over which channels they want to be written to, the dearest first, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sendonce_store import actions
from sendonce_store.recipients import Recipient

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

ALL = {"Email": "ada@example.com", "SMS": "+15005550006", "Line": "U1"}
CHAIN = ["Email", "Email>SMS"]


def _person(world: World, *prefers: str) -> Recipient:
    addresses = {channel: address for channel, address in ALL.items() if not prefers or channel in prefers}
    return world.person(1, addresses, prefers=prefers)


async def _channels(campaign: Campaign) -> set[str]:
    return {row["channel"] for row in await campaign.query("SELECT channel FROM sendonce.deliveries")}


async def _failed(campaign: Campaign, channel: str) -> None:
    batch = await campaign.claim()
    assert batch.channel == channel
    await campaign.begin(batch)
    await campaign.end(batch, 1, "failed", reason="permanent")
    await campaign.release(batch)


FIRST: dict[str, tuple[list[str], tuple[str, ...], set[str]]] = {
    "as the campaign says": (CHAIN, (), {"Email"}),
    "the second channel first": (CHAIN, ("SMS", "Email"), {"SMS"}),
    "the first channel first": (CHAIN, ("Email", "SMS"), {"Email"}),
    "only the second": (CHAIN, ("SMS",), {"SMS"}),
    "one that the campaign has not": (CHAIN, ("Line",), set()),
    "of all that are sent, some": (["Email", "SMS", "Line"], ("Line", "Email"), {"Line", "Email"}),
}


@pytest.mark.parametrize(("channels", "prefers", "expected"), FIRST.values(), ids=FIRST.keys())
async def test_who_prefers_channels_gets_the_dearest_of_those_that_stand_in_for_each_other(
    world: World, channels: list[str], prefers: tuple[str, ...], expected: set[str]
) -> None:
    campaign = await world.campaign([_person(world, *prefers)], channels=channels)
    assert await _channels(campaign) == expected
    assert (await campaign.record())["unreachable"] == (0 if expected else 1)


async def test_after_the_dearest_the_next_one_comes_and_none_that_was_not_named(world: World) -> None:
    campaign = await world.campaign([_person(world, "SMS", "Email")], channels=CHAIN)
    await _failed(campaign, "SMS")
    assert await _channels(campaign) == {"SMS", "Email"}
    await _failed(campaign, "Email")
    assert await campaign.try_claim() is None
    assert [step.kind.value for step in await campaign.conduct()] == ["end"]


async def test_a_persons_order_goes_through_several_fallbacks_one_by_one(world: World) -> None:
    chain = ["Email", "Email>SMS", "Email>Line"]
    campaign = await world.campaign([_person(world, "Line", "SMS", "Email")], channels=chain)
    for channel in ("Line", "SMS", "Email"):
        assert await _channels(campaign) == {"Line", "SMS", "Email"} - set(
            {"Line": ("SMS", "Email"), "SMS": ("Email",), "Email": ()}[channel]
        )
        await _failed(campaign, channel)


async def test_a_failure_on_the_last_channel_leaves_no_batch_behind(world: World) -> None:
    people = [_person(world), world.person(2, {"SMS": "+15005550007"})]
    campaign = await world.campaign(people, channels=CHAIN)
    sms = next(batch["id"] for batch in await campaign.batches() if batch["channel"] == "SMS")
    while (batch := await campaign.try_claim()) is not None:
        await campaign.begin(batch)
        await campaign.end(batch, 1, "failed", reason="permanent")
        await campaign.release(batch)
    assert [one["fallback_of"] for one in await campaign.batches() if one["fallback_of"] == sms] == []


@pytest.mark.parametrize(("state", "changed"), [("sent", 0), ("failed", 1)])
async def test_a_retry_leaves_out_whom_a_channel_further_on_has_reached(world: World, state: str, changed: int) -> None:
    campaign = await world.campaign([_person(world, "SMS", "Email")], channels=CHAIN)
    await _failed(campaign, "SMS")
    batch = await campaign.claim()
    await campaign.begin(batch)
    more: dict[str, Any] = {"reason": "permanent"} if state == "failed" else {}
    await campaign.end(batch, 1, state, **more)
    await campaign.release(batch)
    order = actions.Order("again", "Retry", actions.Selection(channels=["SMS"]))
    applied = await actions.apply(world.conn, actions.Target(campaign.id, "default"), order)
    assert (applied.matched, applied.changed) == (1, changed)


async def test_a_settled_batch_keeps_to_the_persons_order(world: World) -> None:
    campaign = await world.campaign([_person(world, "SMS", "Email")], channels=CHAIN)
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now()")
    await campaign.conduct()
    assert await campaign.states("SMS") == {"expired": 1}
    assert await _channels(campaign) == {"SMS", "Email"}


async def test_in_one_batch_each_goes_on_in_its_own_order(world: World) -> None:
    usual = world.person(2, {"Email": "bo@example.com", "SMS": "+15005550007", "Line": "U2"})
    people = [_person(world, "Email", "Line", "SMS"), usual]
    campaign = await world.campaign(people, channels=["Email", "Email>SMS", "Email>Line"])
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    for no in (1, 2):
        await campaign.end(batch, no, "failed", reason="permanent")
    found = await campaign.query("SELECT recipient_no, channel FROM sendonce.deliveries WHERE channel <> 'Email'")
    assert {(row["recipient_no"], row["channel"]) for row in found} == {(1, "Line"), (2, "SMS"), (2, "Line")}


async def test_who_has_no_order_of_his_own_does_not_go_on_from_a_fallback_because_another_does(world: World) -> None:
    usual = world.person(2, {"Email": "bo@example.com", "SMS": "+15005550007", "Line": "U2"})
    people = [_person(world, "Email", "SMS", "Line"), usual]
    campaign = await world.campaign(people, channels=["Email", "Email>SMS", "Email>Line@Expired"])
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    for no in (1, 2):
        await campaign.end(batch, no, "failed", reason="permanent")
    await campaign.release(batch)
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now()")
    await campaign.conduct()
    assert await campaign.states("SMS") == {"expired": 2}
    found = await campaign.query("SELECT recipient_no FROM sendonce.deliveries WHERE channel = 'Line'")
    assert [row["recipient_no"] for row in found] == [1]
