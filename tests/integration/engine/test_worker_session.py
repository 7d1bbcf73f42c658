"""A worker's session over one batch: what is checked at the hand-off, and how a batch is let go."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions, pace
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import AccountError, PermanentSendError, TemporarySendError
from sendonce_worker.sending.flying import Flying

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World


async def _send(campaign: Campaign, far_end: FarEnd, **wishes: object) -> None:
    session = await campaign.session(await campaign.claim(), far_end, **wishes)  # type: ignore[arg-type]
    await session.run()


async def test_everybody_is_handed_off_once_and_the_far_ends_id_is_kept(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(25)
    await _send(campaign, far_end)
    assert set(far_end.people.values()) == {1}
    assert len(far_end.people) == 25
    assert {row["message_id"] for row in await campaign.rows()} == {
        f"id of user{no}@example.com" for no in range(1, 26)
    }
    assert [batch["state"] for batch in await campaign.batches()] == ["done"]


async def test_a_template_that_fails_for_one_person_fails_for_that_person_alone(world: World, far_end: FarEnd) -> None:
    people = [world.person(1), world.person(2, variables={"greeting": "Hi"}), world.person(3)]
    campaign = await world.campaign(people)
    await _send(campaign, far_end)
    assert [row["state"] for row in await campaign.rows()] == ["sent", "failed", "sent"]
    row = await campaign.row(2)
    assert row["reason"] == "render_error"
    assert "name" in row["error"]
    assert (row["attempt_seq"], row["digest"]) == (0, None)


def _quiet_now(**policy: str) -> dict[str, object]:
    """Quiet hours in UTC from an hour ago to two hours from now."""
    now = datetime.now(UTC)
    hours = {"from": f"{now - timedelta(hours=1):%H:%M}", "to": f"{now + timedelta(hours=2):%H:%M}"}
    return {"quietHours": {**hours, **policy}}


async def test_quiet_hours_defer_in_the_recipients_own_zone(world: World, far_end: FarEnd) -> None:
    people = [world.person(1, timezone="UTC"), world.person(2, timezone="Asia/Tokyo")]
    campaign = await world.campaign(people, schedule=_quiet_now())
    await _send(campaign, far_end)
    assert dict(far_end.people) == {"user2@example.com": 1}  # nine hours away it is not quiet
    (waits,) = await campaign.query(
        "SELECT reason, tries, extract(epoch FROM next_attempt_at - now())::float8 AS seconds"
        " FROM sendonce.deliveries WHERE state = 'pending'"
    )
    assert (waits["reason"], waits["tries"]) == ("quiet_hours", 0)
    assert 7100 < waits["seconds"] <= 7200
    (batch,) = await campaign.batches()
    assert batch["state"] == "pending"  # no lease is held for hours
    await campaign.age(7200)
    assert (await campaign.claim()).id == batch["id"]


@pytest.mark.parametrize(
    ("policy", "state"),
    [({}, "suppressed"), ({"unknownTimezonePolicy": "UseDefault", "defaultTimezone": "Asia/Tokyo"}, "sent")],
)
async def test_without_a_zone_the_policy_decides(
    world: World, far_end: FarEnd, policy: dict[str, str], state: str
) -> None:
    campaign = await world.campaign(1, schedule=_quiet_now(**policy))
    await _send(campaign, far_end)
    row = await campaign.row()
    assert (row["state"], row["reason"]) == (state, "unknown_timezone" if state == "suppressed" else None)


def _hours_now() -> str:
    """A window of a person's own that has begun an hour ago and lasts two more, in UTC."""
    now = datetime.now(UTC)
    return f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=2):%H:%M}"


@pytest.mark.parametrize(("category", "state"), [("Marketing", "pending"), ("Transactional", "sent")])
async def test_a_persons_own_quiet_hours_hold_without_the_campaigns_but_not_for_what_was_asked_for(
    world: World, far_end: FarEnd, category: str, state: str
) -> None:
    people = [world.person(1, timezone="UTC", quiet=_hours_now()), world.person(2, timezone="UTC")]
    campaign = await world.campaign(people, category=category)
    await _send(campaign, far_end)
    rows = [(row["state"], row["reason"]) for row in await campaign.rows()]
    assert rows == [(state, "quiet_hours" if state == "pending" else None), ("sent", None)]


@pytest.mark.parametrize(
    ("phone", "more", "state"),
    [
        ("+819012345678", {}, "sent"),  # nine hours away
        ("+12025550123", {}, "suppressed"),
        ("+12025550123", {"defaultTimezone": "UTC"}, "pending"),
    ],
)
async def test_a_zone_may_be_guessed_from_the_phone(
    world: World, far_end: FarEnd, phone: str, more: dict[str, str], state: str
) -> None:
    people = [world.person(1, {"SMS": phone})]
    quiet = _quiet_now(unknownTimezonePolicy="GuessFromPhone", **more)
    campaign = await world.campaign(people, channels=["SMS"], schedule=quiet)
    await _send(campaign, far_end)
    assert await campaign.states("SMS") == {state: 1}


async def test_after_the_deadline_nobody_is_handed_off_any_more(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)

    async def late(message: Message) -> Accepted:
        await campaign.query("UPDATE sendonce.campaigns SET deadline = now()")
        return Accepted(None, "200")

    far_end.answer = late
    await _send(campaign, far_end, capacity=1, ahead=0)
    assert await campaign.states() == {"sent": 1, "expired": 2}
    assert {row["reason"] for row in await campaign.rows()} == {None, "deadline"}


