"""The inbox of a standing campaign: recipients that applications have committed in, deliveries out.

    is_waiting ─→ take (locked until the end of the transaction) ─→ normalise ─→ land ─→ taken

All of it is one transaction: a recipient becomes deliveries and leaves the inbox with the same commit, so it needs no
lease and no cursor, and any number of workers may do it side by side. A batch is filled up over time, in the moments
when nobody holds it: a stream that trickles does not leave a batch for each recipient.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from sendonce_store.connection import Connection
from sendonce_store.import_rows import BATCH_SIZE, Plan, Target, as_json
from sendonce_store.imports import insert_rejects
from sendonce_store.queries import load
from sendonce_store.recipients import Recipient, Rejected

SQL = load("stream")
RESTORING_SQL = load("restoring")
# people that are taken at once: half a batch, so that a batch is more than half full when the next is begun
MOST = 250
# batches that a worker remembers for each channel: one may be held while another is filled
REMEMBERED = 4
_UNREADABLE = "is nested too deeply, or has a number of thousands of digits"


class Enqueued(NamedTuple):
    """A recipient in the inbox: its number, the caller's idempotency key, and the record as it was enqueued."""

    no: int
    key: str
    record: Mapping[str, object]


Waiting = Sequence[Mapping[str, Any]]
Normalise = Callable[[Sequence[Enqueued]], tuple[Sequence[Recipient], Sequence[Rejected]]]


@dataclass(slots=True)
class Inbox:
    """One worker's view of a campaign's inbox: the import's plan, and the batches that it filled last, by channel."""

    plan: Plan
    filling: dict[str, list[int]] = field(default_factory=dict)

    def remember(self, channel: str, batch: int) -> None:
        """Keep a batch in mind, instead of the oldest one."""
        known = [one for one in self.filling.get(channel, []) if one != batch]
        self.filling[channel] = [*known, batch][-REMEMBERED:]


@dataclass(frozen=True, slots=True)
class Part:
    """What goes over one channel: person, address and idempotency key of each delivery."""

    target: Target
    rows: Sequence[tuple[int, str, str]]


async def begin(conn: Connection, campaign_id: int) -> None:
    """A worker is there: the campaign's import is under way from now on."""
    await conn.execute(SQL["begin"], {"campaign": campaign_id})


async def is_waiting(conn: Connection, campaign_id: int) -> bool:
    """Whether there is anybody to take; one look at an index of those who wait."""
    cursor = await conn.execute(SQL["is_waiting"], {"campaign": campaign_id})
    row = await cursor.fetchone()
    return bool(row and row["waiting"])


async def take_in(conn: Connection, inbox: Inbox, normalise: Normalise, most: int = MOST) -> int:
    """Turn those who wait, at most so many, into deliveries and refused rows; returns how many were taken."""
    campaign_id = inbox.plan.campaign_id
    async with conn.transaction():
        cursor = await conn.execute(SQL["take"], {"campaign": campaign_id, "limit": most})
        waiting = await cursor.fetchall()
        if not waiting:
            return 0
        readable, unreadable = read(waiting)
        people, rejected = normalise(readable)
        filled = await _land(conn, inbox, waiting, people, [*rejected, *unreadable])
        await conn.execute(SQL["taken"], {"campaign": campaign_id, "keys": [row["key"] for row in waiting]})
    for channel, batch in filled.items():
        inbox.remember(channel, batch)
    return len(waiting)


def read(rows: Waiting) -> tuple[list[Enqueued], list[Rejected]]:
    """The recipients in rows of the inbox, and a refused row for each that is JSON to PostgreSQL and not to Python."""
    readable, unreadable = list[Enqueued](), list[Rejected]()
    for row in rows:
        try:
            readable.append(Enqueued(row["no"], row["key"], json.loads(row["recipient"])))
        except (ValueError, RecursionError):
            unreadable.append(Rejected(row["no"], "row", _UNREADABLE, ""))
    return readable, unreadable


