"""A chunk of an import, committed: nobody twice, no line twice, counters that add up, or nothing at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from sendonce_store import import_rows, imports
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.rows import Batch

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

BATCH = import_rows.BATCH_SIZE
ODD_ADDRESSES = [
    "a@x.jp",
    "üñí@例え.jp",
    "x" * 2000,
    "\U0001f600",
    "a\\b\tc",
    "'",
    '"',
    "{a,b}",
    "NULL",
    "null",
    " ",
    "\\",
]
# what a worker writes when the Email of the person on line 1 failed
_FALLBACK_ROW = """
WITH f AS (
  INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, fallback_of, claimable_at)
  SELECT namespace, campaign_id, 'send', 'SMS', provider_id, id, now() FROM sendonce.batches WHERE kind = 'send'
  RETURNING *
)
INSERT INTO sendonce.deliveries
       (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, next_attempt_at)
SELECT f.id, 1, f.campaign_id, 1, gen_random_uuid(), f.namespace, 'SMS', '+15005550001', now() FROM f"""


class Import:
    """One import under way."""

    def __init__(self, campaign: Campaign, batch: Batch, plan: import_rows.Plan) -> None:
        self.campaign = campaign
        self.batch = batch
        self.plan = plan

    async def commit(self, people: Sequence[Recipient], rejected: Sequence[Rejected] = ()) -> None:
        line = max([person.line for person in people] + [row.line for row in rejected])
        chunk = self.plan.chunk(people, rejected, {"line": line})
        await imports.commit_chunk(self.campaign.world.conn, self.batch, self.campaign.holder(), chunk, 60)


async def _importing(world: World, **wishes: Any) -> Import:
    campaign = await world.campaign(None, **wishes)
    return Import(campaign, await campaign.claim(), await imports.prepare(world.conn, campaign.id))


async def _counted(campaign: Campaign) -> tuple[int, int, int, int]:
    record = await campaign.record()
    return (record["total"], record["duplicates"], record["rejected"], record["unreachable"])


async def test_who_is_in_a_chunk_twice_gets_one_delivery_and_the_first_line_counts(world: World) -> None:
    ongoing = await _importing(world)
    same = {"Email": "MIA@example.com"}
    await ongoing.commit([world.person(1, {"Email": "mia@example.com"}), world.person(2, same), world.person(3)])
    assert [row["recipient_no"] for row in await ongoing.campaign.rows()] == [1, 3]
    assert await _counted(ongoing.campaign) == (2, 1, 0, 0)
    people = await ongoing.campaign.query("SELECT no FROM sendonce.recipients ORDER BY no")
    assert [row["no"] for row in people] == [1, 3]


async def test_who_was_in_an_earlier_chunk_is_a_duplicate(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1), world.person(2)])
    await ongoing.commit([world.person(3, {"Email": "user1@example.com"}), world.person(4)])
    assert [row["recipient_no"] for row in await ongoing.campaign.rows()] == [1, 2, 4]
    assert await _counted(ongoing.campaign) == (3, 1, 0, 0)


async def test_who_is_known_on_one_channel_only_still_gets_the_other(world: World) -> None:
    ongoing = await _importing(world, channels=["Email", "SMS"])
    await ongoing.commit([world.person(1, {"Email": "mia@example.com", "SMS": "+15005550001"})])
    await ongoing.commit([world.person(2, {"Email": "mia@example.com", "SMS": "+15005550002"})])
    await ongoing.commit([world.person(3, {"Email": "mia@example.com", "SMS": "+15005550001"})])
    assert [row["recipient_no"] for row in await ongoing.campaign.rows("Email")] == [1]
    assert [row["recipient_no"] for row in await ongoing.campaign.rows("SMS")] == [1, 2]
    assert await _counted(ongoing.campaign) == (2, 1, 0, 0)


async def test_the_first_line_wins_on_each_channel_within_a_chunk_and_across_chunks(world: World) -> None:
    ongoing = await _importing(world, channels=["Email", "SMS"])
    await ongoing.commit([
        world.person(1, {"Email": "mia@example.com", "SMS": "+15005550001"}),
        world.person(2, {"Email": "mia@example.com", "SMS": "+15005550002"}),
        world.person(3, {"Email": "mia@example.com", "SMS": "+15005550002"}),
    ])  # fmt: skip
    await ongoing.commit([
        world.person(4, {"Email": "leo@example.com", "SMS": "+15005550002"}),
        world.person(5, {"Email": "leo@example.com", "SMS": "+15005550005"}),
        world.person(6, {"Email": "mia@example.com", "SMS": "+15005550005"}),
    ])  # fmt: skip
    assert [row["recipient_no"] for row in await ongoing.campaign.rows("Email")] == [1, 4]
    assert [row["recipient_no"] for row in await ongoing.campaign.rows("SMS")] == [1, 2, 5]
    people = await ongoing.campaign.query("SELECT no FROM sendonce.recipients ORDER BY no")
    assert [row["no"] for row in people] == [1, 2, 4, 5]
    assert await _counted(ongoing.campaign) == (4, 2, 0, 0)


async def test_a_fallback_row_that_comes_between_the_look_and_the_copy_is_found_by_the_next_look(world: World) -> None:
    ongoing = await _importing(world, channels=["Email", "Email>SMS"])
    await ongoing.commit([world.person(1, {"Email": "mia@example.com", "SMS": "+15005550001"})])
    beside = await world.connect()
    chunk = [world.person(2, {"SMS": "+15005550001"}), world.person(3, {"SMS": "+15005550003"})]
    async with asyncio.TaskGroup() as tasks:
        async with beside.transaction():
            await beside.execute(_FALLBACK_ROW)
            committing = tasks.create_task(ongoing.commit(chunk, [Rejected(4, "email", "not an address", "")]))
            await world.blocked()
        await committing
    assert sorted(row["recipient_no"] for row in await ongoing.campaign.rows("SMS")) == [1, 3]
    assert await _counted(ongoing.campaign) == (2, 1, 1, 0)


async def test_who_has_no_address_is_counted_and_kept_and_not_delivered_to(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1, {}), world.person(2, {"SMS": "+15005550001"}), world.person(3)])
    assert await _counted(ongoing.campaign) == (3, 0, 0, 2)
    assert [row["recipient_no"] for row in await ongoing.campaign.rows()] == [3]


async def test_refused_rows_are_kept_with_line_field_and_reason(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1)], [Rejected(2, "email", "not an address", "mia@")])
    assert await _counted(ongoing.campaign) == (1, 0, 1, 0)
    rejects = await ongoing.campaign.query("SELECT line, field, reason, excerpt FROM sendonce.import_rejects")
    assert rejects == [{"line": 2, "field": "email", "reason": "not an address", "excerpt": "mia@"}]


async def test_a_chunk_becomes_batches_of_at_most_five_hundred(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(line) for line in range(1, 2 * BATCH + 51)])
    assert sorted(batch["pending"] for batch in await ongoing.campaign.batches()) == [50, BATCH, BATCH]
    numbers = await ongoing.campaign.query("SELECT min(no) AS low, max(no) AS high FROM sendonce.deliveries")
    assert numbers == [{"low": 1, "high": BATCH}]


async def test_a_chunk_of_duplicates_leaves_no_batch_and_is_counted(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1)])
    await ongoing.commit([world.person(line, {"Email": "user1@example.com"}) for line in (2, 3)])
    assert len(await ongoing.campaign.batches()) == 1
    assert await _counted(ongoing.campaign) == (1, 2, 0, 0)


async def test_the_cursor_is_committed_with_its_chunk_and_given_to_the_next_holder(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1), world.person(2)])
    await ongoing.campaign.lapse()
    assert (await ongoing.campaign.claim("worker-2")).cursor == {"line": 2}


async def test_who_takes_over_between_two_chunks_goes_on_behind_the_first(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1), world.person(2)], [Rejected(3, "email", "not an address", "mia@")])
    await ongoing.campaign.lapse()
    ongoing.batch = await ongoing.campaign.claim("worker-2")
    assert ongoing.batch.cursor == {"line": 3}
    await ongoing.commit([world.person(4, {"Email": "user2@example.com"}), world.person(5)])
    assert [row["recipient_no"] for row in await ongoing.campaign.rows()] == [1, 2, 5]
    assert await _counted(ongoing.campaign) == (3, 1, 1, 0)


async def test_a_chunk_that_fails_leaves_nothing_and_the_cursor_where_it_was(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1)])
    with pytest.raises(psycopg.Error):  # a line that is there already: the source was read from the wrong place
        await ongoing.commit([world.person(1, {"Email": "other@example.com"})], [Rejected(9, "email", "x", "")])
    assert await _counted(ongoing.campaign) == (1, 0, 0, 0)
    assert len(await ongoing.campaign.rows()) == 1
    await ongoing.campaign.lapse()
    assert (await ongoing.campaign.claim("worker-2")).cursor == {"line": 1}


async def test_values_of_any_kind_come_back_as_they_were(world: World) -> None:
    odd = {
        "tab": "a\tb",
        "line": "a\nb\r",
        "slash": "\\N \\. \\\\",
        "quote": "'\"",
        "deep": {"x": [1, None, True, "ü", "\U0001f600", 1.5, -(10**30), "\x1f\x7f"]},
        "\\t": "",
    }
    ongoing = await _importing(world)
    await ongoing.commit([world.person(1, ref="\\N", locale="de\tx", timezone=None, variables=odd)])
    (kept,) = await ongoing.campaign.query("SELECT ref, locale, timezone, variables FROM sendonce.recipients")
    assert kept == {"ref": "\\N", "locale": "de\tx", "timezone": None, "variables": odd}


async def test_a_nul_that_slipped_through_fails_the_chunk_whole(world: World) -> None:
    ongoing = await _importing(world)
    with pytest.raises(psycopg.Error):
        await ongoing.commit([world.person(1), world.person(2, variables={"name": "a\x00b"})])
    assert await _counted(ongoing.campaign) == (0, 0, 0, 0)
    assert await ongoing.campaign.rows() == []


async def test_an_address_of_any_kind_is_known_again(world: World) -> None:
    ongoing = await _importing(world, channels=["Push"])
    for start in (1, 101):
        await ongoing.commit([world.person(line, {"Push": text}) for line, text in enumerate(ODD_ADDRESSES, start)])
    addresses = [row["address"] for row in await ongoing.campaign.rows("Push")]
    assert addresses == list(dict.fromkeys(map(str.lower, ODD_ADDRESSES)))
    assert (await ongoing.campaign.record())["duplicates"] == 2 * len(ODD_ADDRESSES) - len(addresses)


async def test_the_import_and_the_schema_make_the_same_keys(world: World) -> None:
    ongoing = await _importing(world, channels=["Push"])
    await ongoing.commit([world.person(line, {"Push": address}) for line, address in enumerate(ODD_ADDRESSES, 1)])
    rows = await ongoing.campaign.query(
        "SELECT d.key = sendonce.delivery_key(s.id, c.namespace, c.send_key, d.channel, d.address) AS same"
        " FROM sendonce.deliveries d, sendonce.campaigns c, sendonce.store s"
    )
    assert [row["same"] for row in rows] == [True] * len({address.lower() for address in ODD_ADDRESSES})


async def test_an_import_ends_done_or_failed_with_the_sources_words(world: World) -> None:
    done, failed = await _importing(world, name="spring"), await _importing(world, name="autumn")
    await imports.finish(world.conn, done.batch, done.campaign.holder())
    await imports.finish(world.conn, failed.batch, failed.campaign.holder(), failure="404 Not Found")
    assert (await done.campaign.record())["import_state"] == "done"
    record = await failed.campaign.record()
    assert (record["import_state"], record["import_message"]) == ("failed", "404 Not Found")
    for one in (done, failed):
        assert await one.campaign.try_claim() is None


async def test_an_import_that_waits_is_left_alone_and_its_problem_is_shown(world: World) -> None:
    ongoing = await _importing(world)
    await imports.postpone(world.conn, ongoing.batch, ongoing.campaign.holder(), 60.0, "503 Service Unavailable")
    assert (await ongoing.campaign.record())["import_message"] == "503 Service Unavailable"
    assert await ongoing.campaign.try_claim() is None
    await ongoing.campaign.query("UPDATE sendonce.batches SET claimable_at = now()")
    assert await ongoing.campaign.try_claim() is not None


async def test_an_import_that_is_given_back_goes_on_at_once_and_killed_nobody(world: World) -> None:
    ongoing = await _importing(world)
    await ongoing.commit([], [Rejected(1, "email", "not an address", "mia@")])
    await imports.give_back(world.conn, ongoing.batch)
    again = await ongoing.campaign.claim("worker-2")
    assert (again.kind, again.cursor, again.crashes) == ("import", {"line": 1}, 0)


async def test_a_querys_rows_are_spooled_read_in_order_and_gone_in_the_end(world: World) -> None:
    ongoing = await _importing(world)
    holder, batch = ongoing.campaign.holder(), ongoing.batch
    rows = [{"email": f"user{no}@example.com"} for no in range(1, 6)]
    await imports.spool(world.conn, batch, holder, rows[:2], 1)  # a run that died
    for start in (0, 3):
        await imports.spool(world.conn, batch, holder, rows[start : start + 3], start + 1)
    await imports.save_cursor(world.conn, batch, {"spooled": True, "line": 0}, 60)
    first = await imports.read_spool(world.conn, ongoing.campaign.id, 0, limit=2)
    rest = await imports.read_spool(world.conn, ongoing.campaign.id, first[-1]["line"])
    assert [row["record"] for row in first + rest] == rows
    await imports.finish(world.conn, batch, holder)
    assert await imports.read_spool(world.conn, ongoing.campaign.id, 0) == []
