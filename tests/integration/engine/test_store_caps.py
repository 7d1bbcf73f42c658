"""At most so many messages of a category and topic to one address in so many days, over all campaigns with a cap."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.engine.stream_cases import enqueue, standing, take_in

from sendonce_store import actions, retention
from sendonce_store.actions import Order, Selection, Target
from sendonce_store.consent import Suppression, suppress
from sendonce_store.rows import Result

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World

ONE = {"messages": 1, "periodDays": 7}


async def _campaign(world: World, name: str, cap: Any = ONE, people: int = 1, **wishes: Any) -> Campaign:
    more = {"frequencyCap": cap} if cap else {}
    return await world.campaign(people, name=name, **more, **wishes)


async def _sent(campaign: Campaign, state: str = "sent", **result: Any) -> None:
    """Hand off the first delivery."""
    batch = await campaign.claim()
    (started,) = await campaign.begin(batch)
    assert started.state == "sending"
    await campaign.end(batch, 1, state, **result)
    await campaign.release(batch)


async def _begun(campaign: Campaign) -> tuple[str, str | None]:
    """Try to hand off the first delivery; what became of it."""
    batch = await campaign.claim()
    await campaign.begin(batch)
    row = await campaign.row()
    return row["state"], row["reason"]


CAPPED = ("suppressed", "frequency_cap")
FREE = ("sending", None)


async def test_who_has_had_enough_gets_no_more_and_the_next_person_does(world: World) -> None:
    await _sent(await _campaign(world, "monday"))
    tuesday = await _campaign(world, "tuesday", people=2)
    batch = await tuesday.claim()
    outcome = await tuesday.turn(batch, group=[(1, b"x"), (2, b"x")])
    assert [(row.no, row.state) for row in outcome.started] == [(2, "sending")]
    assert outcome.settled == {1: "suppressed"}
    assert ((await tuesday.row(1))["state"], (await tuesday.row(1))["reason"]) == CAPPED
    assert (await tuesday.row(1))["attempt_seq"] == 0


async def test_as_many_as_the_cap_says_and_older_ones_count_no_more(world: World) -> None:
    two = {"messages": 2, "periodDays": 7}
    for name in ("monday", "tuesday"):
        await _sent(await _campaign(world, name, two))
    assert await _begun(await _campaign(world, "wednesday", two)) == CAPPED
    await world.conn.execute("UPDATE sendonce.contacts SET hits[1] = hits[1] - interval '7 days'")
    assert await _begun(await _campaign(world, "thursday", two)) == FREE


OTHERS: dict[str, dict[str, Any]] = {
    "another topic": {"topic": "offers"},
    "the whole category": {},
    "no cap": {"topic": "news", "cap": None},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
async def test_a_cap_is_for_a_category_and_a_topic_and_for_campaigns_that_have_one(
    world: World, other: dict[str, Any]
) -> None:
    await _sent(await _campaign(world, "monday", topic="news"))
    assert await _begun(await _campaign(world, "tuesday", **other)) == FREE


async def test_a_refusal_gives_the_place_back_and_an_unknown_outcome_keeps_it(world: World) -> None:
    await _sent(await _campaign(world, "monday"), "failed", reason="permanent")
    assert (await (await world.conn.execute("SELECT hits FROM sendonce.contacts")).fetchone()) == {"hits": []}
    await _sent(await _campaign(world, "tuesday"), "uncertain", reason="unknown", unknown=True)
    assert await _begun(await _campaign(world, "wednesday")) == CAPPED


async def test_a_delivery_counts_once_however_often_it_is_tried(world: World) -> None:
    campaign = await _campaign(world, "monday")
    batch = await campaign.claim()
    for seq in (1, 2):
        await campaign.begin(batch)
        await campaign.end(batch, 1, "pending" if seq == 1 else "sent", seq)
    (contact,) = await campaign.query("SELECT cardinality(hits) AS count FROM sendonce.contacts")
    assert contact["count"] == 1
    assert await campaign.states() == {"sent": 1}


async def test_what_is_not_handed_off_does_not_count(world: World) -> None:
    await suppress(world.conn, "default", [Suppression("Email", "user1@example.com", "bounced")])
    assert await _begun(await _campaign(world, "monday")) == ("suppressed", "suppression_list")
    await world.conn.execute("DELETE FROM sendonce.suppressions")
    assert await _begun(await _campaign(world, "tuesday")) == FREE


async def test_what_stands_still_is_not_capped_before_it_goes_on(world: World) -> None:
    await _sent(await _campaign(world, "monday"))
    tuesday = await _campaign(world, "tuesday")
    batch = await tuesday.claim()
    await world.conn.execute("UPDATE sendonce.campaigns SET suspended = true")
    await tuesday.begin(batch)
    assert await tuesday.states() == {"pending": 1}


async def _known(world: World) -> None:
    """Somebody has written to these people long ago: their rows are there, and only a lock on them makes one wait."""
    await world.conn.execute(
        "INSERT INTO sendonce.contacts"
        " SELECT DISTINCT namespace, channel, address, 'Marketing', '' FROM sendonce.deliveries"
    )


async def test_two_workers_of_two_campaigns_can_not_both_be_the_last(world: World) -> None:
    """The same people in the opposite order: each waits for the other's commit, and neither for ever."""
    people = [world.person(line) for line in range(1, 41)]
    campaigns = [
        await world.campaign(order, name=name, frequencyCap=ONE)
        for name, order in (("monday", people), ("tuesday", [p._replace(line=41 - p.line) for p in people]))
    ]
    group = [(no, b"x") for no in range(1, 41)]
    await _known(world)
    hands = [await world.connect(world.worker_dsn) for _ in campaigns]
    batches = [await campaign.claim() for campaign in campaigns]
    outcomes = await asyncio.gather(
        *(
            campaign.turn(batch, conn=conn, group=group)
            for campaign, batch, conn in zip(campaigns, batches, hands, strict=True)
        )
    )
    assert sorted(len(outcome.started) for outcome in outcomes) == [0, 40]


