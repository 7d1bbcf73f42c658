"""What happened to a campaign, as the store remembers it: a campaign in, records with their times out.

The store keeps no diary. What can be told is told by the rows that each thing left behind: the campaign's times, its
import, its workers, and the notes of attempts that stand for more than one recipient. People's orders are in
`console_deadletters`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sendonce_store import ledger
from sendonce_store.connection import Connection
from sendonce_store.console_campaigns import SQL
from sendonce_store.ledger import WorkerLine
from sendonce_store.pace import OUTAGE_CODES

_MOST_WORKERS = 100


@dataclass(frozen=True, slots=True)
class Import:
    """The import's batch: when it began, and when it was last heard of; `state` done: that was its end."""

    leased_at: datetime | None
    heartbeat_at: datetime | None
    state: str


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Notes of attempts of one kind within a minute: rate_limited, account, recovered, or temporary for an outage."""

    minute: datetime
    outcome: str
    first: datetime
    last: datetime
    count: int
    workers: int
    worker: str | None
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Lease:
    """The batches that a worker holds. `left`: seconds until the first lease ends; below 0 it can be taken over."""

    worker: str
    batches: int
    heartbeat_at: datetime
    left: float


@dataclass(frozen=True, slots=True)
class Story:
    """All of it."""

    imported: Import | None
    workers: Sequence[WorkerLine]
    leases: Mapping[str, Lease]
    disturbances: Sequence[Disturbance]


async def read(conn: Connection, campaign_id: int) -> Story:
    """Read what is left of the campaign's past."""
    here = {"campaign": campaign_id, "outages": sorted(OUTAGE_CODES)}
    imported = await (await conn.execute(SQL["imported"], here)).fetchone()
    disturbances = await (await conn.execute(SQL["disturbances"], here)).fetchall()
    leases = await (await conn.execute(SQL["leases"], here)).fetchall()
    return Story(
        Import(**imported) if imported else None,
        await ledger.workers(conn, campaign_id, _MOST_WORKERS),
        {row["worker"]: Lease(**row) for row in leases},
        [Disturbance(**row) for row in disturbances],
    )
