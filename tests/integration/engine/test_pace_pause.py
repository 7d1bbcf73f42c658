"""A provider's pause holds for everybody, is never shortened, and grows while nothing gets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sendonce_store import pace
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import RateLimitedError

if TYPE_CHECKING:
    from tests.integration.engine.conftest import FarEnd, World


async def _over(world: World) -> None:
    await world.conn.execute("UPDATE sendonce.providers SET paused_until = now() - interval '1 ms'")


async def test_the_far_ends_own_wait_is_kept(world: World) -> None:
    provider = await world.provider()
    assert await pace.pause(world.conn, provider, 90.0, "429", "slow down") == pytest.approx(90, abs=1)
    left = await pace.pause_left(world.conn, provider)
    assert left.seconds == pytest.approx(90, abs=1)
    assert left.message == "slow down"


async def test_a_pause_is_never_shortened_and_may_be_lengthened(world: World) -> None:
    provider = await world.provider()
    await pace.pause(world.conn, provider, 90.0, "429", "slow down")
    for shorter in (5.0, None):
        assert await pace.pause(world.conn, provider, shorter, "429", "again") == pytest.approx(90, abs=1)
    assert await pace.pause(world.conn, provider, 120.0, "429", "again") == pytest.approx(120, abs=1)


async def test_without_a_wait_named_the_pause_doubles_up_to_five_minutes(world: World) -> None:
    provider = await world.provider()
    pauses = []
    for _ in range(11):
        pauses.append(await pace.pause(world.conn, provider, None, "429", "slow down"))
        await _over(world)
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300], abs=0.5)


async def test_answers_that_were_under_way_when_it_began_do_not_count_again(world: World) -> None:
    provider = await world.provider()
    for _ in range(20):
        await pace.pause(world.conn, provider, None, "429", "slow down")
    await _over(world)
    assert await pace.pause(world.conn, provider, None, "429", "slow down") == pytest.approx(2, abs=0.5)


async def test_an_acceptance_makes_the_next_pause_small_again(world: World) -> None:
    campaign = await world.campaign(2)
    provider = await world.provider()
    batch = await campaign.claim()
    for _ in range(5):
        await pace.pause(world.conn, provider, None, "429", "slow down")
        await _over(world)
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "failed", reason="permanent")
    assert await pace.pause(world.conn, provider, None, "429", "slow down") == pytest.approx(32, abs=0.5)
    await _over(world)
    await campaign.end(batch, 2, "sent")
    assert await pace.pause(world.conn, provider, None, "429", "slow down") == pytest.approx(1, abs=0.5)


async def test_one_workers_throttled_answer_stops_the_others_and_burns_no_attempt(
    world: World, far_end: FarEnd
) -> None:
    campaign = await world.campaign(None)
    await campaign.imports([world.person(line) for line in (1, 2, 3, 4)], chunk=2)

    async def throttled(message: Message) -> Accepted:
        raise RateLimitedError("429", "slow down", 60.0)

    far_end.answer = throttled
    other = await campaign.claim("worker-2")
    await (await campaign.session(await campaign.claim("worker-1"), far_end, capacity=1, ahead=0)).run()
    assert len(far_end.received) == 1
    outcome = await campaign.turn(other, worker="worker-2", group=[(1, b"x" * 32)])
    assert (outcome.started, outcome.paused) == ([], True)
    assert await campaign.try_claim("worker-3") is None
    assert {row["tries"] for row in await campaign.rows()} == {0}
    assert await campaign.states() == {"pending": 4}