async def test_a_second_one_waits_until_it_is_known_whether_the_first_went_out(world: World) -> None:
    monday, tuesday = [await _campaign(world, name) for name in ("monday", "tuesday")]
    first, second = [await world.connect(world.worker_dsn) for _ in range(2)]
    batches = await monday.claim(), await tuesday.claim()
    await _known(world)
    async with first.transaction():
        await first.execute("SELECT FROM sendonce.hold_caps(%s, %s, '{1}', '{}')", [batches[0].id, batches[0].token])
        waiting = asyncio.create_task(tuesday.turn(batches[1], conn=second, group=[(1, b"x")]))
        await world.blocked()
    assert [row.state for row in (await waiting).started] == ["sending"]  # the first had begun nothing


async def test_who_has_had_enough_over_one_channel_goes_on_over_the_next(world: World) -> None:
    both = [world.person(1, {"Email": "user1@example.com", "SMS": "+15005550006"})]
    await _sent(await _campaign(world, "monday"))
    tuesday = await world.campaign(both, name="tuesday", channels=["Email", "Email>SMS"], frequencyCap=ONE)
    assert await _begun(tuesday) == CAPPED
    assert await tuesday.states("SMS") == {"pending": 1}


async def test_a_workers_own_session_keeps_to_the_cap(world: World, far_end: FarEnd) -> None:
    monday, campaign = [await _campaign(world, name, people=3) for name in ("monday", "tuesday")]
    for one in (monday, campaign):
        await (await one.session(await one.claim(), far_end)).run()
    assert set(far_end.people.values()) == {1}
    assert await campaign.states() == {"suppressed": 3}
    assert [step.kind.value for step in await campaign.conduct()] == ["end"]


async def test_a_result_and_a_new_group_in_one_turn_are_both_counted(world: World) -> None:
    campaign = await _campaign(world, "monday", people=2)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.turn(batch, results=[Result(1, 1, "failed", reason="permanent")], group=[(2, b"x")])
    found = await campaign.query("SELECT address, cardinality(hits) AS count FROM sendonce.contacts ORDER BY address")
    assert [row["count"] for row in found] == [0, 1]


async def test_what_no_cap_asks_for_any_more_is_deleted(world: World) -> None:
    await _sent(await _campaign(world, "monday", people=3))
    await world.conn.execute(
        "INSERT INTO sendonce.contacts SELECT 'default', 'Email', n::text, 'Marketing', '',"
        " ARRAY[now() - interval '367 days'] FROM generate_series(1, 5) n"
    )
    assert await retention.forget_contacts(world.conn, "default", step=2) == 5
    cursor = await world.conn.execute("SELECT address FROM sendonce.contacts")
    assert await cursor.fetchall() == [{"address": "user1@example.com"}]


async def test_a_retry_of_what_a_cap_held_back_is_counted_again(world: World) -> None:
    await _sent(await _campaign(world, "monday"))
    tuesday = await _campaign(world, "tuesday")
    batch = await tuesday.claim()
    await tuesday.begin(batch)
    await tuesday.release(batch)
    held_back = Selection(["suppressed"], reasons=["frequency_cap"])
    for order, found in (("too early", CAPPED), ("a week later", FREE)):
        if found == FREE:
            await world.conn.execute("UPDATE sendonce.contacts SET hits[1] = hits[1] - interval '7 days'")
        applied = await actions.apply(world.conn, Target(tuesday.id, "default"), Order(order, "Retry", held_back))
        assert applied.changed == 1
        batch = await tuesday.claim()
        await tuesday.begin(batch)
        row = await tuesday.row()
        assert (row["state"], row["reason"]) == found
        await tuesday.release(batch)
    (contact,) = await tuesday.query("SELECT cardinality(hits) AS count FROM sendonce.contacts")
    assert contact["count"] == 2


async def test_two_refusals_of_one_address_in_one_turn_give_both_places_back(world: World) -> None:
    campaign = await standing(world, frequencyCap={"messages": 2, "periodDays": 7})
    for key in ("order-1", "order-2", "order-3"):
        await enqueue(world.conn, key)
    await take_in(campaign)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.turn(batch, results=[Result(no, 1, "failed", reason="permanent") for no in (1, 2)])
    assert await campaign.query("SELECT hits FROM sendonce.contacts") == [{"hits": []}]
    assert [row.state for row in await campaign.begin(batch, (3,))] == ["sending"]
