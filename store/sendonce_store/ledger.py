"""The ledger's read side: what became of a campaign and of its deliveries. Rows in the store in, records out.

Nothing here writes or locks. `overview` is cheap enough to be read every second at any size; `outcomes`, `deliveries`
and `retries` read rows and are for a person who asks. What became of one person is in `people`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sendonce_store.connection import Connection
from sendonce_store.queries import load
from sendonce_store.spec import ProviderSpec
from sendonce_store.standing import ALIVE_SECONDS, SOON_SECONDS, Counts, Overview, Reports

SQL = load("ledger")
_DIRECT = [field.name for field in fields(Overview) if field.name not in {"counts", "reports"}]
_STATES = [field.name for field in fields(Counts)]
_TIMES = {"alive": ALIVE_SECONDS, "soon": SOON_SECONDS}
DEAD = ("failed", "uncertain")
NOT_SENT = ("failed", "uncertain", "suppressed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which deliveries: by state, reason, code and channel (None: any), and a text in reference or address."""

    states: Sequence[str] | None = None
    reasons: Sequence[str] | None = None
    codes: Sequence[str] | None = None
    channels: Sequence[str] | None = None
    search: str | None = None

    def parameters(self) -> dict[str, Any]:
        """As the statements name them."""
        return {
            "states": None if self.states is None else list(self.states),
            "reasons": None if self.reasons is None else list(self.reasons),
            "codes": None if self.codes is None else list(self.codes),
            "channels": None if self.channels is None else list(self.channels),
            "search": self.search,
        }


ANY = Filter()


@dataclass(frozen=True, slots=True)
class Retries:
    """Deliveries that wait for their next attempt, and when the first and the last of them is due."""

    waiting: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """A worker process that has worked, or works, on the campaign."""

    id: str
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None
    problem: str | None
    silent_seconds: float

    @property
    def alive(self) -> bool:
        """Whether it has been heard of lately."""
        return self.stopped_at is None and self.silent_seconds < ALIVE_SECONDS


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many deliveries ended alike; `error` is one of the far end's answers."""

    state: str
    channel: str
    reason: str | None
    code: str | None
    count: int
    error: str | None


@dataclass(frozen=True, slots=True)
class DeliveryLine:
    """One delivery in a list; `batch_id` and `no` are its place."""

    batch_id: int
    no: int
    line: int
    ref: str | None
    channel: str
    address: str | None
    state: str
    reason: str | None
    code: str | None
    error: str | None
    attempts: int
    last_attempt_at: datetime | None
    next_attempt_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A row of the source that was refused."""

    line: int
    field: str
    reason: str
    excerpt: str


async def find_campaign(conn: Connection, namespace: str, campaign: str) -> int | None:
    """The id of a campaign by send key, else by name (the newest of that name)."""
    row = await read_one(conn, "campaign_id", {"namespace": namespace, "campaign": campaign})
    return None if row is None else int(row["id"])


async def find_send_key(conn: Connection, namespace: str, send_key: str) -> int | None:
    """The id of the campaign of a send key."""
    row = await read_one(conn, "campaign_of_send_key", {"namespace": namespace, "send_key": send_key})
    return None if row is None else int(row["id"])


async def campaign_names(conn: Connection, namespace: str, prefix: str = "") -> list[str]:
    """Send keys that begin so, the newest first, at most 50."""
    return [
        row["send_key"] for row in await read_all(conn, "campaign_names", {"namespace": namespace, "prefix": prefix})
    ]


async def overview(conn: Connection, namespace: str, campaign_id: int) -> Overview | None:
    """One campaign at this moment."""
    rows = await _overviews(conn, namespace, campaign_id, 1)
    return rows[0] if rows else None


async def overviews(conn: Connection, namespace: str, limit: int = 100) -> list[Overview]:
    """The campaigns of a namespace, the newest first."""
    return await _overviews(conn, namespace, None, limit)


async def overviews_of(conn: Connection, ids: Sequence[int]) -> list[Overview]:
    """These campaigns, of any namespace, in one query."""
    asked = {"ids": list(ids), "namespace": None, "campaign": None, "limit": 0, **_TIMES}
    return [_overview(row) for row in await read_all(conn, "overviews", asked)]


async def _overviews(conn: Connection, namespace: str, campaign_id: int | None, limit: int) -> list[Overview]:
    asked = {"ids": None, "namespace": namespace, "campaign": campaign_id, "limit": limit, **_TIMES}
    return [_overview(row) for row in await read_all(conn, "overviews", asked)]


def _overview(row: Mapping[str, Any]) -> Overview:
    kept = row["final_counts"] or row
    reports = Reports(*(int(kept.get(name, 0)) for name in ("delivered", "bounced")))
    return Overview(**{name: row[name] for name in _DIRECT}, counts=_counts(row), reports=reports)


def _counts(row: Mapping[str, Any]) -> Counts:
    # once the recipients' data is gone, what was counted then is what there is
    if row["final_counts"] is not None:
        return Counts(**{name: int(row["final_counts"].get(name, 0)) for name in _STATES})
    live = {name: row["cancelled_rows" if name == "cancelled" else name] for name in _STATES}
    return Counts(**live)


async def channel_counts(conn: Connection, campaign_id: int) -> dict[str, Counts]:
    """Deliveries by channel and state."""
    rows = await read_all(conn, "channel_counts", {"campaign": campaign_id})
    return {row["channel"]: Counts(**{name: row[name] for name in _STATES}) for row in rows}


async def retries(conn: Connection, campaign_id: int) -> Retries:
    """What waits for its next attempt."""
    row = await read_one(conn, "retries", {"campaign": campaign_id})
    return Retries(**row) if row else Retries(0, None, None)


async def workers(conn: Connection, campaign_id: int, limit: int = 50) -> list[WorkerLine]:
    """The campaign's workers, those that run first."""
    return [WorkerLine(**row) for row in await read_all(conn, "workers", {"campaign": campaign_id, "limit": limit})]


