"""What a proof is made from: a campaign's rows in the store in, records out, in one snapshot. Nothing is locked.

The rows are counted by the database, and what comes back is bounded, so that memory does not grow with the recipients.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.pq import TransactionStatus

from sendonce_store import campaigns, ledger
from sendonce_store.connection import Connection
from sendonce_store.queries import load
from sendonce_store.standing import Counts

SQL = load("proof")
# lines of the report, at most; how many were left out is said
MOST_REASONS = 200
MOST_ACTIONS = 1000


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """The campaign's own record, which stays when the recipients' data goes. `spec` is the frozen one."""

    namespace: str
    name: str
    send_key: str
    category: str
    topic: str | None
    content_hash: str
    spec: Mapping[str, Any]
    import_state: str
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    cancelled_at: datetime | None
    ended: str | None
    ended_reason: str | None
    ended_message: str | None
    data_deleted_at: datetime | None
    final_counts: Mapping[str, int] | None
    total: int
    duplicates: int
    rejected: int
    unreachable: int
    store_id: str
    made_at: datetime
    applied_by: str | None = None


@dataclass(frozen=True, slots=True)
class StateGroup:
    """Deliveries of one channel that are in one state for one reason; first and last attempt among them."""

    channel: str
    state: str
    reason: str | None
    count: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Deliveries that were not sent, alike in the far end's code; `message` is its words for one of them."""

    channel: str
    state: str
    reason: str | None
    code: str | None
    count: int
    message: str | None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Deliveries with more than one acceptance.

    `twice_under_one_key`: the provider remembers the key, and answers a repeat without sending again. `possible`: at
    most one acceptance is known, and another attempt had no answer.
    """

    twice: int
    twice_under_one_key: int
    possible: int


@dataclass(frozen=True, slots=True)
class ActionRow:
    """An order that a person gave. `by`: who they said they were, where the way of ordering tells it."""

    name: str
    type: str
    at: datetime
    done: bool
    matched: int
    changed: int
    message: str | None
    resolve_as: str | None
    by: str | None


@dataclass(frozen=True, slots=True)
class Rows:
    """All that is counted in the rows of recipients and deliveries."""

    people: int
    refused: int
    states: Sequence[StateGroup]
    reasons: Sequence[ReasonGroup]
    repeats: Repeats


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything about one campaign. `counters`: by channel, as the batches count; `rows`: None once they are gone."""

    campaign: CampaignRow
    counters: Mapping[str, Counts]
    actions: Sequence[ActionRow]
    rows: Rows | None


async def read(conn: Connection, campaign_id: int) -> Facts | None:
    """Read a campaign's facts; without its rows unless it has ended. None: there is no such campaign.

    Inside a transaction of the caller's, its isolation counts: only `repeatable read` is one moment.
    """
    async with _snapshot(conn):
        row = await _one(conn, "campaign", campaign_id)
        if row is None:
            return None
        known: dict[str, Any] = {name: row.get(name) for name in CampaignRow.__dataclass_fields__}
        campaign = CampaignRow(**known)
        counters = await ledger.channel_counts(conn, campaign_id)
        actions = [ActionRow(**one) for one in await _all(conn, "actions", campaign_id, most=MOST_ACTIONS)]
        there = campaign.ended is not None and campaign.data_deleted_at is None
        return Facts(campaign, counters, actions, await _rows(conn, campaign_id) if there else None)


@asynccontextmanager
async def _snapshot(conn: Connection) -> AsyncIterator[None]:
    if conn.info.transaction_status is not TransactionStatus.IDLE:
        yield
        return
    async with conn.transaction():
        await conn.execute(SQL["snapshot"])
        yield


async def _rows(conn: Connection, campaign_id: int) -> Rows:
    counted = await _one(conn, "rows", campaign_id) or {"people": 0, "refused": 0}
    groups = await _all(conn, "groups", campaign_id, most=MOST_REASONS)
    return Rows(
        counted["people"],
        counted["refused"],
        [StateGroup(**_picked(one, StateGroup)) for one in groups if one["kind"] == "state"],
        [ReasonGroup(**_picked(one, ReasonGroup)) for one in groups if one["kind"] == "reason"],
        await _repeats(conn, campaign_id),
    )


async def _repeats(conn: Connection, campaign_id: int) -> Repeats:
    windows = {one.provider_id: one.provider.key_window for one in await campaigns.read_channels(conn, campaign_id)}
    keyed = {provider: seconds for provider, seconds in windows.items() if seconds is not None}
    asked = {"providers": list(keyed), "windows": list(keyed.values())}
    row = await _one(conn, "repeats", campaign_id, **asked)
    return Repeats(**row) if row else Repeats(0, 0, 0)


def _picked(row: Mapping[str, Any], record: type[StateGroup | ReasonGroup]) -> dict[str, Any]:
    return {name: row[name] for name in record.__dataclass_fields__}


async def _one(conn: Connection, query: str, campaign_id: int, **more: object) -> dict[str, Any] | None:
    cursor = await conn.execute(SQL[query], {"campaign": campaign_id, **more})
    return await cursor.fetchone()


async def _all(conn: Connection, query: str, campaign_id: int, **more: object) -> list[dict[str, Any]]:
    cursor = await conn.execute(SQL[query], {"campaign": campaign_id, **more})
    return await cursor.fetchall()
