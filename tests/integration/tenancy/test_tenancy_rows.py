"""The login of one namespace neither reads nor changes a row of another, whatever it tries."""

# ruff: noqa: E501 - a statement that must be refused is a line

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from sendonce_store.connection import Connection

if TYPE_CHECKING:
    from tests.integration.tenancy.conftest import Estate

# of the whole store, the same for everybody
_COMMON = {"store", "schema_migrations"}
# nothing in them is for a tenant
_CLOSED = {"tenants", "pace_shares", "receipts", "link_keys", "gateway_tokens"}
# of logins that are no namespace's; nobody but the owner sees them
_LOGINS = {"consoles"}
_TABLES = (
    "providers", "pace_limits", "pace_shares", "campaigns", "channels", "recipients", "batches", "deliveries",
    "attempts", "import_rejects", "import_spool", "workers", "suppressions", "opt_outs", "actions", "streams", "inbox", "contacts",
    "tenants", "receipts", "link_keys", "gateway_tokens",
)  # fmt: skip


async def _all(conn: Connection, table: str) -> list[dict[str, Any]]:
    query = sql.SQL("SELECT to_jsonb(t) AS row FROM {} t").format(sql.Identifier("sendonce", table))
    return [found["row"] for found in await (await conn.execute(query)).fetchall()]


async def _versions(owner: Connection, table: str) -> set[Any]:
    """Where each row stands and which transaction wrote it: any change shows, also one to the same values."""
    query = sql.SQL("SELECT ctid::text, xmin::text, namespace FROM {}").format(sql.Identifier("sendonce", table))
    return {tuple(row.values()) for row in await (await owner.execute(query)).fetchall()}


async def test_no_table_is_forgotten(owner: Connection) -> None:
    rows = await (
        await owner.execute(
            "SELECT relname, relrowsecurity FROM pg_class"
            " WHERE relnamespace = 'sendonce'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')"
        )
    ).fetchall()
    assert {row["relname"] for row in rows if row["relrowsecurity"]} == set(_TABLES) | _LOGINS
    assert {row["relname"] for row in rows if not row["relrowsecurity"]} == _COMMON


