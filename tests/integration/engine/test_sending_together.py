"""Messages that travel in one request: each has its own row and end, and the rules hold for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.engine.conftest import FarEnd

from sendonce_worker.providers.base import Accepted, Clearance, Message
from sendonce_worker.providers.errors import (
    AccountError,
    HandOffRefusedError,
    PermanentSendError,
    RateLimitedError,
    TemporarySendError,
    UnknownOutcomeError,
)
from sendonce_worker.sending.clock import Lease, Moment

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

Answers = Sequence[Accepted | Exception]


async def _accept_all(messages: Sequence[Message]) -> Answers:
    return [Accepted(f"id of {message.to}", "200") for message in messages]


class PostOffice(FarEnd):
    """A far end without keys that takes several messages in one request. `answers`: what it says of them."""

    def __init__(self, batch_size: int = 100) -> None:
        super().__init__(key_window=None)
        self.batch_size = batch_size
        self.batches: list[list[str]] = []
        self.answers: Callable[[Sequence[Message]], Awaitable[Answers]] = _accept_all

    async def send_many(self, messages: Sequence[Message], clearance: Clearance) -> Answers:
        try:
            clearance()
        except HandOffRefusedError as error:
            return [error] * len(messages)
        self.batches.append([message.to for message in messages])
        self.received.extend(messages)
        self._stirred.set()
        return await self.answers(messages)

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.batches]


@pytest.fixture
def office() -> PostOffice:
    return PostOffice()


async def send(campaign: Campaign, office: PostOffice, **wishes: Any) -> None:
    session = await campaign.session(await campaign.claim(), office, **wishes)
    await session.run()


def to(number: int) -> str:
    return f"user{number}@example.com"


async def test_messages_travel_together_and_everybody_is_handed_off_once(world: World, office: PostOffice) -> None:
    campaign = await world.campaign(25)
    await send(campaign, office, capacity=8)
    assert set(office.people.values()) == {1}
    assert len(office.people) == 25
    assert max(office.sizes) == 4, "half of what may be in flight, so that another request is under way meanwhile"
    assert sum(office.sizes) >= 24, "one that is left over goes alone"
    assert {row["message_id"] for row in await campaign.rows()} == {f"id of {to(no)}" for no in range(1, 26)}
    assert [batch["state"] for batch in await campaign.batches()] == ["done"]


async def test_a_request_has_no_more_messages_than_the_far_end_takes(world: World) -> None:
    campaign, office = await world.campaign(12), PostOffice(batch_size=3)
    await send(campaign, office, capacity=12)
    assert office.sizes == [3, 3, 3, 3]
    assert await campaign.states() == {"sent": 12}


async def test_where_one_may_be_in_flight_each_goes_alone(world: World, office: PostOffice) -> None:
    campaign = await world.campaign(3)
    await send(campaign, office, capacity=1)
    assert (office.batches, await campaign.states()) == ([], {"sent": 3})


async def test_with_keys_each_goes_alone(world: World, office: PostOffice) -> None:
    """One key would be for all of a request, and a repeat of one of them would come without the others."""
    campaign = await world.campaign(6)
    office.key_window = 86_400
    await send(campaign, office, capacity=4)
    assert (office.batches, await campaign.states()) == ([], {"sent": 6})


async def test_no_more_rows_are_in_sending_than_messages_are_in_flight(world: World, office: PostOffice) -> None:
    campaign = await world.campaign(40)
    most = 0

    async def look(messages: Sequence[Message]) -> Answers:
        nonlocal most
        conn = await world.connect()
        cursor = await conn.execute("SELECT count(*) AS n FROM sendonce.deliveries WHERE state = 'sending'")
        row = await cursor.fetchone()
        await conn.close()
        most = max(most, row["n"] if row else 0)
        return await _accept_all(messages)

    office.answers = look
    await send(campaign, office, capacity=6)
    assert await campaign.states() == {"sent": 40}
    assert most == 6


async def test_each_message_of_a_request_ends_by_its_own_answer(world: World, office: PostOffice) -> None:
    campaign = await world.campaign(5)
    by_address: dict[str, Exception] = {
        to(2): PermanentSendError("406", "inactive"),
        to(3): TemporarySendError("100", "maintenance"),
        to(5): UnknownOutcomeError("200", "no word of it"),
    }

    async def differ(messages: Sequence[Message]) -> Answers:
        return [by_address.get(message.to, Accepted(None, "200")) for message in messages]

    office.answers = differ
    await send(campaign, office, capacity=10)
    assert [row["state"] for row in await campaign.rows()] == ["sent", "failed", "pending", "sent", "uncertain"]
    assert [(one["no"], one["outcome"]) for one in await campaign.attempts()] == [
        (2, "permanent"),
        (3, "temporary"),
        (5, "unknown"),
    ]
    office.answers = _accept_all
    await send(campaign, office, capacity=10)
    assert office.people == {to(no): 2 if no == 3 else 1 for no in range(1, 6)}


async def test_a_lost_answer_holds_all_messages_of_its_request_and_no_other(world: World, office: PostOffice) -> None:
    campaign = await world.campaign(12)

    async def lose_the_first(messages: Sequence[Message]) -> Answers:
        if len(office.batches) == 1:
            return [UnknownOutcomeError("connection_lost", "reset")] * len(messages)
        return await _accept_all(messages)

    office.answers = lose_the_first
    await send(campaign, office, capacity=6)
    assert await campaign.states() == {"uncertain": 3, "sent": 9}
    assert await campaign.try_claim() is None
    assert set(office.people.values()) == {1}


@pytest.mark.parametrize("answer", ["too few", "a bug"])
async def test_a_provider_that_breaks_its_word_leaves_everything_uncertain(
    world: World, office: PostOffice, answer: str
) -> None:
    campaign = await world.campaign(4)

    async def break_it(messages: Sequence[Message]) -> Answers:
        if answer == "a bug":
            raise RuntimeError("oops")
        return (await _accept_all(messages))[1:]

    office.answers = break_it
    await send(campaign, office, capacity=8)
    assert await campaign.states() == {"uncertain": 4}
    assert {row["code"] for row in await campaign.rows()} == {"bug"}
    assert set(office.people.values()) == {1}


async def test_a_request_that_is_throttled_burns_nobody_and_nothing_follows(world: World, office: PostOffice) -> None:
    campaign = await world.campaign(40)

    async def throttle(messages: Sequence[Message]) -> Answers:
        return [RateLimitedError("429", "slow down", 30.0)] * len(messages)

    office.answers = throttle
    await send(campaign, office, capacity=8)
    assert len(office.batches) <= 2
    assert {(row["state"], row["tries"]) for row in await campaign.rows()} == {("pending", 0)}
    (provider,) = await campaign.query("SELECT paused_until > now() AS paused FROM sendonce.providers")
    assert provider["paused"]


async def test_an_account_error_of_one_message_stops_the_campaign_and_keeps_what_was_accepted(
    world: World, office: PostOffice
) -> None:
    campaign = await world.campaign(20)

    async def out_of_credit(messages: Sequence[Message]) -> Answers:
        return [Accepted(None, "200"), *[AccountError("405", "out of credits")] * (len(messages) - 1)]

    office.answers = out_of_credit
    await send(campaign, office, capacity=4)
    assert (await campaign.record())["halt_reason"] == "CredentialsRejected"
    states = await campaign.states()
    assert states == {"sent": len(office.batches), "pending": 20 - len(office.batches)}


async def test_draining_finishes_the_requests_in_flight_and_gives_the_rest_back(
    world: World, office: PostOffice
) -> None:
    campaign = await world.campaign(40)
    go_on = asyncio.Event()

    async def slow(messages: Sequence[Message]) -> Answers:
        await go_on.wait()
        return await _accept_all(messages)

    office.answers = slow
    session = await campaign.session(await campaign.claim(), office, capacity=6)
    sending = asyncio.create_task(session.run())
    await office.has_received(6)
    session.drain()
    go_on.set()
    await sending
    assert office.sizes == [3, 3]
    assert await campaign.states() == {"sent": 6, "pending": 34}
    assert await campaign.try_claim("worker-2") is not None


async def test_a_lease_that_ends_too_soon_keeps_the_whole_request_back(world: World, office: PostOffice) -> None:
    campaign = await world.campaign(8)
    await send(campaign, office, capacity=4, lease=Lease(1.0, 30.0, Moment.now()))
    assert office.batches == []
    assert await campaign.states() == {"pending": 8}


async def test_answers_that_come_after_the_lease_was_lost_count_for_each_message(
    world: World, office: PostOffice
) -> None:
    campaign = await world.campaign(2)
    campaign.repeats = replace(campaign.repeats, key_window=None)
    go_on = asyncio.Event()

    async def slow(messages: Sequence[Message]) -> Answers:
        await go_on.wait()
        return [Accepted("late", "200"), PermanentSendError("406", "inactive")]

    office.answers = slow
    session = await campaign.session(await campaign.claim(), office, capacity=4, heartbeat=60)
    sending = asyncio.create_task(session.run())
    await office.has_received(2)
    await campaign.lapse()
    await campaign.claim("worker-2")
    assert await campaign.states() == {"uncertain": 2}
    go_on.set()
    await sending
    assert [(row["state"], row["message_id"]) for row in await campaign.rows()] == [
        ("sent", "late"),
        ("uncertain", None),
    ]


async def test_each_message_of_a_request_uses_up_a_slot_of_the_pace(world: World, office: PostOffice) -> None:
    limits = [{"messages": 1, "periodSeconds": 3600, "burst": 12}]
    campaign = await world.campaign(40, provider={"limits": limits})
    session = await campaign.session(await campaign.claim(), office, capacity=20)
    sending = asyncio.create_task(session.run())
    await office.has_received(6)  # half of the burst is this priority's
    session.drain()
    await sending
    assert sum(office.sizes) <= 6
    assert await campaign.states() == {"sent": 6, "pending": 34}
