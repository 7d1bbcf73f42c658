"""Consent: hard suppressions and people's opt-outs, in and out. Addresses are normalised by the caller.

A suppression (bounced, complained, blocked) holds for every category, transactional too; an opt-out for a category, or
for one topic of it. Both are looked at when a message is handed off, so that they hold for what was imported before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("consent")
REASONS = ("bounced", "complained", "blocked")
PAGE = 5000
WHOLE_CATEGORY = ""


@dataclass(frozen=True, slots=True)
class Suppression:
    """No message to this address, whatever it is about. `reason`: bounced, complained or blocked."""

    channel: str
    address: str
    reason: str
    source: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OptOut:
    """No message of this category; with a topic, none of that topic. '' is the whole category."""

    channel: str
    address: str
    category: str
    topic: str = WHOLE_CATEGORY
    source: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries to list; None means any. `category` and `topic` are for opt-outs only."""

    channel: str | None = None
    address: str | None = None
    category: str | None = None
    topic: str | None = None


async def suppress(conn: Connection, namespace: str, rows: Sequence[Suppression], source: str | None = None) -> int:
    """Add suppressions; returns how many are new or have another reason now."""
    parameters = _addresses(rows) | {"reasons": [row.reason for row in rows]}
    cursor = await conn.execute(SQL["add_suppressions"], parameters | {"namespace": namespace, "source": source})
    return cursor.rowcount


async def unsuppress(conn: Connection, namespace: str, rows: Sequence[Suppression]) -> int:
    """Remove suppressions, whatever their reason; returns how many there were."""
    cursor = await conn.execute(SQL["remove_suppressions"], _addresses(rows) | {"namespace": namespace})
    return cursor.rowcount


async def opt_out(conn: Connection, namespace: str, rows: Sequence[OptOut], source: str | None = None) -> int:
    """Add opt-outs; returns how many are new."""
    parameters = _wishes(rows) | {"namespace": namespace, "source": source}
    cursor = await conn.execute(SQL["add_opt_outs"], parameters)
    return cursor.rowcount


async def opt_in(conn: Connection, namespace: str, rows: Sequence[OptOut]) -> int:
    """Remove opt-outs, each of exactly its category and topic; returns how many there were."""
    cursor = await conn.execute(SQL["remove_opt_outs"], _wishes(rows) | {"namespace": namespace})
    return cursor.rowcount


async def suppressions(conn: Connection, namespace: str, wanted: Wanted = Wanted()) -> AsyncIterator[Suppression]:
    """The suppressions in order of channel and address, read page by page."""
    asked = {"namespace": namespace, "channel": wanted.channel, "address": wanted.address, "limit": PAGE}
    channel, address = "", ""
    while True:
        place = {"after_channel": channel, "after_address": address}
        cursor = await conn.execute(SQL["list_suppressions"], asked | place)
        rows = [Suppression(**row) for row in await cursor.fetchall()]
        for row in rows:
            yield row
        if len(rows) < PAGE:
            return
        channel, address = rows[-1].channel, rows[-1].address


async def opt_outs(conn: Connection, namespace: str, wanted: Wanted = Wanted()) -> AsyncIterator[OptOut]:
    """The opt-outs in order of channel, address, category and topic, read page by page."""
    asked = {
        "namespace": namespace,
        "channel": wanted.channel,
        "address": wanted.address,
        "category": wanted.category,
        "topic": wanted.topic,
        "limit": PAGE,
    }
    last = OptOut("", "", "")
    while True:
        place = {
            "after_channel": last.channel,
            "after_address": last.address,
            "after_category": last.category,
            "after_topic": last.topic,
        }
        cursor = await conn.execute(SQL["list_opt_outs"], asked | place)
        rows = [OptOut(**row) for row in await cursor.fetchall()]
        for row in rows:
            yield row
        if len(rows) < PAGE:
            return
        last = rows[-1]


def _addresses(rows: Sequence[Suppression] | Sequence[OptOut]) -> dict[str, list[str]]:
    return {"channels": [row.channel for row in rows], "addresses": [row.address for row in rows]}


def _wishes(rows: Sequence[OptOut]) -> dict[str, list[str]]:
    return _addresses(rows) | {
        "categories": [row.category for row in rows],
        "topics": [row.topic for row in rows],
    }
