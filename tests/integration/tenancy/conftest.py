"""Two namespaces in one store, each with a row in every table and a login of its own.

In: a fresh database (`dsn`). Out: `estate`

    estate.owner     the operator's connection
    estate.shop      the login of namespace `shop`; what it must not reach is `bank`'s
    estate.bank      the login of namespace `bank`
    estate.ids       namespace → {campaign, batch, provider}; `shared` and `banks` are cluster providers
"""

# ruff: noqa: E501 - a row of each table is a line

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
import pytest_asyncio
from psycopg.conninfo import make_conninfo

from sendonce_store import tenancy
from sendonce_store.connection import Connection, connect

NAMESPACES = ("shop", "bank")
_PROVIDER: LiteralString = """
    INSERT INTO sendonce.providers (namespace, kind, name, spec, pauses_in_row)
    VALUES (%(namespace)s, %(kind)s, %(name)s, '{}', 3) RETURNING id"""
_LIMIT: LiteralString = """
    INSERT INTO sendonce.pace_limits (provider_id, no, namespace, messages, period_seconds, burst)
    VALUES (%(provider)s, 0, %(namespace)s, 10, 1, 2)"""
_CAMPAIGN: LiteralString = """
    INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category)
    VALUES (%(namespace)s, 'spring', 'spring', 'h', '{"the": "content"}', 'Marketing') RETURNING id"""
_BATCH: LiteralString = """
    INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at)
    VALUES (%(namespace)s, %(campaign)s, 'send', 'Email', %(provider)s, now()) RETURNING id"""
_ROWS: tuple[LiteralString, ...] = (
    "INSERT INTO sendonce.recipients VALUES (%(campaign)s, 1, %(namespace)s, 'r1', '{\"Email\": [\"a\", \"a\"]}', NULL, NULL, '{}')",
    """INSERT INTO sendonce.deliveries
              (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, next_attempt_at)
       VALUES (%(batch)s, 1, %(campaign)s, 1, gen_random_uuid(), %(namespace)s, 'Email', 'mia@example.com', now())""",
    """INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, outcome)
       VALUES (%(namespace)s, %(campaign)s, %(batch)s, 1, 1, 'w', 'temporary')""",
    "INSERT INTO sendonce.import_rejects VALUES (%(campaign)s, 2, %(namespace)s, 'email', 'is no address', 'x')",
    "INSERT INTO sendonce.import_spool VALUES (%(campaign)s, 1, %(namespace)s, '{}')",
    "INSERT INTO sendonce.workers (id, namespace, campaign_id) VALUES (%(namespace)s || '-w', %(namespace)s, %(campaign)s)",
    "INSERT INTO sendonce.suppressions VALUES (%(namespace)s, 'Email', 'no@example.com', 'blocked')",
    "INSERT INTO sendonce.opt_outs VALUES (%(namespace)s, 'Email', 'no@example.com', 'Marketing')",
    "INSERT INTO sendonce.streams VALUES (%(campaign)s, %(namespace)s)",
    "INSERT INTO sendonce.inbox (campaign_id, key, namespace, digest) VALUES (%(campaign)s, 'k', %(namespace)s, '')",
    "INSERT INTO sendonce.contacts VALUES (%(namespace)s, 'Email', 'mia@example.com', 'Marketing', '')",
    "INSERT INTO sendonce.actions (campaign_id, name, namespace, type, spec) VALUES (%(campaign)s, 'a', %(namespace)s, 'Retry', '{}')",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Estate:
    """The store with its two tenants."""

    dsn: str
    owner: Connection
    shop: Connection
    bank: Connection
    roles: Mapping[str, str]
    ids: Mapping[str, Mapping[str, int]]
    shared: int
    banks: int

    async def all(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """What the owner sees."""
        cursor = await self.owner.execute(statement, parameters)
        return await cursor.fetchall()

    async def refused(self, statement: LiteralString, **parameters: Any) -> str:
        """Run it as the shop; the server must refuse it for want of rights. Returns its words."""
        try:
            await self.shop.execute(statement, parameters or None)
        except psycopg.errors.InsufficientPrivilege as error:
            return str(error)
        raise AssertionError(f"not refused: {statement}")


async def _id(owner: Connection, statement: LiteralString, **parameters: Any) -> int:
    cursor = await owner.execute(statement, parameters)
    row = await cursor.fetchone()
    assert row is not None
    return int(row["id"])


async def _provider(owner: Connection, namespace: str, name: str) -> int:
    kind = "NotificationProvider" if namespace else "ClusterNotificationProvider"
    provider = await _id(owner, _PROVIDER, namespace=namespace, kind=kind, name=name)
    await owner.execute(_LIMIT, {"provider": provider, "namespace": namespace})
    return provider


async def _furnish(owner: Connection, namespace: str, cluster: Mapping[str, int]) -> dict[str, int]:
    """A campaign of the namespace with a row in every table."""
    provider = await _provider(owner, namespace, "mail")
    campaign = await _id(owner, _CAMPAIGN, namespace=namespace)
    for no, (channel, used) in enumerate({"Email": provider, **cluster}.items()):
        await owner.execute(
            "INSERT INTO sendonce.channels (campaign_id, channel, namespace, no, provider_id) VALUES (%s, %s, %s, %s, %s)",
            [campaign, channel, namespace, no, used],
        )
    batch = await _id(owner, _BATCH, namespace=namespace, campaign=campaign, provider=provider)
    for statement in _ROWS:
        await owner.execute(statement, {"namespace": namespace, "campaign": campaign, "batch": batch})
    return {"campaign": campaign, "batch": batch, "provider": provider}


@pytest_asyncio.fixture
async def owner(dsn: str) -> AsyncIterator[Connection]:
    """Yield the owner's connection to a fresh, migrated database."""
    conn = await connect(dsn, application_name="test")
    yield conn
    await conn.close()


@pytest_asyncio.fixture
async def estate(dsn: str, owner: Connection) -> AsyncIterator[Estate]:
    """Yield a store with two tenants that each have a row in every table."""
    shared, banks = await _provider(owner, "", "shared"), await _provider(owner, "", "banks")
    ids = {
        "shop": await _furnish(owner, "shop", {"SMS": shared}),
        "bank": await _furnish(owner, "bank", {"SMS": shared, "Line": banks}),
    }
    await owner.execute("INSERT INTO sendonce.pace_shares SELECT id, 1, namespace FROM sendonce.providers")
    logins = {namespace: await tenancy.add(owner, namespace) for namespace in NAMESPACES}
    shop, bank = [await connect(make_conninfo(dsn, user=one.role, password=one.password)) for one in logins.values()]
    roles = {namespace: login.role for namespace, login in logins.items()}
    yield Estate(dsn, owner, shop, bank, roles, ids, shared, banks)
    await shop.close()
    await bank.close()
