"""A person's levers on a campaign: retry, resolve, promote, resume; and cancel and suspend, which are wished states.

Retry, Resolve, Promote and Resume are applied once per (campaign, name): the same name again changes nothing and gives
the first result. Rows are changed a batch at a time under the batch's lock, with the place noted in the same
transaction, so that an action that dies goes on where it was and counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from psycopg.types.json import Jsonb

from sendonce_store.conduct import promote, settle, tell_again
from sendonce_store.connection import Connection
from sendonce_store.fallbacks import add_fallbacks
from sendonce_store.queries import load

SQL = load("actions")
CAMPAIGN_SQL = load("campaigns")
STREAM_SQL = load("stream")
NO_LIMIT = 2**31 - 1
RETRIABLE = ("failed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dead letters: by state, reason, the far end's code and channel; None means any."""

    states: Sequence[str] = RETRIABLE
    reasons: Sequence[str] | None = None
    codes: Sequence[str] | None = None
    channels: Sequence[str] | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One action. `resolve_as`: sent, failed or resend. `patience`: seconds an attempt can be under way."""

    name: str
    type: str  # Retry | Resolve | Promote | Resume
    selection: Selection = Selection()
    resolve_as: str | None = None
    patience: float = 45.0

    def document(self) -> dict[str, Any]:
        """What is kept of it."""
        chosen = self.selection
        return {
            "states": list(chosen.states),
            "reasons": None if chosen.reasons is None else list(chosen.reasons),
            "codes": None if chosen.codes is None else list(chosen.codes),
            "channels": None if chosen.channels is None else list(chosen.channels),
            "limit": chosen.limit,
            "resolveAs": self.resolve_as,
        }


@dataclass(frozen=True, slots=True)
class Applied:
    """What an action did. `again`: it had been applied before, and nothing was done now."""

    matched: int
    changed: int
    message: str
    again: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """The campaign that an action is for."""

    campaign_id: int
    namespace: str


class ActionError(Exception):
    """The action can't be applied; the message says why and what would do."""


async def apply(conn: Connection, target: Target, order: Order) -> Applied:
    """Apply an action once. Raises ActionError."""
    await _require_data(conn, target.campaign_id)
    here = {"campaign": target.campaign_id, "name": order.name, "namespace": target.namespace}
    await conn.execute(SQL["begin_action"], here | {"type": order.type, "spec": Jsonb(order.document())})
    cursor = await conn.execute(SQL["read_action"], here)
    row = await cursor.fetchone()
    if row is None:
        message = f"action {order.name}: the campaign is gone"
        raise ActionError(message)
    if row["finished_at"] is not None:
        return Applied(row["matched"], row["changed"], row["message"] or "", again=True)
    message = await _do(conn, target, order)
    await tell_again(conn, target.campaign_id)
    await conn.execute(SQL["finish_action"], here | {"message": message})
    cursor = await conn.execute(SQL["read_action"], here)
    done = await cursor.fetchone() or row
    return Applied(done["matched"], done["changed"], message)


async def _require_data(conn: Connection, campaign_id: int) -> None:
    cursor = await conn.execute(CAMPAIGN_SQL["campaign_by_id"], {"campaign": campaign_id})
    row = await cursor.fetchone()
    if row is not None and row["data_deleted_at"] is not None:
        when = row["data_deleted_at"].isoformat(timespec="seconds")
        message = f"the recipients' data of {row['send_key']} was deleted at {when}: nothing can be changed any more"
        raise ActionError(message)


async def _do(conn: Connection, target: Target, order: Order) -> str:
    match order.type:
        case "Retry" | "Resolve":
            return await _change_rows(conn, target, order)
        case "Resume":
            return await _resume(conn, target, order)
        case "Promote":
            return await _promote(conn, target.campaign_id)
        case _:
            message = f"type {order.type!r} is unknown: use Retry, Resolve, Promote or Resume"
            raise ActionError(message)


async def _resume(conn: Connection, target: Target, order: Order) -> str:
    """Go on after a stop, or with an import whose source has been mended: it goes on at its cursor."""
    campaign = {"campaign": target.campaign_id}
    cursor = await conn.execute(CAMPAIGN_SQL["resume"], campaign)
    if await cursor.fetchone():
        return "resumed"
    async with conn.transaction():
        cursor = await conn.execute(SQL["reopen_import"], campaign)
        if await cursor.fetchone() is None:
            return "nothing to resume: the campaign is not stopped"
        await conn.execute(SQL["reopen_import_batch"], campaign)
    again = Selection(states=("cancelled",), reasons=("import_failed",))
    await _change_rows(conn, target, replace(order, type="Retry", selection=again))
    return "resumed: the import goes on where it stopped"