async def test_a_suspend_is_seen_with_the_next_turn_and_the_batch_is_given_back(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(50)

    async def suspend(message: Message) -> Accepted:
        await actions.suspend(world.conn, campaign.id, suspended=True)
        return Accepted(None, "200")

    far_end.answer = suspend
    await _send(campaign, far_end, capacity=2, ahead=0)
    assert len(far_end.received) <= 4
    states = await campaign.states()
    assert set(states) == {"sent", "pending"}
    assert states["sent"] == len(far_end.received)
    await actions.suspend(world.conn, campaign.id, suspended=False)
    far_end.answer = _accepted
    await _send(campaign, far_end)
    assert set(far_end.people.values()) == {1}  # resuming sends nobody a second copy
    assert await campaign.states() == {"sent": 50}


async def _accepted(message: Message) -> Accepted:
    return Accepted(None, "200")


async def test_an_account_error_stops_the_campaign_and_burns_nobody(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(20)

    async def rejected(message: Message) -> Accepted:
        raise AccountError("401", "bad token")

    far_end.answer = rejected
    await _send(campaign, far_end, capacity=2, ahead=0)
    assert len(far_end.received) <= 2
    record = await campaign.record()
    assert record["halt_reason"] == "CredentialsRejected"
    assert "401: bad token" in record["halt_message"]
    assert {(row["state"], row["tries"]) for row in await campaign.rows()} == {("pending", 0)}


async def test_a_dead_letter_keeps_the_far_ends_own_words_and_the_rest_goes_on(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)

    async def refuse_one(message: Message) -> Accepted:
        if message.to == "user2@example.com":
            raise PermanentSendError("5.1.1", "550 5.1.1 no such user here")
        return Accepted(None, "200")

    far_end.answer = refuse_one
    await _send(campaign, far_end)
    row = await campaign.row(2)
    assert (row["state"], row["reason"], row["code"]) == ("failed", "permanent", "5.1.1")
    assert row["error"] == "550 5.1.1 no such user here"
    assert await campaign.states() == {"sent": 2, "failed": 1}


async def test_a_refused_attempt_is_tried_again_until_its_attempts_are_used_up(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(1)

    async def busy(message: Message) -> Accepted:
        raise TemporarySendError("421", "busy")

    far_end.answer = busy
    for _ in range(5):
        await _send(campaign, far_end)
    assert await campaign.try_claim() is None
    row = await campaign.row()
    assert (row["state"], row["reason"], row["tries"], row["attempt_seq"]) == ("failed", "retries_exhausted", 5, 5)
    assert [(one["seq"], one["outcome"]) for one in await campaign.attempts()] == [
        (no, "temporary") for no in range(1, 6)
    ]


async def test_an_answer_is_written_soon_though_others_let_us_wait(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(4)
    go_on = asyncio.Event()

    async def slow_but_for_one(message: Message) -> Accepted:
        await asyncio.sleep(0)
        if message.to != "user1@example.com":
            await go_on.wait()
        return Accepted(None, "200")

    far_end.answer = slow_but_for_one
    session = await campaign.session(await campaign.claim(), far_end, capacity=8, heartbeat=60)
    sending = asyncio.create_task(session.run())

    async def written() -> bool:
        return (await campaign.states()).get("sent") == 1

    await world.eventually(written)
    assert not sending.done()
    go_on.set()
    await sending


async def test_draining_finishes_what_is_in_flight_and_gives_the_rest_back(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(20)
    go_on = asyncio.Event()

    async def slow(message: Message) -> Accepted:
        await go_on.wait()
        return Accepted(None, "200")

    far_end.answer = slow
    session = await campaign.session(await campaign.claim(), far_end, capacity=3)
    sending = asyncio.create_task(session.run())
    await far_end.has_received(3)
    session.drain()
    go_on.set()
    await sending
    assert len(far_end.received) == 3
    assert await campaign.states() == {"sent": 3, "pending": 17}
    assert await campaign.try_claim("worker-2") is not None


async def test_a_paced_session_takes_no_more_than_its_slots(world: World, far_end: FarEnd) -> None:
    limits = [{"messages": 1, "periodSeconds": 3600, "burst": 8}]
    campaign = await world.campaign(20, provider={"limits": limits})
    session = await campaign.session(await campaign.claim(), far_end)
    sending = asyncio.create_task(session.run())
    await far_end.has_received(4)  # half of the burst
    slots = await pace.lease_slots(world.conn, await world.provider(limits=limits), 1, 10)
    assert slots.delays == []
    session.drain()
    await sending
    assert len(far_end.received) == 4
    assert await campaign.states() == {"sent": 4, "pending": 16}


async def test_rows_that_wait_for_room_that_another_batch_takes_are_not_released(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)
    shared = Flying(2)
    shared.take(2)  # another batch of this worker has everything in flight
    claimed = await campaign.claim()
    session = await campaign.session(claimed, far_end, capacity=2, ahead=4, flying=shared, heartbeat=0.05)
    sending = asyncio.create_task(session.run())

    async def has_looked_around() -> bool:
        (batch,) = await campaign.batches()
        return bool(batch["state"] != "leased" or batch["heartbeat_at"] > batch["leased_at"])

    await world.eventually(has_looked_around)
    assert [(batch["state"], batch["sending"]) for batch in await campaign.batches()] == [("leased", 3)]
    shared.landed()
    await sending
    assert await campaign.states() == {"sent": 3}
    assert {row["maybe_accepted"] for row in await campaign.rows()} == {False}