async def outcomes(conn: Connection, campaign_id: int, wanted: Filter = ANY) -> list[Outcome]:
    """Deliveries that were not sent, grouped by state, channel, reason and code, the most frequent first."""
    states = list(wanted.states or NOT_SENT)
    rows = await read_all(conn, "outcomes", wanted.parameters() | {"campaign": campaign_id, "states": states})
    return [Outcome(**row) for row in rows]


async def deliveries(
    conn: Connection, campaign_id: int, wanted: Filter = ANY, *, after: tuple[int, int] = (0, 0), limit: int = 100
) -> list[DeliveryLine]:
    """Deliveries in the order of their places (`batch_id`, `no`), from behind `after` on."""
    place = {"after_batch": after[0], "after_no": after[1], "limit": limit}
    rows = await read_all(conn, "deliveries", wanted.parameters() | place | {"campaign": campaign_id})
    return [DeliveryLine(**row) for row in rows]


async def unreachable(
    conn: Connection, campaign_id: int, after: int = 0, limit: int = 100
) -> list[tuple[int, str | None]]:
    """Line and reference of people without an address on any channel of the campaign."""
    rows = await read_all(conn, "unreachable", {"campaign": campaign_id, "after": after, "limit": limit})
    return [(row["line"], row["ref"]) for row in rows]


async def rejects(conn: Connection, campaign_id: int, after: int = 0, limit: int = 100) -> list[Refused]:
    """Rows of the source that were refused, in order, from behind line `after` on."""
    rows = await read_all(conn, "rejects", {"campaign": campaign_id, "after": after, "limit": limit})
    return [Refused(**row) for row in rows]


async def stored_provider(conn: Connection, namespace: str, kind: str, name: str) -> ProviderSpec | None:
    """The settings of a provider that the store knows; `namespace` is '' for a cluster provider."""
    row = await read_one(conn, "provider_spec", {"namespace": namespace, "kind": kind, "name": name})
    if row is None:
        return None
    return ProviderSpec.from_wire({name: value for name, value in row["spec"].items() if name != "allowedNamespaces"})


async def longest_timeout(conn: Connection, campaign_id: int) -> float:
    """The longest time-out among the campaign's providers, in seconds."""
    row = await read_one(conn, "longest_timeout", {"campaign": campaign_id})
    return float(row["seconds"]) if row else 30.0


async def read_one(conn: Connection, query: str, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The first row of a query of `ledger.sql`."""
    cursor = await conn.execute(SQL[query], parameters)
    return await cursor.fetchone()


async def read_all(conn: Connection, query: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All rows of a query of `ledger.sql`."""
    cursor = await conn.execute(SQL[query], parameters)
    return await cursor.fetchall()