@pytest.mark.parametrize("table", sorted(_LOGINS))
async def test_a_namespace_sees_no_other_kind_of_login(estate: Estate, table: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await _all(estate.shop, table)


@pytest.mark.parametrize("table", [table for table in _TABLES if table not in _CLOSED])
async def test_each_reads_its_own_rows_and_no_others(estate: Estate, table: str) -> None:
    everything = await _all(estate.owner, table)
    assert {"shop", "bank"} <= {row["namespace"] for row in everything}
    for name, conn in (("shop", estate.shop), ("bank", estate.bank)):
        seen = await _all(conn, table)
        assert [row for row in seen if row["namespace"]] == [row for row in everything if row["namespace"] == name]


@pytest.mark.parametrize("table", sorted(_CLOSED))
async def test_what_is_nobodys_is_closed(estate: Estate, table: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await _all(estate.shop, table)


async def test_a_cluster_provider_is_seen_by_those_who_use_it(estate: Estate) -> None:
    for conn, wanted in ((estate.shop, {estate.shared}), (estate.bank, {estate.shared, estate.banks})):
        for query in (
            "SELECT id FROM sendonce.providers WHERE namespace = ''",
            "SELECT provider_id AS id FROM sendonce.pace_limits WHERE namespace = ''",
        ):
            assert {row["id"] for row in await (await conn.execute(query)).fetchall()} == wanted


@pytest.mark.parametrize("table", _TABLES)
async def test_no_statement_of_one_changes_a_row_of_the_other(estate: Estate, table: str) -> None:
    before = {row for row in await _versions(estate.owner, table) if row[2] != "shop"}
    name = sql.Identifier("sendonce", table)
    columns = await estate.all(
        "SELECT attname FROM pg_attribute WHERE attrelid = %(t)s::regclass AND attnum > 0", t=f"sendonce.{table}"
    )
    tries = [
        *(sql.SQL("UPDATE {0} SET {1} = {1}").format(name, sql.Identifier(row["attname"])) for row in columns),
        sql.SQL("DELETE FROM {}").format(name),
        sql.SQL("TRUNCATE {} CASCADE").format(name),
        sql.SQL("SELECT * FROM {} WHERE namespace <> 'shop' FOR UPDATE").format(name),
    ]
    for statement in tries:
        # most are refused; some may be done to rows of one's own
        with suppress(
            psycopg.errors.InsufficientPrivilege, psycopg.errors.GeneratedAlways, psycopg.errors.IntegrityError
        ):
            await estate.shop.execute(statement)
    assert {row for row in await _versions(estate.owner, table) if row[2] != "shop"} == before


_FOREIGN: tuple[tuple[str, LiteralString], ...] = (
    ("a campaign", "INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category) VALUES ('shop', 'mine', 'mine', 'h', '{}', 'Marketing')"),
    ("a provider", "INSERT INTO sendonce.providers (namespace, kind, name, spec) VALUES ('shop', 'NotificationProvider', 'mine', '{}')"),
    ("a channel over a foreign provider", "INSERT INTO sendonce.channels (campaign_id, channel, namespace, no, provider_id) VALUES (%(mine)s, 'Line', 'shop', 9, %(banks)s)"),
    ("a limit", "INSERT INTO sendonce.pace_limits VALUES (%(shared)s, 7, '', 1, 1, 1)"),
    ("a suppression", "INSERT INTO sendonce.suppressions VALUES ('bank', 'Email', 'x@example.com', 'blocked')"),
    ("an opt-out", "INSERT INTO sendonce.opt_outs VALUES ('bank', 'Email', 'x@example.com', 'Marketing')"),
    ("an action", "INSERT INTO sendonce.actions (campaign_id, name, namespace, type, spec) VALUES (%(theirs)s, 'b', 'shop', 'Resume', '{}')"),
    ("a person of the bank", "INSERT INTO sendonce.recipients VALUES (%(theirs)s, 9, 'bank', NULL, '{}', NULL, NULL, '{}')"),
    ("a person in the bank's campaign", "INSERT INTO sendonce.recipients VALUES (%(theirs)s, 9, 'shop', NULL, '{}', NULL, NULL, '{}')"),
    ("a refused row in it", "INSERT INTO sendonce.import_rejects VALUES (%(theirs)s, 9, 'shop', 'f', 'r', 'x')"),
    ("a spooled row in it", "INSERT INTO sendonce.import_spool VALUES (%(theirs)s, 9, 'shop', '{}')"),
    ("a worker of it", "INSERT INTO sendonce.workers (id, namespace, campaign_id) VALUES ('x', 'shop', %(theirs)s)"),
    ("a batch of it", "INSERT INTO sendonce.batches (namespace, campaign_id, kind, claimable_at) VALUES ('shop', %(theirs)s, 'import', now())"),
    ("a batch over a foreign provider", "INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at) VALUES ('shop', %(mine)s, 'send', 'Email', %(banks)s, now())"),
    ("a batch instead of the bank's", "INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, fallback_of, claimable_at) VALUES ('shop', %(mine)s, 'send', 'SMS', %(shared)s, %(their_batch)s, now())"),
    ("a batch with a number to come", "INSERT INTO sendonce.batches (id, namespace, campaign_id, kind, claimable_at) VALUES (%(their_batch)s + 1, 'shop', %(mine)s, 'import', now())"),
    ("a delivery in the bank's batch", "INSERT INTO sendonce.deliveries (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, next_attempt_at) VALUES (%(their_batch)s, 9, %(mine)s, 1, gen_random_uuid(), 'shop', 'Email', 'x', now())"),
    ("a delivery in the bank's campaign", "INSERT INTO sendonce.deliveries (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, next_attempt_at) VALUES (%(my_batch)s, 9, %(theirs)s, 1, gen_random_uuid(), 'shop', 'Email', 'x', now())"),
    ("an attempt at the bank's delivery", "INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome) VALUES ('shop', %(mine)s, %(their_batch)s, 1, 1, 'w', 'accepted')"),
    ("a delivery moved into the bank's batch", "UPDATE sendonce.deliveries SET batch_id = %(their_batch)s, no = 9"),
)  # fmt: skip


def _names(estate: Estate) -> dict[str, int]:
    mine, theirs = estate.ids["shop"], estate.ids["bank"]
    return {
        "mine": mine["campaign"],
        "my_batch": mine["batch"],
        "theirs": theirs["campaign"],
        "their_batch": theirs["batch"],
        "shared": estate.shared,
        "banks": estate.banks,
    }


@pytest.mark.parametrize("statement", [one[1] for one in _FOREIGN], ids=[one[0] for one in _FOREIGN])
async def test_nothing_is_put_where_it_is_not_ones_own(estate: Estate, statement: LiteralString) -> None:
    names = _names(estate)
    await estate.refused(statement, **names)


@pytest.mark.parametrize("address", ["mia@example.com", "nobody@example.com"])
async def test_a_clash_of_keys_does_not_tell_whom_the_other_writes_to(estate: Estate, address: str) -> None:
    said = await estate.refused(
        "INSERT INTO sendonce.deliveries (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address,"
        " next_attempt_at) VALUES (%(their_batch)s, 1, %(theirs)s, 1, gen_random_uuid(), 'shop', 'Email', %(address)s,"
        " now()) ON CONFLICT DO NOTHING",
        **_names(estate),
        address=address,
    )
    assert "row-level security" in said


async def test_a_canary_moves_rows_of_ones_own_campaign_only(estate: Estate) -> None:
    names = _names(estate)
    before = await _versions(estate.owner, "deliveries")
    move = "SELECT sendonce.move_to_canary(%(campaign)s, 500, '{1}', '{Email}', '{0}', ARRAY[%(batch)s::bigint])"
    for campaign, batch in (("mine", "their_batch"), ("theirs", "my_batch"), ("theirs", "their_batch")):
        await estate.shop.execute(move, {"campaign": names[campaign], "batch": names[batch]})
        assert await _versions(estate.owner, "deliveries") == before
    await estate.shop.execute(move, {"campaign": names["mine"], "batch": names["my_batch"]})
    assert await _versions(estate.owner, "deliveries") != before


async def test_what_goes_away_on_the_way_is_ones_own(estate: Estate) -> None:
    names = _names(estate)
    await estate.owner.execute("UPDATE sendonce.batches SET pending = 0")
    for campaign, left in (("theirs", 2), ("mine", 1)):
        await estate.shop.execute("SELECT sendonce.drop_emptied_batches(%s, NULL)", [names[campaign]])
        await estate.shop.execute("SELECT sendonce.forget_spool(%s)", [names[campaign]])
        for table in ("batches", "import_spool"):
            assert len(await _versions(estate.owner, table)) == left


async def test_the_planners_statistics_tell_nothing(estate: Estate) -> None:
    await estate.owner.execute("ANALYZE sendonce.recipients, sendonce.deliveries, sendonce.suppressions")
    query = "SELECT * FROM pg_stats WHERE schemaname = 'sendonce'"
    assert await (await estate.owner.execute(query)).fetchall()
    assert await (await estate.shop.execute(query)).fetchall() == []


async def test_a_tenant_does_what_a_worker_must_to_its_own_rows(estate: Estate) -> None:
    names = _names(estate)
    cursor = await estate.shop.execute(
        "UPDATE sendonce.deliveries SET state = 'cancelled', next_attempt_at = NULL, finished_at = now()"
    )
    assert cursor.rowcount == 1
    (batch,) = await estate.all("SELECT pending, cancelled FROM sendonce.batches WHERE id = %(my_batch)s", **names)
    assert batch == {"pending": 0, "cancelled": 1}
    (other,) = await estate.all("SELECT pending, cancelled FROM sendonce.batches WHERE id = %(their_batch)s", **names)
    assert other == {"pending": 1, "cancelled": 0}
