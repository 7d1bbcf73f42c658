"""Campaigns as the console shows them: namespaces and wishes in, records of a bounded cost out.

Overviews come from `ledger`. What has no counter is read from a bounded part of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sendonce_store import ledger
from sendonce_store.connection import Connection
from sendonce_store.queries import load
from sendonce_store.spec import CampaignSpec
from sendonce_store.standing import Overview, standing

SQL = load("console_campaigns")
BEGINNING = 2**62
_SAMPLE = 2_000
_BATCH = 500
_CHUNK, _CHUNKS = 50, 20
_SHORTEST = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Wish:
    """Which campaigns: `reason` as `Ready.reason` says it, `text` in name or send key; behind number `before`."""

    namespaces: Sequence[str]
    reason: str | None = None
    text: str | None = None
    before: int = BEGINNING


@dataclass(frozen=True, slots=True)
class Page:
    """Campaigns, the newest first. `next`: what to ask behind; None: that was the last."""

    campaigns: Sequence[Overview]
    next: int | None


@dataclass(frozen=True, slots=True)
class Record:
    """What an overview does not say of a campaign."""

    id: int
    applied_by: str | None
    owned_at: datetime | None
    content_hash: str
    spec: CampaignSpec


@dataclass(frozen=True, slots=True)
class Recent:
    """What ended lately over one provider."""

    campaign_id: int
    provider_id: int
    ended: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a span: how many ended in it, sent or otherwise."""

    begins: datetime
    sent: int
    others: int


async def page(conn: Connection, wish: Wish, limit: int = 25) -> Page:
    """A page of campaigns. A reason of one that goes on is known when it has been looked at: chunk by chunk."""
    found: list[Overview] = []
    before: int | None = wish.before
    for _ in range(_CHUNKS):
        if before is None or len(found) > limit:
            break
        chunk, before = await _chunk(conn, wish, before, max(_CHUNK if wish.reason else 0, limit + 1))
        found += [one for one in chunk if wish.reason is None or standing(one).reason == wish.reason]
    shown = found[:limit]
    if len(found) > limit:
        return Page(shown, shown[-1].id)
    return Page(shown, before)


async def _chunk(conn: Connection, wish: Wish, before: int, limit: int) -> tuple[list[Overview], int | None]:
    text = None if wish.text is None else wish.text.lower()
    asked = {"namespaces": list(wish.namespaces), "reason": wish.reason, "text": text, "before": before}
    cursor = await conn.execute(SQL["page"], asked | {"limit": limit})
    ids = [int(row["id"]) for row in await cursor.fetchall()]
    overviews = await ledger.overviews_of(conn, ids) if ids else []
    return sorted(overviews, key=lambda one: -one.id), ids[-1] if len(ids) == limit else None


async def records(conn: Connection, ids: Sequence[int]) -> Mapping[int, Record]:
    """What the overviews leave out, by campaign."""
    cursor = await conn.execute(SQL["records"], {"ids": list(ids)})
    rows = await cursor.fetchall()
    return {row["id"]: Record(**{**row, "spec": CampaignSpec.from_wire(row["spec"])}) for row in rows}


async def recent(conn: Connection, ids: Sequence[int]) -> list[Recent]:
    """What ended lately, of campaigns that go on; nothing for those that stand still."""
    if not ids:
        return []
    cursor = await conn.execute(SQL["recent"], {"ids": list(ids)})
    return [Recent(**row) for row in await cursor.fetchall()]


async def over_time(conn: Connection, campaign: Overview, parts: int = 60) -> list[Part]:
    """How many deliveries ended in each part of the time that the campaign took so far; empty before the first."""
    cursor = await conn.execute(SQL["span"], {"campaign": campaign.id})
    span = await cursor.fetchone()
    if span is None or span["first"] is None or span["last"] is None:
        return []
    until = campaign.now if campaign.ended is None else span["last"]
    return await _parts(conn, campaign, span["first"], until, parts)


async def _parts(conn: Connection, c: Overview, since: datetime, until: datetime, parts: int) -> list[Part]:
    # one row in so many; of very large campaigns only some batches
    wanted = max(1, -(-c.counts.total // _SAMPLE))
    step, skip = min(wanted, _BATCH), max(1, wanted // _BATCH)
    length = max((until - since) / parts, _SHORTEST)
    until = since + length * parts
    asked: dict[str, Any] = {"campaign": c.id, "since": since, "until": until, "parts": parts}
    cursor = await conn.execute(SQL["over_time"], asked | {"step": step, "skip": skip})
    found = {row["part"]: row for row in await cursor.fetchall()}
    none = {"sent": 0, "others": 0}
    weight = step * skip
    return [
        Part(since + length * no, *(int(found.get(no + 1, none)[name]) * weight for name in ("sent", "others")))
        for no in range(parts)
    ]
