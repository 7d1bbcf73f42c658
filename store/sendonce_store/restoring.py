"""After a restore from a backup: a store that has forgotten its latest hours in, one that repeats nothing blindly out.

What was sent after the backup stands as `pending` in a restored copy. So each pending delivery of an unfinished
campaign becomes one that may have been accepted, with its key in use since the time of the backup. The rules that hold
for any lost answer then do the rest: with a provider that honours keys it goes out again with the same key while the
key window lasts; otherwise it ends as `uncertain`, for a person to resolve. People whom an unfinished import has yet to
bring arrive the same way: the import finds the note in `actions`, and so does the worker that takes in what was
enqueued before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("restoring")


class RestoreError(Exception):
    """The store can't be told that it was restored; the message says why and what would do."""


@dataclass(frozen=True, slots=True)
class Doubted:
    """A campaign that may have gone on in the lost time. `importing`: people are yet to come, and are doubted too."""

    namespace: str
    send_key: str
    deliveries: int
    importing: bool


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done. `point`: nothing is known of what happened after this time (the database's)."""

    point: datetime
    campaigns: list[Doubted]


async def restored(conn: Connection, point: datetime | None = None) -> Restored:
    """Doubt everything that may have been sent after `point`, by default the latest time that the store knows of.

    It may be broken off and called again: a delivery that is in doubt already is left alone. Raises RestoreError for a
    point that is later than that time: keys would seem to be known for longer than they are.
    """
    latest = await _latest(conn)
    if point is not None and point > latest:
        message = (
            f"point: {point.isoformat()} is later than {latest.isoformat()}, the latest time that the store knows of;"
            " leave it out, or give the time of the backup"
        )
        raise RestoreError(message)
    point = point or latest
    async with conn.transaction():
        await conn.execute(SQL["end_leases"])
        await conn.execute(SQL["skip_numbers"])
    cursor = await conn.execute(SQL["affected"])
    return Restored(point, [await _doubt(conn, row, point) for row in await cursor.fetchall()])


async def _latest(conn: Connection) -> datetime:
    cursor = await conn.execute(SQL["latest"])
    row = await cursor.fetchone()
    if row is None or row["latest"] is None:
        message = "the store has no identity: it is no copy of one"
        raise RestoreError(message)
    latest: datetime = row["latest"]
    return latest


async def _doubt(conn: Connection, campaign: dict[str, Any], point: datetime) -> Doubted:
    here = {"campaign": campaign["id"], "namespace": campaign["namespace"], "point": point}
    async with conn.transaction():
        await conn.execute(SQL["lock_campaign"], here)
        await conn.execute(SQL["note_restore"], here)
    rows, after = 0, 0
    while True:
        cursor = await conn.execute(SQL["next_batch"], here | {"after": after})
        batch = await cursor.fetchone()
        if batch is None:
            importing = campaign["import_state"] != "done"
            return Doubted(campaign["namespace"], campaign["send_key"], rows, importing)
        after = batch["id"]
        rows += await _doubt_batch(conn, after, point)


async def _doubt_batch(conn: Connection, batch: int, point: datetime) -> int:
    async with conn.transaction():
        await conn.execute(SQL["lock_batch"], {"batch": batch})
        asked = {"batches": [batch], "states": ["pending"], "point": point, "people": None}
        cursor = await conn.execute(SQL["doubt_rows"], asked)
        row = await cursor.fetchone()
    return int(row["rows"]) if row else 0
