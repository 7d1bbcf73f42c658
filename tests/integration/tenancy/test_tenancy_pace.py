"""A shared provider's pace and pause, in the hands of one of those who share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from sendonce_store import pace

if TYPE_CHECKING:
    from tests.integration.tenancy.conftest import Estate

LOW, NORMAL, HIGH = 0, 1, 2


async def _row(estate: Estate, provider: int) -> dict[str, Any]:
    (row,) = await estate.all(
        "SELECT paused_until > now() AS paused, extract(epoch FROM paused_until - now())::float8 AS seconds,"
        " pause_code, pause_message, pauses_in_row FROM sendonce.providers WHERE id = %(id)s",
        id=provider,
    )
    return row


async def test_slots_of_a_shared_provider_come_from_one_budget(estate: Estate) -> None:
    first = await pace.lease_slots(estate.shop, estate.shared, NORMAL, 50)
    second = await pace.lease_slots(estate.bank, estate.shared, NORMAL, 50)
    assert first.delays
    assert len(first.delays) + len(second.delays) <= 4  # a burst of 2, and 10 a second over a quarter of one
    assert second.retry_in > 0


@pytest.mark.parametrize("whose", ["bank", "banks"])
async def test_a_provider_that_is_not_ones_own_gives_no_slots_and_is_not_paused(estate: Estate, whose: str) -> None:
    provider = estate.banks if whose == "banks" else estate.ids["bank"]["provider"]
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not for namespace shop"):
        await pace.lease_slots(estate.shop, provider, NORMAL, 1)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not for namespace shop"):
        await pace.pause(estate.shop, provider, 60.0, "429", "slow down")
    assert (await _row(estate, provider))["paused"] is None
    assert not await pace.is_paced(estate.shop, provider)


async def test_nobody_reserves_the_pace_for_days_ahead(estate: Estate) -> None:
    slots = await pace.lease_slots(estate.shop, estate.shared, NORMAL, 1_000_000, horizon=1e6)
    assert max(slots.delays) <= 1.0
    (row,) = await estate.all("SELECT extract(epoch FROM max(tat) - now())::float8 AS ahead FROM sendonce.pace_limits")
    assert row["ahead"] < 2.0
    # the operator is not bound
    assert max((await pace.lease_slots(estate.owner, estate.shared, NORMAL, 100, horizon=5.0)).delays) > 2.0


async def test_a_priority_that_no_campaign_of_ones_own_has_counts_as_the_lowest(estate: Estate) -> None:
    await estate.owner.execute("DELETE FROM sendonce.pace_shares")

    async def shares() -> list[int]:
        rows = await estate.all("SELECT priority FROM sendonce.pace_shares WHERE provider_id = %(p)s", p=estate.shared)
        return [row["priority"] for row in rows]

    await pace.lease_slots(estate.shop, estate.shared, HIGH, 1)
    assert await shares() == [LOW]
    await estate.owner.execute("UPDATE sendonce.campaigns SET priority = 2 WHERE namespace = 'bank'")
    await pace.lease_slots(estate.shop, estate.shared, HIGH, 1)
    assert await shares() == [LOW]
    await estate.owner.execute("UPDATE sendonce.campaigns SET priority = 2 WHERE namespace = 'shop'")
    await pace.lease_slots(estate.shop, estate.shared, HIGH, 1)
    assert sorted(await shares()) == [LOW, HIGH]


async def test_a_shared_provider_is_paused_for_everybody_but_by_nobody_for_good(estate: Estate) -> None:
    assert await pace.pause(estate.shop, estate.shared, 1e9, "429", "come back next year") == pytest.approx(3600, abs=1)
    assert (await pace.pause_left(estate.bank, estate.shared)).seconds == pytest.approx(3600, abs=1)
    mine = estate.ids["shop"]["provider"]
    assert await pace.pause(estate.shop, mine, 90_000.0, "429", "tomorrow") == pytest.approx(90_000, abs=1)


async def test_a_pause_that_was_not_timed_grows_and_is_bounded_whatever_the_caller_says(estate: Estate) -> None:
    assert await pace.pause(estate.shop, estate.shared, None, "429", "slow") == pytest.approx(8, abs=0.5)
    cursor = await estate.shop.execute(
        "SELECT sendonce.pause_provider(%s, NULL, 1e9, 1e9, '429', 'x') AS seconds", [estate.ids["shop"]["provider"]]
    )
    assert await cursor.fetchone() == {"seconds": pytest.approx(480, abs=1)}  # 60 seconds, the fourth time


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("451 4.7.1 too much for <mia@example.com>, wait", "451 4.7.1 too much for <***>, wait"),
        ("rate limit for +1 (500) 555-0006 reached", "rate limit for *** reached"),
        ("421 4.7.28 [10] slow down", "421 4.7.28 [10] slow down"),
        ("user 15005550006 is throttled", "user *** is throttled"),
    ],
)
async def test_what_others_read_of_a_pause_names_nobody(estate: Estate, said: str, kept: str) -> None:
    await pace.pause(estate.shop, estate.shared, 5.0, "429", said)
    assert (await pace.pause_left(estate.bank, estate.shared)).message == kept
    await pace.pause(estate.shop, estate.ids["shop"]["provider"], 5.0, "429", said)
    assert (await _row(estate, estate.ids["shop"]["provider"]))["pause_message"] == said


async def test_all_that_may_be_written_to_a_provider_is_that_something_got_through(estate: Estate) -> None:
    here = {"shared": estate.shared}
    await estate.refused("UPDATE sendonce.providers SET pauses_in_row = 9 WHERE id = %(shared)s", **here)
    await estate.refused("UPDATE sendonce.providers SET paused_until = NULL WHERE id = %(shared)s", **here)
    await estate.refused("UPDATE sendonce.providers SET suspended = false WHERE id = %(shared)s", **here)
    await estate.refused("UPDATE sendonce.pace_limits SET tat = '-infinity' WHERE provider_id = %(shared)s", **here)
    await estate.owner.execute("UPDATE sendonce.providers SET pauses_in_row = 0")
    await estate.refused("UPDATE sendonce.providers SET paused_until = paused_until")
    await estate.refused("UPDATE sendonce.providers SET suspended = suspended")
    await estate.refused("UPDATE sendonce.providers SET spec = spec")
    await estate.owner.execute("UPDATE sendonce.providers SET pauses_in_row = 3")
    await pace.pause(estate.bank, estate.shared, 60.0, "429", "slow down")
    flowing = "UPDATE sendonce.providers SET pauses_in_row = 0"
    await estate.shop.execute(flowing)
    assert (await _row(estate, estate.shared))["pauses_in_row"] == 4
    await estate.owner.execute("UPDATE sendonce.providers SET paused_until = now()")
    await estate.shop.execute(flowing)
    assert (await _row(estate, estate.shared))["pauses_in_row"] == 0
    assert (await _row(estate, estate.banks))["pauses_in_row"] == 3
