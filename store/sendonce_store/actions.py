"""A person's levers on a campaign: retry, resolve, suppress, promote, resume; and cancel and suspend, wished states.

What has a name is applied once per (campaign, name): the same name again changes nothing and gives the first result.
Rows are changed a batch at a time under the batch's lock, with the place noted in the same
transaction, so that an action that dies goes on where it was and counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from psycopg.types.json import Jsonb

from sendonce_store.changing import change_batch, meant
from sendonce_store.conduct import promote, settle, tell_again
from sendonce_store.connection import Connection
from sendonce_store.named_people import MOST_NAMED, NamedPeople, find_named
from sendonce_store.queries import load

SQL = load("actions")
CAMPAIGN_SQL = load("campaigns")
STREAM_SQL = load("stream")
NO_LIMIT = 2**31 - 1
RETRIABLE = ("failed", "expired", "cancelled", "suppressed")
_DEAD = ("failed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dead letters: by state, reason, the far end's code and channel, and whose; None means any.

    `recipients`: the sender's own references, or `line:12`.
    """

    states: Sequence[str] | None = _DEAD
    reasons: Sequence[str] | None = None
    codes: Sequence[str] | None = None
    channels: Sequence[str] | None = None
    limit: int | None = None
    recipients: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One action. `resolve_as`: sent, failed or resend. `patience`: seconds an attempt can be under way.

    `requested_by`: who ordered it, as the console or another front knows them; it is kept and shown.
    """

    name: str
    type: str  # Retry | Resolve | Suppress | Unsuppress | Promote | Resume
    selection: Selection = Selection()
    resolve_as: str | None = None
    patience: float = 45.0
    requested_by: str | None = None

    def document(self) -> dict[str, Any]:
        """What is kept of it."""
        chosen = self.selection
        return {
            "states": None if chosen.states is None else list(chosen.states),
            "reasons": None if chosen.reasons is None else list(chosen.reasons),
            "codes": None if chosen.codes is None else list(chosen.codes),
            "channels": None if chosen.channels is None else list(chosen.channels),
            "limit": chosen.limit,
            "recipients": None if chosen.recipients is None else list(chosen.recipients),
            "resolveAs": self.resolve_as,
            "requestedBy": self.requested_by,
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
    _require_storable(order)
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


def _require_storable(order: Order) -> None:
    chosen = order.selection
    if any("\x00" in word for word in (*(chosen.codes or ()), *(chosen.recipients or ()), order.requested_by or "")):
        raise ActionError(f"action {order.name}: a NUL character is in no code and no id; take it out")


async def _require_data(conn: Connection, campaign_id: int) -> None:
    cursor = await conn.execute(CAMPAIGN_SQL["campaign_by_id"], {"campaign": campaign_id})
    row = await cursor.fetchone()
    if row is not None and row["data_deleted_at"] is not None:
        when = row["data_deleted_at"].isoformat(timespec="seconds")
        message = f"the recipients' data of {row['send_key']} was deleted at {when}: nothing can be changed any more"
        raise ActionError(message)


async def _do(conn: Connection, target: Target, order: Order) -> str:
    match order.type:
        case "Retry" | "Resolve" | "Suppress" | "Unsuppress":
            return await _change_rows(conn, target, order)
        case "Resume":
            return await _resume(conn, target, order)
        case "Promote":
            return await _promote(conn, target.campaign_id)
        case _:
            message = f"type {order.type!r} is unknown: use Retry, Resolve, Suppress, Unsuppress, Promote or Resume"
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
    """Walk over the batches that have dead letters, or deliveries of the people named, one transaction each."""
    named = await find_named(conn, target.campaign_id, order.selection.recipients)
    if named is not None and named.rows > MOST_NAMED:
        raise ActionError(f"recipients: more than {MOST_NAMED:,} rows carry these ids; name lines (line:12) instead")
    while True:
        cursor = await conn.execute(SQL["read_action"], {"campaign": target.campaign_id, "name": order.name})
        row = await cursor.fetchone() or {"changed": 0, "matched": 0, "after_batch": 0}
        limit = order.selection.limit
        left = NO_LIMIT if limit is None else limit - row["changed"]
        place = {"campaign": target.campaign_id, "after": row["after_batch"]}
        found = await conn.execute(
            SQL["next_batch" if named is None else "next_batch_of_people"], place | meant(order, named)
        )
        batch = await found.fetchone()
        if batch is None or left <= 0:
            return _told(order, row["matched"], row["changed"], named)
        await change_batch(conn, target, order, (batch["id"], left), named)


def _told(order: Order, matched: int, changed: int, named: NamedPeople | None) -> str:
    what = {
        "Suppress": f"{changed} addresses suppressed, {matched - changed} were already",
        "Unsuppress": f"{changed} suppressions taken back",
    }.get(order.type, f"{changed} of {matched} deliveries changed")
    if order.type == "Retry" and matched > changed:
        what += f", {matched - changed} skipped: another channel reached the person, or still may"
    if named is None or not named.missing:
        return what
    return f"{what}; {named.missing} of {named.asked} recipients named are not in the campaign"


async def cancel(conn: Connection, campaign_id: int) -> int:
    """Cancel what has not been handed off; returns the number of deliveries. What is under way ends by itself."""
    await order_cancel(conn, campaign_id)
    return await settle(conn, campaign_id, "cancelled", "cancelled")


async def order_cancel(conn: Connection, campaign_id: int) -> None:
    """Nothing is handed off any more; whoever conducts the campaign ends its deliveries."""
    await conn.execute(CAMPAIGN_SQL["order_cancel"], {"campaign": campaign_id})


async def close(conn: Connection, campaign_id: int) -> bool:
    """Let nobody be added to a stream any more: it ends when everybody has been sent to. False: it is none, or over."""
    cursor = await conn.execute(STREAM_SQL["close"], {"campaign": campaign_id})
    return await cursor.fetchone() is not None


async def suspend(conn: Connection, campaign_id: int, *, suspended: bool) -> bool:
    """Set the wished state; workers see it with their next turn. False: no such campaign."""
    cursor = await conn.execute(CAMPAIGN_SQL["set_suspended"], {"campaign": campaign_id, "suspended": suspended})
    return await cursor.fetchone() is not None


@dataclass(frozen=True, slots=True)
class WishNoted:
    """A wish that was written, for the ledger: who wished it, and what it did."""

    name: str
    type: str  # Suspend | GoOn | Cancel
    changed: int
    message: str
    requested_by: str


async def note_wish(conn: Connection, target: Target, wish: WishNoted) -> None:
    """Keep a wish among the orders, so that it is known who stopped a campaign."""
    here = {"campaign": target.campaign_id, "name": wish.name, "namespace": target.namespace, "type": wish.type}
    await conn.execute(SQL["begin_action"], here | {"spec": Jsonb({"requestedBy": wish.requested_by})})
    counted = {"matched": wish.changed, "changed": wish.changed, "batch": 0}
    await conn.execute(SQL["count_action"], here | counted)
    await conn.execute(SQL["finish_action"], here | {"message": wish.message})
