"""The shared pace: never above rate · t + burst for however many ask; several limits at once; shares by priority."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_store import pace
from sendonce_store.connection import Connection

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World

LOW, NORMAL, HIGH = 0, 1, 2


class Asker:
    """One worker that takes all slots it can get for a while: from when and until when each may be used."""

    def __init__(self, conn: Connection, provider: int, priority: int = NORMAL, wanted: int = 20) -> None:
        self.conn = conn
        self.provider = provider
        self.priority = priority
        self.wanted = wanted
        self.slots: list[tuple[float, float]] = []

    async def ask_until(self, end: float) -> None:
        while time.monotonic() < end:
            slots = await self.ask()
            await asyncio.sleep(0.01 if slots else 0.05)

    async def ask(self) -> list[tuple[float, float]]:
        """Ask as `pace.lease_slots` does, with the moment of the answer by the store's own clock."""
        cursor = await self.conn.execute(
            "SELECT delays, valid_for, extract(epoch FROM clock_timestamp())::float8 AS at"
            " FROM sendonce.lease_slots(%s, %s::smallint, %s, %s)",
            [self.provider, self.priority, self.wanted, pace.HORIZON],
        )
        row = await cursor.fetchone()
        assert row is not None
        slots = [(row["at"] + delay, row["at"] + delay + row["valid_for"]) for delay in row["delays"]]
        self.slots += slots
        return slots


async def _ask(world: World, provider: int, seconds: float, priorities: list[int]) -> list[Asker]:
    askers = [Asker(await world.connect(), provider, priority) for priority in priorities]
    for asker in askers:
        await pace.lease_slots(asker.conn, provider, asker.priority, 0)  # each priority has its share
    end = time.monotonic() + seconds
    await asyncio.gather(*(asker.ask_until(end) for asker in askers))
    return askers


def _most_in_window(uses: list[float], rate: float, burst: float) -> float:
    """By how much the busiest window exceeds rate · t + burst; at most 0 if none does."""
    uses = sorted(uses)
    excess, best = float("-inf"), float("inf")
    # over all i ≤ j: (j - i + 1) - rate · (t_j - t_i) - burst
    for place, moment in enumerate(uses):
        best = min(best, place - rate * moment)
        excess = max(excess, place + 1 - rate * moment - best - burst)
    return excess


@pytest.mark.parametrize("late", [False, True], ids=["used at once", "used as late as may be"])
async def test_many_askers_together_never_exceed_the_limit(world: World, late: bool) -> None:
    provider = await world.provider(limits=[{"messages": 200, "periodSeconds": 1, "burst": 40}])
    askers = await _ask(world, provider, 1.5, [NORMAL] * 6)
    uses = [slot[1 if late else 0] for asker in askers for slot in asker.slots]
    assert _most_in_window(uses, 200, 40) <= 1 + 200 * 0.01  # the clock is read a moment after the slots were given
    assert len(uses) >= 200 * 1.5 * 0.8  # and the limit is used


async def test_every_slot_is_given_to_one_asker_only(world: World) -> None:
    provider = await world.provider(limits=[{"messages": 1, "periodSeconds": 3600, "burst": 40}])

    async def one() -> int:
        conn = await world.connect()
        return len((await pace.lease_slots(conn, provider, NORMAL, 5)).delays)

    given = await asyncio.gather(*(one() for _ in range(8)))
    assert sum(given) == 20  # half of the burst is given out ahead


async def test_of_several_limits_all_hold(world: World) -> None:
    limits = [
        {"messages": 100, "periodSeconds": 1, "burst": 100},
        {"messages": 10, "periodSeconds": 86_400, "burst": 10},
    ]
    provider = await world.provider(limits=limits)
    first = await pace.lease_slots(world.conn, provider, NORMAL, 50)
    second = await pace.lease_slots(world.conn, provider, NORMAL, 50)
    assert (len(first.delays), len(second.delays)) == (5, 0)
    assert second.retry_in > 1000


async def test_slots_go_first_to_the_higher_priority_and_the_lower_one_is_not_starved(world: World) -> None:
    provider = await world.provider(limits=[{"messages": 400, "periodSeconds": 1, "burst": 40}])
    low, high = await _ask(world, provider, 3.0, [LOW, HIGH])
    share = len(low.slots) / (len(low.slots) + len(high.slots))
    assert 0.04 < share < 0.25


async def test_alone_the_lowest_priority_gets_the_whole_pace(world: World) -> None:
    provider = await world.provider(limits=[{"messages": 400, "periodSeconds": 1, "burst": 40}])
    (low,) = await _ask(world, provider, 1.0, [LOW])
    assert len(low.slots) >= 400 * 0.8


async def _tats(world: World) -> list[Any]:
    cursor = await world.conn.execute("SELECT messages, tat > now() AS used FROM sendonce.pace_limits ORDER BY no")
    return [(row["messages"], row["used"]) for row in await cursor.fetchall()]


async def test_a_limit_that_is_edited_keeps_its_place_in_time_and_gives_no_fresh_burst(world: World) -> None:
    hourly = {"periodSeconds": 3600, "burst": 10}
    provider = await world.provider(limits=[{"messages": 10, **hourly}])
    assert len((await pace.lease_slots(world.conn, provider, NORMAL, 50)).delays) == 5
    await world.provider(limits=[{"messages": 10, **hourly}, {"messages": 50, **hourly}])
    assert await _tats(world) == [(10, True), (50, None)] or (await _tats(world))[0] == (10, True)
    assert (await pace.lease_slots(world.conn, provider, NORMAL, 50)).delays == []
    await world.provider(limits=[{"messages": 20, **hourly}])
    assert await _tats(world) == [(20, True)]


async def test_without_limits_there_is_no_pace(world: World) -> None:
    assert not await pace.is_paced(world.conn, await world.provider())
    assert await pace.is_paced(world.conn, await world.provider(limits=[{"messages": 1, "periodSeconds": 1}]))


async def test_a_far_end_that_publishes_a_pace_has_it_unless_limits_are_given(world: World) -> None:
    secret = {"credentialsSecretRef": {"name": "s"}, "http": None}
    published = await world.provider("published", type="Resend", **secret)
    given = await world.provider("given", type="Resend", limits=[{"messages": 9, "periodSeconds": 1}], **secret)
    slack = await world.provider("slack", type="Slack", **secret)
    cursor = await world.conn.execute("SELECT provider_id, messages FROM sendonce.pace_limits")
    found = {row["provider_id"]: row["messages"] for row in await cursor.fetchall()}
    assert (found[published], found[given]) == (2, 9)
    assert slack not in found