async def _promote(conn: Connection, campaign_id: int) -> str:
    async with conn.transaction():
        cursor = await conn.execute(CAMPAIGN_SQL["lock_rollout"], {"campaign": campaign_id})
        row = await cursor.fetchone()
        if row is None or row["rollout_stage"] not in {"canary", "observing", "awaiting"}:
            stage = row["rollout_stage"] if row else "gone"
            return f"nothing to promote: the rollout's stage is {stage}"
        await promote(conn, campaign_id)
    return "promoted"


async def _change_rows(conn: Connection, target: Target, order: Order) -> str:
    """Walk over the batches that have dead letters, one transaction each."""
    while True:
        cursor = await conn.execute(SQL["read_action"], {"campaign": target.campaign_id, "name": order.name})
        row = await cursor.fetchone()
        limit = order.selection.limit
        left = NO_LIMIT if limit is None else limit - (row["changed"] if row else 0)
        found = await conn.execute(
            SQL["next_batch"], {"campaign": target.campaign_id, "after": row["after_batch"] if row else 0}
        )
        batch = await found.fetchone()
        if batch is None or left <= 0:
            return f"{row['changed'] if row else 0} of {row['matched'] if row else 0} deliveries changed"
        await _change_batch(conn, target, order, batch["id"], left)


async def _change_batch(conn: Connection, target: Target, order: Order, batch: int, limit: int) -> None:
    here = {"campaign": target.campaign_id, "name": order.name, "batch": batch}
    async with conn.transaction():
        await conn.execute(SQL["lock_batch"], here)
        asked = replace(order.selection, limit=limit)
        cursor = await conn.execute(
            SQL["matching"],
            here
            | order.document()
            | {
                "states": list(asked.states),
                "limit": asked.limit,
            },
        )
        rows = await cursor.fetchall()
        changed = await _change(conn, target, order, batch, rows) if rows else 0
        await conn.execute(SQL["count_action"], here | {"matched": len(rows), "changed": changed})


async def _change(conn: Connection, target: Target, order: Order, batch: int, rows: Sequence[dict[str, Any]]) -> int:
    parameters = {
        "campaign": target.campaign_id,
        "batch": batch,
        "nos": [row["no"] for row in rows],
        "patience": order.patience,
        "state": order.resolve_as,
        "uncancel": any(row["state"] == "cancelled" for row in rows),
    }
    if order.type == "Resolve" and order.resolve_as in {"sent", "failed"}:
        cursor = await conn.execute(SQL["resolve_rows"], parameters)
        if order.resolve_as == "failed":
            await conn.execute(SQL["reopen_campaign"], parameters)
            await add_fallbacks(conn, target.campaign_id, batch)
        return cursor.rowcount
    await conn.execute(SQL["reopen_batch"], parameters)
    cursor = await conn.execute(SQL["retry_rows" if order.type == "Retry" else "resend_rows"], parameters)
    if cursor.rowcount:
        await conn.execute(SQL["reopen_campaign"], parameters)
    await conn.execute(SQL["close_unchanged"], parameters)
    return cursor.rowcount


async def cancel(conn: Connection, campaign_id: int) -> int:
    """Cancel what has not been handed off; returns the number of deliveries. What is under way ends by itself."""
    await conn.execute(CAMPAIGN_SQL["order_cancel"], {"campaign": campaign_id})
    return await settle(conn, campaign_id, "cancelled", "cancelled")


async def close(conn: Connection, campaign_id: int) -> bool:
    """Let nobody be added to a stream any more: it ends when everybody has been sent to. False: it is none, or over."""
    cursor = await conn.execute(STREAM_SQL["close"], {"campaign": campaign_id})
    return await cursor.fetchone() is not None


async def suspend(conn: Connection, campaign_id: int, *, suspended: bool) -> bool:
    """Set the wished state; workers see it with their next turn. False: no such campaign."""
    cursor = await conn.execute(CAMPAIGN_SQL["set_suspended"], {"campaign": campaign_id, "suspended": suspended})
    return await cursor.fetchone() is not None