async def _land(
    conn: Connection,
    inbox: Inbox,
    waiting: Waiting,
    people: Sequence[Recipient],
    rejected: Sequence[Rejected],
) -> dict[str, int]:
    """Write people, deliveries and refused rows; returns channel → batch. Locks: batches, then the campaign."""
    plan, campaign = inbox.plan, {"campaign": inbox.plan.campaign_id}
    keys = {row["no"]: row["key"] for row in waiting}
    parts = [part for target in plan.targets if (part := part_of(target, people, keys)).rows]
    places = [await _place(conn, inbox, part) for part in parts]
    cursor = await conn.execute(SQL["lock_campaign"], campaign)
    row = await cursor.fetchone() or {"cancelled": True, "restored_at": None}
    if people:
        await conn.execute(SQL["add_recipients"], _people_columns(plan, people))
    for part, (batch, rows) in zip(parts, places, strict=True):
        await _add_deliveries(conn, plan, part, {"batch": batch, "rows": rows, "cancelled": row["cancelled"]})
    if row["restored_at"] is not None:
        doubtful = [one["no"] for one in waiting if one["enqueued_at"] <= row["restored_at"]]
        await _doubt(conn, [batch for batch, _ in places], doubtful, row["restored_to"])
    await insert_rejects(conn, plan, rejected)
    reached = {no for part in parts for no, _, _ in part.rows}
    counts = {"kept": len(people), "unreachable": len(people) - len(reached), "rejected": len(rejected)}
    await conn.execute(SQL["count"], campaign | counts)
    return {part.target.channel: batch for part, (batch, _) in zip(parts, places, strict=True)}


def part_of(target: Target, people: Sequence[Recipient], keys: Mapping[int, str]) -> Part:
    """Who gets something over a channel at once: those with an address, unless another channel comes before it."""
    rows = [
        (person.line, address.normalised, keys[person.line])
        for person in people
        if (address := person.addresses.get(target.channel)) is not None and target.comes_first(person)
    ]
    return Part(target, rows)


async def _place(conn: Connection, inbox: Inbox, part: Part) -> tuple[int, int]:
    """A batch with room that nobody holds, locked and open, and how many rows it has; else a new one."""
    target = part.target
    about = {"channel": target.channel, "provider": target.provider_id}
    asked = about | {
        "ids": inbox.filling.get(target.channel, []),
        "wanted": len(part.rows),
        "size": BATCH_SIZE,
    }
    cursor = await conn.execute(SQL["batch_with_room"], asked)
    found = await cursor.fetchone()
    if found is not None:
        await conn.execute(SQL["open_batch"], {"batch": found["id"]})
        return int(found["id"]), int(found["rows"])
    of_campaign = {"campaign": inbox.plan.campaign_id, "namespace": inbox.plan.namespace}
    cursor = await conn.execute(SQL["new_batch"], about | of_campaign)
    made = await cursor.fetchone()
    return (int(made["id"]) if made else 0), 0


async def _add_deliveries(conn: Connection, plan: Plan, part: Part, where: Mapping[str, Any]) -> None:
    columns = {
        "campaign": plan.campaign_id,
        "channel": part.target.channel,
        "nos": [no for no, _, _ in part.rows],
        "addresses": [address for _, address, _ in part.rows],
        "occasions": [key for _, _, key in part.rows],
    }
    await conn.execute(SQL["add_deliveries"], {**columns, **where})
    await conn.execute(SQL["close_settled"], where)


async def _doubt(conn: Connection, batches: Sequence[int], people: Sequence[int], point: datetime) -> None:
    """People who were in the inbox when the store came back from a backup may have been sent to in the lost time."""
    asked = {"batches": batches, "states": ["pending", "cancelled"], "point": point, "people": people}
    await conn.execute(RESTORING_SQL["doubt_rows"], asked)


def _people_columns(plan: Plan, people: Sequence[Recipient]) -> dict[str, Any]:
    return {
        "campaign": plan.campaign_id,
        "namespace": plan.namespace,
        "nos": [one.line for one in people],
        "refs": [one.ref for one in people],
        "addresses": [orjson.dumps(one.addresses, list).decode() for one in people],
        "timezones": [one.timezone for one in people],
        "locales": [one.locale for one in people],
        "quiets": [one.quiet for one in people],
        "prefers": [",".join(one.prefers) or None for one in people],
        "variables": [as_json(one.variables).decode() for one in people],
    }
