"""When recipients' data goes: in small steps, only of what is finished, and with its counts kept."""

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from sendonce_store import actions, campaigns, ledger, retention
from sendonce_store.actions import Order, Selection, Target
from sendonce_store.connection import Connection, connect
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.retention import RetentionError

Person = Callable[..., Recipient]
TABLES = ("deliveries", "attempts", "recipients", "import_rejects", "batches", "import_spool")


async def rows(conn: Connection, campaign_id: int) -> dict[str, int]:
    counted = {}
    for name in TABLES:
        statement = psycopg.sql.SQL("SELECT count(*) AS n FROM {} WHERE campaign_id = %s")
        table = psycopg.sql.Identifier("sendonce", name)
        row = await (await conn.execute(statement.format(table), [campaign_id])).fetchone()
        counted[name] = row["n"] if row else -1
    return counted


async def finished(sow: Any, person: Person, fates: Any, document: Any = None, size: int = 1100) -> Any:
    people = [person(no, f"N{no}", Email=f"n{no}@example.com") for no in range(2, size + 2)]
    rejected = [Rejected(line, "email", "is bad", "x") for line in range(5000, 5030)]
    sown = await sow(people, rejected, document=document)
    await sown.send({"n2@example.com": fates.refused, "n3@example.com": fates.lost})
    return sown


async def test_all_rows_go_and_the_counts_stay(
    conn: Connection, sow: Any, person: Person, fates: Any, document: Any
) -> None:
    sown = await finished(sow, person, fates)
    other = await sow([person(2, "A", Email="a@example.com")], document=document("other"))
    before = await ledger.overview(conn, "default", sown.id)
    deleted = await retention.delete_data(conn, sown.id, step=7)
    assert (deleted.deliveries, deleted.recipients, deleted.rejects) == (1100, 1100, 30)
    assert set((await rows(conn, sown.id)).values()) == {0}
    after = await ledger.overview(conn, "default", sown.id)
    assert before is not None
    assert after is not None
    assert after.counts == before.counts
    assert (after.total, after.rejected, after.ended_reason) == (1100, 30, "SomeUndelivered")
    assert after.data_deleted_at is not None
    assert (await rows(conn, other.id))["deliveries"] == 1


async def test_orders_stay_and_whom_they_named_goes(conn: Connection, sow: Any, person: Person, fates: Any) -> None:
    sown = await finished(sow, person, fates, size=20)
    order = Order("out", "Suppress", Selection(None, recipients=["line:2"]), requested_by="mia")
    await actions.apply(conn, Target(sown.id, "default"), order)
    await retention.delete_data(conn, sown.id)
    (row,) = await (await conn.execute("SELECT changed, spec FROM sendonce.actions")).fetchall()
    assert (row["changed"], row["spec"]["requestedBy"], "recipients" in row["spec"]) == (1, "mia", False)


async def test_a_campaign_that_is_not_finished_is_refused(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(2, "A", Email="a@example.com")])
    with pytest.raises(RetentionError, match="spring is not finished: cancel it, or wait for its end"):
        await retention.delete_data(conn, sown.id)
    assert (await rows(conn, sown.id))["deliveries"] == 1


async def test_a_deletion_that_broke_off_goes_on(conn: Connection, sow: Any, person: Person, fates: Any) -> None:
    sown = await finished(sow, person, fates)
    other = await connect(conn.info.dsn)
    await other.execute("BEGIN")
    await other.execute("SELECT * FROM sendonce.batches WHERE kind = 'send' ORDER BY id DESC LIMIT 1 FOR UPDATE")
    await conn.execute("SET lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        await retention.delete_data(conn, sown.id)
    await other.close()
    left = await rows(conn, sown.id)
    assert 0 < left["deliveries"] < 1100
    await retention.delete_data(conn, sown.id)
    assert set((await rows(conn, sown.id)).values()) == {0}
    counts = (await ledger.overview(conn, "default", sown.id)).counts  # type: ignore[union-attr]
    assert (counts.sent, counts.failed, counts.uncertain) == (1098, 1, 1)


async def test_nothing_can_be_retried_once_the_data_goes(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await finished(sow, person, fates, size=20)
    await conn.execute(retention.SQL["mark"], {"campaign": sown.id})
    order = Order("again", "Retry", Selection(states=["failed"]))
    with pytest.raises(actions.ActionError, match="was deleted at"):
        await actions.apply(conn, Target(sown.id, "default"), order)
    row = await campaigns.read(conn, "default", "spring")
    assert row is not None


async def test_each_step_is_a_transaction_of_its_own(conn: Connection, sow: Any, person: Person, fates: Any) -> None:
    """Somebody holds a row: what went before it is gone for everybody, and what comes after it waits."""
    sown = await finished(sow, person, fates, size=1100)
    watcher, holder = await connect(conn.info.dsn), await connect(conn.info.dsn)
    async with holder.transaction():
        await holder.execute("SELECT FROM sendonce.deliveries ORDER BY batch_id DESC, no DESC LIMIT 1 FOR UPDATE")
        deletion = asyncio.create_task(retention.delete_data(conn, sown.id, step=100))
        async with asyncio.timeout(8):
            while (left := (await rows(watcher, sown.id))["deliveries"]) == 1100:
                pass
        assert 0 < left < 1100
        assert not deletion.done()
    await deletion
    assert (await rows(watcher, sown.id))["deliveries"] == 0
    await watcher.close()
    await holder.close()


async def test_campaigns_are_due_when_their_days_are_over(
    conn: Connection, sow: Any, person: Person, fates: Any, document: Any
) -> None:
    sown = await finished(sow, person, fates, document=document(dataRetentionDays=30), size=5)
    assert await retention.due_campaigns(conn, "default") == []
    await conn.execute("UPDATE sendonce.campaigns SET completed_at = now() - interval '31 days'")
    assert await retention.due_campaigns(conn, "default") == [sown.id]
    assert await retention.due_campaigns(conn, "other") == []
    await conn.execute(retention.SQL["mark"], {"campaign": sown.id})
    assert await retention.due_campaigns(conn, "default") == [sown.id]  # begun, and not done
    await retention.delete_data(conn, sown.id)
    assert await retention.due_campaigns(conn, "default") == []
