"""The store as the public gateway sees it: one login that can call a few functions, and read no table.

Each is one function of migration 0008, which runs with the owner's rights. `tenancy.gateway_login` makes the login.
"""

from __future__ import annotations

from dataclasses import dataclass

from sendonce_store.connection import Connection
from sendonce_store.link_tokens import Wish
from sendonce_store.links import LinkKey
from sendonce_store.queries import load

SQL = load("gateway")


@dataclass(frozen=True, slots=True)
class Known:
    """A key that a link names. `revoked`: its links are no longer good."""

    key: LinkKey
    revoked: bool


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that a person can have heard of. '' is the whole category."""

    name: str
    opted_out: bool


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A recipient that an application adds to a standing campaign. `token`: SHA-256 of its token; `recipient`: JSON."""

    token: bytes
    namespace: str
    send_key: str
    idempotency_key: str
    recipient: str


async def enqueue(conn: Connection, wanted: Enqueued) -> int:
    """Add it; returns its number, the same one for a repeat.

    Raises psycopg.Error with the SQLSTATEs of migrations 0006 and 0008: SO101 to SO107, and SO108 for a wrong token.
    """
    asked = {
        "token": wanted.token,
        "namespace": wanted.namespace,
        "send_key": wanted.send_key,
        "key": wanted.idempotency_key,
        "recipient": wanted.recipient,
    }
    cursor = await conn.execute(SQL["enqueue"], asked)
    row = await cursor.fetchone()
    return int(row["number"]) if row else 0


async def schema(conn: Connection) -> int:
    """The version of the schema."""
    cursor = await conn.execute(SQL["schema"])
    row = await cursor.fetchone()
    return int(row["version"]) if row else 0


async def link_key(conn: Connection, key_id: bytes) -> Known | None:
    """The key with this id; None: nobody made it."""
    cursor = await conn.execute(SQL["link_key"], {"key_id": key_id})
    row = await cursor.fetchone()
    return None if row is None else Known(LinkKey(key_id, row["namespace"], bytes(row["key"])), row["revoked"])


async def opt_out(conn: Connection, namespace: str, wish: Wish, way: str) -> bool:
    """Record that the person wants no more of this topic, or category; False: it is recorded already."""
    return await _changed(conn, "opt_out", namespace, wish, way)


async def opt_in(conn: Connection, namespace: str, wish: Wish) -> bool:
    """Take back an opt-out of exactly this topic, or of the whole category; False: there is none."""
    return await _changed(conn, "opt_in", namespace, wish, "")


async def _changed(conn: Connection, query: str, namespace: str, wish: Wish, way: str) -> bool:
    asked = {
        "namespace": namespace,
        "channel": wish.channel,
        "address": wish.address,
        "category": wish.category,
        "topic": wish.topic,
        "way": way,
    }
    cursor = await conn.execute(SQL[query], asked)
    row = await cursor.fetchone()
    return bool(row and row["changed"])


async def topics(conn: Connection, namespace: str, wish: Wish) -> list[Topic]:
    """The topics of the wish's category that the person can have heard of, in order; the wish's own is not added."""
    asked = {
        "namespace": namespace,
        "channel": wish.channel,
        "address": wish.address,
        "category": wish.category,
    }
    cursor = await conn.execute(SQL["topics"], asked)
    return [Topic(row["topic"], row["opted_out"]) for row in await cursor.fetchall()]
